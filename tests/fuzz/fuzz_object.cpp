// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an object or an archive of a link: symbols, kernels, graph records, or an error. Bitcode is left out,
// since LLVM's reader of it trusts its input, and so are thin archives, whose members are files.
#include "analysis/graph/graph_record.h"
#include "analysis/graph/kernel_index.h"
#include "analysis/object_symbols.h"
#include "analysis/reach/resolve_symbols.h"
#include "llvm/BinaryFormat/Magic.h"

using namespace coppice;
using namespace llvm;

static bool isBitcode(StringRef bytes) { return identify_magic(bytes) == file_magic::bitcode; }

static void readObject(const ObjectRef &object) {
  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  if (auto symbols = readObjectSymbols(object.buffer, saver)) {
    for (const ObjectSymbol &s : *symbols) (void)s.name.str();
  } else {
    consumeError(symbols.takeError());
  }
  auto data = readDataSymbols(object.buffer, [](StringRef name) { return name.starts_with("coppice."); });
  if (!data) consumeError(data.takeError());
  (void)isSlimLto(object.buffer);
  GraphRecords records;
  consumeError(readGraphRecords(object, records));
}

// All parts of a link that look at its inputs.
static void link(const std::vector<InputFile> &inputs) {
  Diagnostics diagnostics;
  SymbolResolution resolution(inputs);
  consumeError(resolution.require("main"));
  consumeError(resolution.run());
  KernelIndex index(inputs, diagnostics);
  for (const std::string &symbol : index.matching("*"))
    (void)index.kernelsFor(StringRef(symbol).drop_front(strlen("coppice.kernel.")).split('$').first, diagnostics);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  StringRef contents(reinterpret_cast<const char *>(bytes), size);
  if (isBitcode(contents)) return 0;
  auto input = classifyInput("fuzz", MemoryBuffer::getMemBufferCopy(contents, "fuzz")); // aligned as a mapped file is
  if (!input) return consumeError(input.takeError()), 0;
  (void)mentionsSymbol(input->ref(), "coppice.");
  std::vector<InputFile> inputs;
  inputs.push_back(std::move(*input));
  const InputFile &file = inputs.front();
  if (file.kind != InputKind::Archive) {
    readObject({0, 0, file.ref(), "fuzz"});
  } else {
    if (file.archive->isThin()) return 0;
    Error error = Error::success();
    bool bitcode = false;
    for (const object::Archive::Child &child : file.archive->children(error)) {
      if (auto object = memberObject(inputs, 0, child)) {
        if (isBitcode(object->buffer.getBuffer()))
          bitcode = true;
        else
          readObject(*object);
      } else {
        consumeError(object.takeError());
      }
    }
    consumeError(std::move(error));
    if (bitcode) return 0;
  }
  link(inputs);
  return 0;
}
