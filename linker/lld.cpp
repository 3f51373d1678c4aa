// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/lld.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

LLD_HAS_DRIVER(elf)

using namespace llvm;

// `std::optional<MemoryBufferRef> lld::elf::readFile(Ctx &, StringRef)` is the one function through which lld 22 opens
// its inputs. It is not in an installed header; the link of this program redirects calls to it (--wrap,
// linker/CMakeLists.txt), so an lld that changes it gives a link error here and not a wrong program there.
#define READ_FILE _ZN3lld3elf8readFileERNS0_3CtxEN4llvm9StringRefE
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
namespace lld::elf {
struct Ctx;
}
extern "C" std::optional<MemoryBufferRef> PASTE(__real_, READ_FILE)(lld::elf::Ctx &, StringRef);
extern "C" std::optional<MemoryBufferRef> PASTE(__wrap_, READ_FILE)(lld::elf::Ctx &, StringRef);

namespace {
// lld has no place for a pointer of ours; it is not re-entrant either, so this is no further restriction.
const StringMap<coppice::MemoryInput> *currentInputs = nullptr;
} // namespace

std::optional<MemoryBufferRef> PASTE(__wrap_, READ_FILE)(lld::elf::Ctx &ctx, StringRef path) {
  if (!currentInputs) return PASTE(__real_, READ_FILE)(ctx, path);
  auto it = currentInputs->find(path);
  if (it == currentInputs->end()) return PASTE(__real_, READ_FILE)(ctx, path);
  const coppice::MemoryInput &input = it->second;
  if (input.isFile && !PASTE(__real_, READ_FILE)(ctx, path)) return std::nullopt;
  for (const std::string &other : input.alsoReads) (void)PASTE(__real_, READ_FILE)(ctx, other);
  return MemoryBufferRef(input.contents, it->first());
}

namespace coppice {

int runLld(ArrayRef<const char *> arguments, ArrayRef<MemoryInput> memoryInputs, raw_ostream &out, raw_ostream &err) {
  StringMap<MemoryInput> inputs;
  for (const MemoryInput &input : memoryInputs) inputs[input.name] = input;
  std::vector<const char *> withName = {"ld.lld"};
  withName.insert(withName.end(), arguments.begin(), arguments.end());
  currentInputs = inputs.empty() ? nullptr : &inputs;
  lld::Result result = lld::lldMain(withName, out, err, {{lld::Gnu, &lld::elf::link}});
  currentInputs = nullptr;
  return result.retCode;
}

} // namespace coppice
