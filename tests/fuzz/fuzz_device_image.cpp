// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as device code: as a file, as a section of an object, as an ELF file that holds such; then with images
// dropped. What is left after that is read again.
#include "analysis/device/device_targets.h"
#include "analysis/device/find_device_images.h"
#include <cstdlib>

using namespace coppice;
using namespace llvm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ArrayRef<uint8_t> bytes(data, size);
  (void)isDeviceFile(bytes);
  for (const DeviceSection &section : readDeviceBytes(bytes, ".nv_fatbin"))
    for (const DeviceImage &image : section.images)
      for (const DeviceFunction &function : image.functions)
        for (uint32_t reference : function.references)
          if (reference >= image.functions.size()) abort();
  if (auto sections = findDeviceImages(bytes))
    (void)sections->size();
  else
    consumeError(sections.takeError());

  WantedTargets wanted;
  std::string why;
  for (const char *target : {"cuda:sm_90", "cuda:sm_100f", "hip:gfx90a"})
    if (!addWantedTarget(target, wanted, why)) abort();
  PrunedSection pruned = pruneByTarget(bytes, wanted);
  if (pruned.contents.size() > bytes.size()) abort();
  if (pruned.contents.empty()) return 0;
  ArrayRef<uint8_t> rest(reinterpret_cast<const uint8_t *>(pruned.contents.data()), pruned.contents.size());
  if (readDeviceBytes(rest, "").empty()) abort();
  return 0;
}
