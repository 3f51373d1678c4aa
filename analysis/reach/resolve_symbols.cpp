// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules are those of lld/ELF/{Driver,InputFiles,Symbols}.cpp of LLVM 22.
#include "analysis/reach/resolve_symbols.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/IR/GlobalValue.h"
#include "llvm/LTO/LTO.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Parallel.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {

static Error inFile(StringRef name, Error error) { return createStringError(name + ": " + toString(std::move(error))); }

const GlobalSymbol *SymbolResolution::find(StringRef name) const {
  auto it = ids.find(CachedHashStringRef(name));
  return it == ids.end() ? nullptr : &symbolList[it->second];
}

bool SymbolResolution::isReferenced(StringRef name) const {
  const GlobalSymbol *symbol = find(name);
  return symbol && symbol->referenced;
}

bool SymbolResolution::isDefined(StringRef name) const {
  const GlobalSymbol *symbol = find(name);
  return symbol && (symbol->kind == GlobalSymbol::Defined || symbol->kind == GlobalSymbol::Common);
}

// `name` must stay where it is.
uint32_t SymbolResolution::intern(CachedHashStringRef name) {
  auto [it, isNew] = ids.try_emplace(name, uint32_t(symbolList.size()));
  if (isNew) symbolList.emplace_back().name = name.val();
  return it->second;
}

namespace {

// GNU's index of an archive: a big-endian count, as many offsets of members, as many names; of 4 bytes, or of 8 in
// large archives. classifyInput() has checked it. LLVM's iterator reads each member's header, for each of its symbols.
class ArchiveIndex {
public:
  explicit ArchiveIndex(const Archive &archive)
      : index(archive.getSymbolTable().data()), size(archive.kind() == Archive::K_GNU ? 4 : 8) {}
  size_t count() const { return number(0); }
  uint64_t member(size_t i) const { return number(i + 1); }
  const char *names() const { return index + (count() + 1) * size; }

private:
  uint64_t number(size_t i) const {
    const char *p = index + i * size;
    return size == 4 ? uint64_t(support::endian::read32be(p)) : support::endian::read64be(p);
  }
  const char *index;
  size_t size;
};

bool hasIndex(const InputFile &input) {
  return input.kind == InputKind::Archive && !input.archive->isEmpty() && input.archive->hasSymbolTable() &&
         !input.wholeArchive;
}

// foo@@V is the default version of foo.
StringRef withoutVersion(StringRef name) {
  size_t at = name.find('@');
  return at != StringRef::npos && name.substr(at).starts_with("@@") ? name.take_front(at) : name;
}

std::vector<CachedHashStringRef> globalNames(const ObjectFile &elf) {
  std::vector<CachedHashStringRef> names;
  names.reserve(elf.symbols().size() - elf.firstGlobal());
  for (uint32_t i = elf.firstGlobal(); i < elf.symbols().size(); ++i)
    names.emplace_back(withoutVersion(elf.symbolName(i)));
  return names;
}

} // namespace

// Most of the time goes into reading headers and hashing names. A member that turns out not to be linked is read in
// vain, which costs less than the waiting.
void SymbolResolution::readAhead() {
  struct Task {
    size_t file;
    uint64_t member;
    ReadAhead result;
  };
  std::vector<Task> tasks;
  size_t names = 0;
  indexNames.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == InputKind::Object) tasks.push_back({i, 0, {}});
    if (!hasIndex(inputs[i])) continue;
    ArchiveIndex index(*inputs[i].archive);
    uint64_t last = 0;
    names += index.count();
    for (size_t n = 0; n < index.count() && !inputs[i].archive->isThin(); ++n)
      if (uint64_t member = index.member(n); member != last) tasks.push_back({i, last = member, {}});
  }
  parallelFor(0, inputs.size(), [&](size_t i) {
    if (!hasIndex(inputs[i])) return;
    ArchiveIndex index(*inputs[i].archive);
    const char *name = index.names();
    indexNames[i].reserve(index.count());
    for (size_t n = 0; n < index.count(); ++n) {
      indexNames[i].emplace_back(StringRef(name));
      name = indexNames[i].back().val().end() + 1;
    }
  });
  parallelFor(0, tasks.size(), [&](size_t i) {
    auto object = openMember(tasks[i].file, tasks[i].member);
    if (!object) return consumeError(object.takeError()); // said when it is extracted
    if (identify_magic(object->buffer.getBuffer()) != file_magic::elf_relocatable) return;
    auto elf = ObjectFile::parse(object->buffer);
    if (!elf) return consumeError(elf.takeError());
    tasks[i].result.names = globalNames(*elf);
    tasks[i].result.elf.emplace(std::move(*elf));
  });
  for (Task &task : tasks) {
    if (hasIndex(inputs[task.file]) == false) names += task.result.names.size();
    if (task.result.elf) ahead.try_emplace({task.file, task.member}, std::move(task.result));
  }
  ids.reserve(names);
  symbolList.reserve(names);
}

