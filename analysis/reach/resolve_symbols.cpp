// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/resolve_symbols.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {

static Error inFile(StringRef name, Error error) { return createStringError(name + ": " + toString(std::move(error))); }

bool SymbolResolution::isReferenced(StringRef name) const {
  auto it = symbols.find(name);
  return it != symbols.end() && it->second.referenced;
}

bool SymbolResolution::isDefined(StringRef name) const {
  auto it = symbols.find(name);
  return it != symbols.end() && it->second.state == Symbol::Defined;
}

Error SymbolResolution::run() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputFile &input = inputs[i];
    Error error = Error::success();
    switch (input.kind) {
    case InputKind::Object:
    case InputKind::Bitcode:
      error = input.lazy ? addLazyObject(i) : addObject({i, 0, input.ref(), input.path});
      break;
    case InputKind::Archive:
      error = addArchive(i);
      break;
    case InputKind::Shared:
      error = addShared(i);
      break;
    case InputKind::Other:
      break; // linker scripts have been replaced by what they name
    }
    if (error) return error;
  }
  return Error::success();
}

Error SymbolResolution::require(StringRef name) { return reference(name, /*weak=*/false); }

Error SymbolResolution::addObject(ObjectRef object) {
  auto list = readObjectSymbols(object.buffer, saver);
  if (!list) return inFile(object.name, list.takeError());
  objects.push_back(std::move(object));
  for (const ObjectSymbol &s : *list)
    if (!s.undefined) {
      Symbol &symbol = symbols[s.name];
      symbol.state = Symbol::Defined;
    }
  for (const ObjectSymbol &s : *list)
    if (s.undefined)
      if (Error error = reference(s.name, s.weak)) return error;
  return Error::success();
}

Error SymbolResolution::reference(StringRef name, bool weak) {
  Symbol &symbol = symbols[name];
  symbol.referenced = true;
  if (symbol.state == Symbol::None || (symbol.state == Symbol::WeakUndefined && !weak))
    symbol.state = weak ? Symbol::WeakUndefined : Symbol::Undefined;
  if (symbol.state == Symbol::Lazy && !weak) {
    symbol.state = Symbol::Undefined;
    return extract(symbol.file, symbol.member);
  }
  return Error::success();
}

Error SymbolResolution::offerLazy(StringRef name, size_t file, uint64_t member) {
  Symbol &symbol = symbols[name];
  if (symbol.state == Symbol::Undefined) return extract(file, member);
  if (symbol.state == Symbol::None || symbol.state == Symbol::WeakUndefined) {
    symbol.state = Symbol::Lazy;
    symbol.file = file;
    symbol.member = member;
  }
  return Error::success();
}

Error SymbolResolution::extract(size_t file, uint64_t member) {
  if (!extracted.try_emplace((Twine(file) + ":" + Twine(member)).str()).second) return Error::success();
  const InputFile &input = inputs[file];
  if (input.kind != InputKind::Archive) return addObject({file, 0, input.ref(), input.path});
  Error error = Error::success();
  StringRef buffer = input.archive->getMemoryBufferRef().getBuffer();
  Archive::Child child(input.archive.get(), buffer.data() + member, &error);
  if (error) return inFile(input.path, std::move(error));
  auto object = memberObject(inputs, file, child);
  if (!object) return inFile(input.path, object.takeError());
  return addObject(std::move(*object));
}

Error SymbolResolution::addArchive(size_t file) {
  const InputFile &input = inputs[file];
  const Archive &archive = *input.archive;
  if (archive.isEmpty()) return Error::success();
  if (archive.hasSymbolTable() && !input.wholeArchive) {
    for (const Archive::Symbol &s : archive.symbols()) {
      auto child = s.getMember();
      if (!child) return inFile(input.path, child.takeError());
      if (Error error = offerLazy(s.getName(), file, child->getChildOffset())) return error;
    }
    return Error::success();
  }
  Error error = Error::success();
  for (const Archive::Child &child : archive.children(error)) {
    auto object = memberObject(inputs, file, child);
    if (!object) {
      consumeError(std::move(error));
      return inFile(input.path, object.takeError());
    }
    if (input.wholeArchive) {
      if (Error e = extract(file, object->member)) {
        consumeError(std::move(error));
        return e;
      }
      continue;
    }
    auto list = readObjectSymbols(object->buffer, saver);
    if (!list) { // something else than an object in an archive is of no interest to a link
      consumeError(list.takeError());
      continue;
    }
    for (const ObjectSymbol &s : *list)
      if (!s.undefined)
        if (Error e = offerLazy(s.name, file, object->member)) {
          consumeError(std::move(error));
          return e;
        }
  }
  if (error) return inFile(input.path, std::move(error));
  return Error::success();
}

Error SymbolResolution::addLazyObject(size_t file) {
  auto list = readObjectSymbols(inputs[file].ref(), saver);
  if (!list) return inFile(inputs[file].path, list.takeError());
  for (const ObjectSymbol &s : *list)
    if (!s.undefined)
      if (Error error = offerLazy(s.name, file, 0)) return error;
  return Error::success();
}

// Definitions of a shared library end the search as those of an object do; its undefined symbols extract members, so
// that the executable can export them.
Error SymbolResolution::addShared(size_t file) {
  auto list = readObjectSymbols(inputs[file].ref(), saver);
  if (!list) return inFile(inputs[file].path, list.takeError());
  for (const ObjectSymbol &s : *list) {
    if (s.undefined) {
      if (Error error = reference(s.name, s.weak)) return error;
      continue;
    }
    Symbol &symbol = symbols[s.name];
    if (symbol.state == Symbol::None || symbol.state == Symbol::Undefined || symbol.state == Symbol::WeakUndefined)
      symbol.state = Symbol::Shared;
  }
  return Error::success();
}

} // namespace coppice
