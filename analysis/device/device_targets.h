// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which images of a fatbin or bundle a program needs that runs on the wanted targets.
#pragma once
#include "analysis/device/fatbin.h"
#include "analysis/device/offload_bundle.h"
#include <optional>
#include <string>
#include <vector>

namespace coppice {

struct WantedTargets {
  std::vector<DeviceTarget> cuda, hip;
  bool ptx = false;   ///< keep PTX too, for GPUs to come
  bool exact = false; ///< an image for a lower minor version does not do
  bool any() const { return ptx || !cuda.empty() || !hip.empty(); }
};

/// "cuda:sm_90a", "hip:gfx942", "ptx"; nullopt and `why` for what is none.
bool addWantedTarget(llvm::StringRef item, WantedTargets &wanted, std::string &why);

/// Of a fatbin's entries or a bundle's.
struct KeptImages {
  std::vector<bool> keep;             ///< by index
  std::vector<DeviceTarget> unserved; ///< wanted targets for which there is nothing
  std::vector<DeviceTarget> byPtx;    ///< wanted targets that are left to PTX, since no cubin serves them
  std::vector<DeviceTarget> carried;  ///< images that were not understood, and are kept for that
};

/// A device of version X.Y runs cubins of X.0 to X.Y, the highest is taken (Jetson's run their own alone); sm_90a and
/// sm_100f are for these alone. PTX of compute_N does for sm_N and all after it, of compute_90a for sm_90a alone.
KeptImages keptImages(const FatbinContainer &fatbin, const WantedTargets &wanted);

/// Code objects are for one processor ("gfx90a" means any setting of its features), but for generic ones
/// ("gfx9-generic"), which are kept unless every wanted processor has its own.
KeptImages keptImages(const OffloadBundle &bundle, const WantedTargets &wanted);

/// What a section with device images becomes.
struct PrunedSection {
  std::string contents;              ///< never longer than before; empty: nothing changes
  std::vector<DeviceTarget> present; ///< targets of all its images
  std::vector<DeviceTarget> served;  ///< wanted targets that an image serves
  std::vector<DeviceTarget> byPtx;
  std::vector<std::string> notes; ///< why something is kept
};

/// `section`: .nv_fatbin or __nv_relfatbin, with one container; .hip_fatbin, with one bundle, compressed or not. What
/// is more than that, or damaged, stays as it is with a note.
PrunedSection pruneByTarget(llvm::ArrayRef<uint8_t> section, const WantedTargets &wanted);

} // namespace coppice