Error SymbolResolution::run() {
  readAhead();
  for (const std::string &name : settings.undefined)
    if (Error error = require(name)) return error;
  for (size_t n = 0; n < (order.empty() ? inputs.size() : order.size()); ++n) {
    size_t i = order.empty() ? n : order[n];
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
  // The entry may be in an archive. An undefined reference to what --wrap names means its wrapper.
  if (!settings.entry.empty() && find(settings.entry))
    if (Error error = require(settings.entry)) return error;
  for (const std::string &name : settings.wrapped)
    if (const GlobalSymbol *symbol = find(name); symbol && symbol->referenced)
      for (const char *prefix : {"__wrap_", "__real_"})
        if (find(prefix + name))
          if (Error error = require(prefix + name)) return error;
  // Code generation may call functions that no bitcode mentions; of these a member of bitcode is wanted before it runs.
  if (any_of(objects, [](const LinkedObject &o) { return !o.elf; }))
    for (StringRef name : lto::LTO::getRuntimeLibcallSymbols(Triple("x86_64-unknown-linux-gnu"))) {
      const GlobalSymbol *symbol = find(name);
      if (!symbol || symbol->kind != GlobalSymbol::Lazy) continue;
      auto member = openMember(symbol->object, symbol->member);
      if (!member) return member.takeError();
      if (identify_magic(member->buffer.getBuffer()) == file_magic::bitcode)
        if (Error error = extract(symbol->object, symbol->member)) return error;
    }
  return Error::success();
}

Error SymbolResolution::require(StringRef name) {
  auto it = ids.find(CachedHashStringRef(name));
  return reference(it == ids.end() ? intern(saver.save(name)) : it->second, /*weak=*/false);
}

Error SymbolResolution::addObject(ObjectRef object) {
  objects.emplace_back();
  LinkedObject &linked = objects.back();
  static_cast<ObjectRef &>(linked) = std::move(object);
  Error error = identify_magic(linked.buffer.getBuffer()) == file_magic::bitcode ? addBitcodeSymbols(linked)
                                                                                 : addElfSymbols(linked);
  return error;
}

Error SymbolResolution::addBitcodeSymbols(LinkedObject &object) {
  size_t number = objects.size() - 1;
  object.mentionsCoppice = true; // nobody looked
  auto file = lto::InputFile::create(object.buffer);
  if (!file) return inFile(object.name, file.takeError());
  for (const auto &[name, kind] : (*file)->getComdatTable())
    groupOwner.try_emplace(CachedHashStringRef(saver.save(name)), uint32_t(number));
  std::vector<std::pair<uint32_t, bool>> undefined;
  for (const auto &s : (*file)->symbols()) {
    uint32_t id = intern(saver.save(s.getName()));
    object.globals.push_back(id);
    uint8_t visibility = s.getVisibility() == GlobalValue::HiddenVisibility      ? ELF::STV_HIDDEN
                         : s.getVisibility() == GlobalValue::ProtectedVisibility ? ELF::STV_PROTECTED
                                                                                 : ELF::STV_DEFAULT;
    GlobalSymbol &symbol = symbolList[id];
    if (visibility != ELF::STV_DEFAULT)
      symbol.visibility = symbol.visibility == ELF::STV_DEFAULT ? visibility : std::min(symbol.visibility, visibility);
    if (s.isUndefined())
      undefined.push_back({id, s.isWeak()});
    else
      define(id, number, uint32_t(object.globals.size() - 1), s.isWeak() ? ELF::STB_WEAK : ELF::STB_GLOBAL,
             s.isCommon());
  }
  for (auto [id, weak] : undefined)
    if (Error error = reference(id, weak)) return error;
  return Error::success();
}

Error SymbolResolution::addElfSymbols(LinkedObject &object) {
  size_t number = objects.size() - 1;
  ReadAhead own;
  if (auto it = ahead.find({object.file, object.member}); it != ahead.end()) {
    own = std::move(it->second);
  } else {
    auto parsed = ObjectFile::parse(object.buffer);
    if (!parsed) return inFile(object.name, parsed.takeError());
    own.names = globalNames(*parsed);
    own.elf.emplace(std::move(*parsed));
  }
  object.elf.emplace(std::move(*own.elf));
  chooseGroups(object, own.names);
  const ObjectFile &elf = *object.elf;
  std::vector<uint32_t> undefined;
  object.globals.reserve(own.names.size());
  for (uint32_t i = elf.firstGlobal(); i < elf.symbols().size(); ++i) {
    const ObjectFile::Symbol &s = elf.symbols()[i];
    CachedHashStringRef name = own.names[i - elf.firstGlobal()];
    object.mentionsCoppice |= name.val().starts_with("coppice.") || name.val() == "__gnu_lto_slim";
    uint32_t id = intern(name);
    object.globals.push_back(id);
    if (s.isUndefined()) {
      undefined.push_back(i);
      continue;
    }
    GlobalSymbol &symbol = symbolList[id];
    if (uint8_t v = s.getVisibility(); v != ELF::STV_DEFAULT)
      symbol.visibility = symbol.visibility == ELF::STV_DEFAULT ? v : std::min(symbol.visibility, v);
    define(id, number, i, s.getBinding(), s.isCommon());
  }
  for (uint32_t i : undefined) {
    const ObjectFile::Symbol &s = elf.symbols()[i];
    if (Error error =
            reference(object.globals[i - elf.firstGlobal()], s.getBinding() == ELF::STB_WEAK, s.getVisibility()))
      return error;
  }
  return Error::success();
}

// A group is named by the symbol that sh_info gives; its contents are a word of flags and the indices of its sections.
void SymbolResolution::chooseGroups(LinkedObject &object, ArrayRef<CachedHashStringRef> names) {
  const ObjectFile &elf = *object.elf;
  uint32_t number = uint32_t(objects.size() - 1);
  for (uint32_t i = 1; i < elf.sections().size(); ++i) {
    const ObjectFile::Section &s = elf.sections()[i];
    if (s.sh_type == ELF::SHT_GROUP) {
      if (elf.contents(i).size() < 4 || s.sh_info >= elf.symbols().size()) continue;
      object.groups.push_back(i);
      bool isSection = elf.symbols()[s.sh_info].getType() == ELF::STT_SECTION;
      bool isComdat = support::endian::read32le(elf.contents(i).data()) & ELF::GRP_COMDAT;
      bool isHashed = !isSection && s.sh_info >= elf.firstGlobal() && !elf.symbolName(s.sh_info).contains('@');
      CachedHashStringRef name = isHashed ? names[s.sh_info - elf.firstGlobal()]
                                          : CachedHashStringRef(isSection ? elf.sectionName(elf.sectionOf(s.sh_info))
                                                                          : elf.symbolName(s.sh_info));
      if (isComdat && !groupOwner.try_emplace(name, number).second) object.losing.push_back(i);
    } else if (s.sh_type == ELF::SHT_PROGBITS && elf.sectionNameStart(i) == ".g" &&
               elf.sectionName(i).starts_with(".gnu.linkonce.")) {
      if (!groupOwner.try_emplace(CachedHashStringRef(elf.sectionName(i)), number).second) object.losing.push_back(i);
    }
  }
}

void SymbolResolution::define(uint32_t id, size_t object, uint32_t index, uint8_t binding, bool common) {
  GlobalSymbol &s = symbolList[id];
  bool wasCommon = s.kind == GlobalSymbol::Common, wasDefined = s.kind == GlobalSymbol::Defined;
  bool replaces = common      ? !wasCommon && !(wasDefined && s.binding != ELF::STB_WEAK)
                  : wasCommon ? binding != ELF::STB_WEAK
                              : !wasDefined || (s.binding != ELF::STB_GLOBAL && binding == ELF::STB_GLOBAL);
  if (!replaces) return;
  s.kind = common ? GlobalSymbol::Common : GlobalSymbol::Defined;
  s.object = uint32_t(object);
  s.index = index;
  s.binding = binding;
}

Error SymbolResolution::reference(uint32_t id, bool weak, uint8_t visibility) {
  GlobalSymbol &s = symbolList[id];
  bool isFirst = !s.referenced;
  s.referenced = true;
  if (visibility != ELF::STV_DEFAULT)
    s.visibility = s.visibility == ELF::STV_DEFAULT ? visibility : std::min(s.visibility, visibility);
  switch (s.kind) {
  case GlobalSymbol::None:
    s.kind = GlobalSymbol::Undefined;
    s.binding = weak ? ELF::STB_WEAK : ELF::STB_GLOBAL;
    break;
  case GlobalSymbol::Lazy:
    if (!weak) return extract(s.object, s.member);
    s.binding = ELF::STB_WEAK;
    break;
  case GlobalSymbol::Shared: // what is not visible elsewhere is not to be found elsewhere
    if (visibility != ELF::STV_DEFAULT) s.kind = GlobalSymbol::Undefined;
    [[fallthrough]];
  case GlobalSymbol::Undefined:
    if (!weak || isFirst) s.binding = weak ? ELF::STB_WEAK : ELF::STB_GLOBAL;
    break;
  case GlobalSymbol::Common:
  case GlobalSymbol::Defined:
    break;
  }
  return Error::success();
}

Error SymbolResolution::offerLazy(CachedHashStringRef name, size_t file, uint64_t member) {
  GlobalSymbol &s = symbolList[intern(name)];
  switch (s.kind) {
  case GlobalSymbol::Undefined:
    if (s.binding != ELF::STB_WEAK) return extract(file, member);
    [[fallthrough]];
  case GlobalSymbol::None:
    s.kind = GlobalSymbol::Lazy;
    s.object = uint32_t(file);
    s.member = member;
    break;
  case GlobalSymbol::Common:
    if (settings.fortranCommon && replacesCommon(name.val(), file, member)) return extract(file, member);
    break;
  default:
    break;
  }
  return Error::success();
}

// --fortran-common: a definition proper in an archive is better than a common symbol.
bool SymbolResolution::replacesCommon(StringRef name, size_t file, uint64_t member) {
  auto object = openMember(file, member);
  if (!object) {
    consumeError(object.takeError());
    return false;
  }
  if (identify_magic(object->buffer.getBuffer()) == file_magic::bitcode) {
    auto list = readObjectSymbols(object->buffer, saver);
    if (list) return any_of(*list, [&](const ObjectSymbol &s) { return s.name == name && !s.undefined && !s.common; });
    consumeError(list.takeError());
    return false;
  }
  auto elf = ObjectFile::parse(object->buffer);
  if (!elf) {
    consumeError(elf.takeError());
    return false;
  }
  for (uint32_t i = elf->firstGlobal(); i < elf->symbols().size(); ++i) {
    const ObjectFile::Symbol &s = elf->symbols()[i];
    if (elf->symbolName(i) == name)
      return s.isDefined() && !s.isCommon() && s.getBinding() != ELF::STB_WEAK && s.getType() != ELF::STT_NOTYPE;
  }
  return false;
}

Expected<ObjectRef> SymbolResolution::openMember(size_t file, uint64_t member) const {
  const InputFile &input = inputs[file];
  if (input.kind != InputKind::Archive) return ObjectRef{file, 0, input.ref(), input.path};
  Error error = Error::success();
  StringRef buffer = input.archive->getMemoryBufferRef().getBuffer();
  Archive::Child child(input.archive.get(), buffer.data() + member, &error);
  if (error) return inFile(input.path, std::move(error));
  auto object = memberObject(inputs, file, child);
  if (!object) return inFile(input.path, object.takeError());
  return object;
}

Error SymbolResolution::extract(size_t file, uint64_t member) {
  if (!extracted.insert({file, member}).second) return Error::success();
  auto object = openMember(file, member);
  if (!object) return object.takeError();
  return addObject(std::move(*object));
}

Error SymbolResolution::addArchive(size_t file) {
  const InputFile &input = inputs[file];
  const Archive &archive = *input.archive;
  if (archive.isEmpty()) return Error::success();
  if (hasIndex(input)) {
    ArchiveIndex index(archive);
    for (size_t i = 0; i < indexNames[file].size(); ++i)
      if (Error error = offerLazy(indexNames[file][i], file, index.member(i))) return error;
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
        if (Error e = offerLazy(CachedHashStringRef(s.name), file, object->member)) {
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
      if (Error error = offerLazy(CachedHashStringRef(s.name), file, 0)) return error;
  return Error::success();
}

// Definitions of a shared library end the search as those of an object do; its undefined symbols extract members, so
// that the executable can export them.
Error SymbolResolution::addShared(size_t file) {
  auto list = readObjectSymbols(inputs[file].ref(), saver);
  if (!list) return inFile(inputs[file].path, list.takeError());
  for (const ObjectSymbol &s : *list) {
    uint32_t id = intern(s.name);
    symbolList[id].exported = true;
    if (s.undefined) {
      uint8_t binding = symbolList[id].binding;
      bool isNew = symbolList[id].kind == GlobalSymbol::None;
      if (Error error = reference(id, s.weak)) return error;
      GlobalSymbol &symbol = symbolList[id]; // a library's reference does not make a weak one strong
      if (!isNew && symbol.kind == GlobalSymbol::Undefined) symbol.binding = binding;
      continue;
    }
    GlobalSymbol &symbol = symbolList[id];
    bool isOpen = symbol.kind == GlobalSymbol::Undefined || symbol.kind == GlobalSymbol::Lazy;
    if (symbol.kind == GlobalSymbol::None || (isOpen && symbol.visibility == ELF::STV_DEFAULT)) {
      symbol.kind = GlobalSymbol::Shared;
      symbol.object = uint32_t(file);
    }
  }
  return Error::success();
}

} // namespace coppice
