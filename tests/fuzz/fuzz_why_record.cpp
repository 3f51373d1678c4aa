// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the contents of .coppice.why: an error, or a record that says the same when it is written and read
// again.
#include "analysis/reach/why_record.h"
#include "llvm/Support/Endian.h"
#include <cstdlib>

using namespace coppice;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Behind a header that is right, so that the fuzzer need not find the sizes.
  std::string bytes = "CPWHYR01";
  bytes.resize(24);
  llvm::support::endian::write64le(bytes.data() + 8, size);
  llvm::support::endian::write64le(bytes.data() + 16, size);
  bytes.append(reinterpret_cast<const char *>(data), size);
  llvm::Expected<WhyRecord> record = readWhyRecord(bytes);
  if (!record) {
    if (llvm::toString(record.takeError()).empty()) abort();
    llvm::consumeError(readWhyRecord(llvm::StringRef(bytes).drop_front(24)).takeError());
    return 0;
  }
  std::string once = writeWhyRecord(*record);
  llvm::Expected<WhyRecord> again = readWhyRecord(once);
  if (!again) {
    llvm::consumeError(again.takeError());
    abort();
  }
  if (writeWhyRecord(*again) != once) abort();
  for (uint32_t i = 0; i < record->items.size(); ++i)
    if (record->root(i) > 2 || record->items[i].retained != again->items[i].retained) abort();
  return 0;
}
