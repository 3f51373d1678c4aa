// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/registrations.h"
#include "analysis/reach/decode_x86_64.h"
#include "analysis/reach/registration_calls.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace coppice {
namespace {

// In order. There may be a million symbols.
std::vector<uint32_t> symbolsThatMatch(const SymbolResolution &resolution, const SymbolPattern &pattern) {
  const auto &symbols = resolution.symbols();
  constexpr size_t chunk = 1 << 14;
  std::vector<std::vector<uint32_t>> parts((symbols.size() + chunk - 1) / chunk);
  parallelFor(0, parts.size(), [&](size_t part) {
    for (size_t id = part * chunk; id < std::min(symbols.size(), (part + 1) * chunk); ++id) {
      std::string demangled;
      if (pattern.matchMangled(symbols[id].name, demangled)) parts[part].push_back(uint32_t(id));
    }
  });
  std::vector<uint32_t> result;
  for (std::vector<uint32_t> &part : parts) append_range(result, part);
  return result;
}

// One object against all bindings. Objects are independent of each other.
class ObjectScan {
public:
  ObjectScan(const SymbolResolution &resolution, ArrayRef<Binding> bindings, const DenseSet<uint32_t> &callees,
             uint32_t object)
      : bindings(bindings), callees(callees), object(object), linked(resolution.linked()[object]), elf(*linked.elf) {
    result.present.resize(bindings.size());
  }

  Registrations run() {
    // Most symbols are of code: their names are not even looked at.
    for (uint32_t i = 1; i < elf.symbols().size(); ++i) {
      const ObjectFile::Symbol &s = elf.symbols()[i];
      if (s.isUndefined() || (s.getType() != ELF::STT_OBJECT && s.getType() != ELF::STT_NOTYPE) || s.st_size == 0)
        continue;
      for (uint32_t b = 0; b < bindings.size(); ++b)
        for (uint32_t e = 0; e < bindings[b].edges.size(); ++e) {
          std::string demangled;
          auto *table = std::get_if<TableEdge>(&bindings[b].edges[e].shape);
          if (table && elf.sectionOf(i) && table->from.matchMangled(elf.symbolName(i), demangled))
            scanTable(b, e, *table, i);
        }
    }
    for (uint32_t b = 0; b < bindings.size(); ++b)
      for (uint32_t e = 0; e < bindings[b].edges.size(); ++e)
        if (auto *objects = std::get_if<ObjectEdge>(&bindings[b].edges[e].shape)) scanObject(b, e, *objects);
    scanCalls();
    return std::move(result);
  }

private:
  Registration &add(uint32_t binding, uint32_t edge, StringRef key, StringRef kernel) {
    result.present[binding] = true;
    Registration &r = result.list.emplace_back();
    r.binding = binding;
    r.edge = edge;
    r.key = key.str();
    r.kernel = kernel.str();
    r.object = object;
    return r;
  }
  void unclear(uint32_t binding, const Twine &place, std::string why) {
    result.present[binding] = true;
    UnclearRegistration unclear{binding, (linked.name + ": " + place).str(), std::move(why)};
    if (said.insert({binding, unclear.place + unclear.why}).second) result.unclear.push_back(std::move(unclear));
  }

  // The name of a function or variable at a place, for what is referred to through its section.
  StringRef nameAt(uint32_t section, uint64_t offset) {
    if (byPlace.empty())
      for (uint32_t i = 1; i < elf.symbols().size(); ++i)
        if (uint32_t s = elf.sectionOf(i); s && elf.symbols()[i].getType() != ELF::STT_SECTION)
          byPlace.try_emplace({s, uint64_t(elf.symbols()[i].st_value)}, i);
    auto it = byPlace.find({section, offset});
    return it == byPlace.end() ? StringRef() : elf.symbolName(it->second);
  }
  StringRef targetName(const ObjectFile::Relocation &r) {
    uint32_t symbol = elf.symbolOf(r);
    if (elf.symbols()[symbol].getType() != ELF::STT_SECTION) return elf.symbolName(symbol);
    return nameAt(elf.sectionOf(symbol), uint64_t(r.r_addend));
  }

  // A constant string that a relocation points at; it may be in a section of strings of this object only.
  std::optional<StringRef> stringAt(const ObjectFile::Relocation &r, std::optional<uint64_t> length) {
    uint32_t symbol = elf.symbolOf(r), section = elf.sectionOf(symbol);
    if (!section || r.getType(false) != ELF::R_X86_64_64) return std::nullopt;
    if (elf.sections()[section].sh_flags & ELF::SHF_WRITE) return std::nullopt; // it may be another text by then
    ArrayRef<uint8_t> bytes = elf.contents(section);
    uint64_t offset = elf.symbols()[symbol].st_value + uint64_t(r.r_addend);
    if (offset >= bytes.size()) return std::nullopt;
    StringRef text(reinterpret_cast<const char *>(bytes.data()) + offset, bytes.size() - offset);
    if (length) return *length <= text.size() ? std::optional(text.take_front(*length)) : std::nullopt;
    size_t end = text.find('\0');
    return end == StringRef::npos ? std::nullopt : std::optional(text.take_front(end));
  }

  void scanTable(uint32_t b, uint32_t e, const TableEdge &table, uint32_t symbol) {
    result.present[b] = true;
    const ObjectFile::Symbol &s = elf.symbols()[symbol];
    uint32_t section = elf.sectionOf(symbol);
    std::string tableName = demangle(elf.symbolName(symbol));
    uint64_t begin = s.st_value, end = s.st_value + s.st_size;
    uint64_t sectionSize = elf.sections()[section].sh_size;
    if (s.st_value > sectionSize || s.st_size > sectionSize - s.st_value)
      return unclear(b, tableName, "the table reaches beyond its section");
    if (elf.opaqueRelocations(section))
      return unclear(b, tableName, "its relocations are in a form that cannot be edited (SHT_CREL)");
    auto relocations = elf.relocations(section);
    std::map<uint64_t, uint32_t> byOffset;
    for (uint32_t i = 0; i < relocations.size(); ++i)
      if (relocations[i].r_offset >= begin && relocations[i].r_offset < end)
        if (!byOffset.try_emplace(relocations[i].r_offset, i).second)
          return unclear(b, tableName, "two relocations are at one place");
    for (auto [offset, i] : byOffset)
      if (relocations[i].getType(false) != ELF::R_X86_64_64)
        return unclear(b, tableName,
                       "relocations of type " + std::to_string(relocations[i].getType(false)) +
                           " are not known in tables");
    if (!table.record) {
      for (auto [offset, i] : byOffset)
        for (const SymbolPattern &to : table.to) {
          std::string demangled;
          auto key = to.matchMangled(targetName(relocations[i]), demangled);
          if (!key) continue;
          Registration &r = add(b, e, *key, demangled);
          r.keyIsIdentifier = true;
          r.section = section;
          r.relocation = i;
          break;
        }
      return;
    }
    const TableEdge::Record &record = *table.record;
    for (uint64_t at = begin; record.stride && at + record.stride <= end; at += record.stride) {
      auto function = byOffset.find(at + record.functionOffset), key = byOffset.find(at + record.keyOffset);
      if (function == byOffset.end()) continue; // a null at the end
      std::optional<uint64_t> length;
      if (record.lengthOffset) {
        ArrayRef<uint8_t> bytes = elf.contents(section);
        uint64_t where = at + *record.lengthOffset;
        if (where + 8 <= bytes.size()) length = support::endian::read64le(bytes.data() + where);
      }
      auto text = key == byOffset.end() ? std::nullopt : stringAt(relocations[key->second], length);
      if (!text || text->empty()) {
        unclear(b, tableName + " + " + Twine(at - begin), "the key of this entry is not a string");
        continue;
      }
      StringRef name = targetName(relocations[function->second]);
      Registration &r = add(b, e, *text, name.empty() ? std::string(*text) : demangle(name));
      r.section = section;
      r.relocation = function->second;
    }
  }

  // All bindings at once: a call that no edge describes is another use of what it is given.
  void scanCalls() {
    std::vector<const CallEdge *> edges;
    std::vector<std::pair<uint32_t, uint32_t>> ids;
    bool any = false;
    for (uint32_t b = 0; b < bindings.size(); ++b)
      for (uint32_t e = 0; e < bindings[b].edges.size(); ++e)
        if (auto *call = std::get_if<CallEdge>(&bindings[b].edges[e].shape)) {
          edges.push_back(call);
          ids.push_back({b, e});
          // Global callees are known; a local one is a function of this object.
          for (uint32_t i = 1; i < elf.firstGlobal() && !any; ++i) {
            std::string demangled;
            any = elf.symbols()[i].getType() == ELF::STT_FUNC &&
                  call->call.matchMangled(elf.symbolName(i), demangled).has_value();
          }
        }
    any |= any_of(linked.globals, [&](uint32_t id) { return callees.contains(id); });
    if (!any || edges.empty()) return;
    if (!elf.hasValidRelocations())
      return unclear(ids[0].first, "relocations", "they refer to symbols that do not exist");
    thread_local std::unique_ptr<Decoder> decoder;
    if (!decoder) decoder = std::make_unique<Decoder>();
    FunctionSymbols functions(elf);
    RegistrationCalls calls = matchRegistrations(elf, functions, *decoder, edges);
    for (const UnmatchedCall &call : calls.unmatched) {
      std::string function =
          call.function ? demangle(elf.symbolName(call.function)) : elf.sectionName(call.section).str();
      unclear(ids[call.edge].first, function, call.why);
    }
    for (const RegistrationCall &call : calls.found) {
      auto [b, e] = ids[call.edge];
      StringRef name = call.symbol ? elf.symbolName(call.symbol) : nameAt(call.section, uint64_t(call.offset));
      std::string function = call.function ? demangle(elf.symbolName(call.function)) : std::string("code");
      const AddressSource &source = call.source;
      if (elf.opaqueRelocations(source.section)) {
        unclear(b, function, "its relocations are in a form that cannot be edited (SHT_CREL)");
        continue;
      }
      // Without a relocation the function's own code is all that can be edited: a jump of five bytes.
      if (!source.isRelocation) {
        ArrayRef<uint32_t> symbols = functions[source.section];
        auto at = find_if(symbols, [&](uint32_t s) {
          return elf.symbols()[s].st_value == uint64_t(call.offset) && elf.symbols()[s].st_size >= 5;
        });
        if (call.section != source.section || at == symbols.end()) {
          unclear(b, function, "'" + call.key + "' is referred to without a relocation, and has no room for a jump");
          continue;
        }
      }
      Registration &r = add(b, e, call.key, name.empty() ? call.key : demangle(name));
      r.section = source.section;
      if (source.isRelocation)
        r.relocation = uint32_t(source.index);
      else
        r.local = Registration::Local{source.index, uint64_t(call.offset)};
    }
  }

  void scanObject(uint32_t b, uint32_t e, const ObjectEdge &edge) {
    StringRef name = linked.name; // "dir/conv.o", "libk.a(conv.o)"
    if (name.consume_back(")")) name = name.rsplit('(').second;
    name = sys::path::filename(name);
    auto inName = edge.object.match(name);
    if (!inName) return;
    std::set<std::string> keys;
    if (edge.object.hasKey()) keys.insert(inName->str());
    bool refers = !edge.refers;
    for (uint32_t i = 1; i < elf.symbols().size(); ++i) {
      std::string demangled;
      refers = refers || (i >= elf.firstGlobal() && edge.refers->matchMangled(elf.symbolName(i), demangled));
      if (!elf.sectionOf(i)) continue;
      for (const SymbolPattern &pattern : edge.symbols) {
        if (auto key = pattern.matchMangled(elf.symbolName(i), demangled)) keys.insert(key->str());
      }
    }
    if (!refers) return;
    if (!edge.strings.empty())
      for (uint32_t i = 1; i < elf.sections().size(); ++i) {
        const ObjectFile::Section &s = elf.sections()[i];
        if (!(s.sh_flags & ELF::SHF_ALLOC) || (s.sh_flags & (ELF::SHF_WRITE | ELF::SHF_EXECINSTR))) continue;
        ArrayRef<uint8_t> bytes = elf.contents(i);
        StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        while (!text.empty()) {
          auto [word, rest] = text.split('\0');
          for (const SymbolPattern &pattern : edge.strings)
            if (auto key = word.empty() ? std::nullopt : pattern.match(word)) keys.insert(key->str());
          text = rest;
        }
      }
    if (keys.empty()) return;
    result.present[b] = true;
    result.objects.push_back({b, e, object, std::vector<std::string>(keys.begin(), keys.end())});
  }

  ArrayRef<Binding> bindings;
  const DenseSet<uint32_t> &callees; // of shape `calls`: indices in symbols()
  uint32_t object;
  const LinkedObject &linked;
  const ObjectFile &elf;
  DenseMap<std::pair<uint32_t, uint64_t>, uint32_t> byPlace;
  std::set<std::pair<uint32_t, std::string>> said; ///< one function may have many calls that are unclear for one reason
  Registrations result;
};

} // namespace

Registrations findRegistrations(const SymbolResolution &resolution, ArrayRef<Binding> bindings) {
  const auto &objects = resolution.linked();
  Registrations result;
  result.present.resize(bindings.size());
  if (bindings.empty()) return result;
  DenseSet<uint32_t> callees;
  for (const Binding &binding : bindings)
    for (const BindingEdge &edge : binding.edges)
      if (auto *call = std::get_if<CallEdge>(&edge.shape))
        for (uint32_t id : symbolsThatMatch(resolution, call->call)) callees.insert(id);
  std::vector<Registrations> parts(objects.size());
  parallelFor(0, objects.size(), [&](size_t i) {
    if (objects[i].elf) parts[i] = ObjectScan(resolution, bindings, callees, uint32_t(i)).run();
  });
  for (Registrations &part : parts) {
    llvm::append_range(result.list, std::move(part.list));
    llvm::append_range(result.unclear, std::move(part.unclear));
    llvm::append_range(result.objects, std::move(part.objects));
    for (size_t i = 0; i < part.present.size(); ++i) result.present[i] |= part.present[i];
  }
  // Code that does not exist yet is not read: what a module registers, it keeps.
  for (uint32_t b = 0; b < bindings.size(); ++b)
    for (const BindingEdge &edge : bindings[b].edges) {
      auto *call = std::get_if<CallEdge>(&edge.shape);
      auto *table = std::get_if<TableEdge>(&edge.shape);
      if (!call && !table) continue;
      for (uint32_t o = 0; o < objects.size(); ++o) {
        if (objects[o].elf) continue;
        bool any = any_of(objects[o].globals, [&](uint32_t id) {
          std::string demangled;
          return (call ? call->call : table->from).matchMangled(resolution.symbols()[id].name, demangled).has_value();
        });
        if (!any) continue;
        result.present[b] = true;
        result.unclear.push_back({b, objects[o].name, "it is LLVM bitcode; its registrations are not read and stay"});
      }
    }
  for (uint32_t b = 0; b < bindings.size(); ++b)
    for (uint32_t e = 0; e < bindings[b].edges.size(); ++e) {
      auto *edge = std::get_if<SymbolEdge>(&bindings[b].edges[e].shape);
      if (!edge) continue;
      for (uint32_t id : symbolsThatMatch(resolution, edge->symbol)) {
        const GlobalSymbol &symbol = resolution.symbols()[id];
        std::string demangled;
        if (symbol.kind != GlobalSymbol::Lazy && symbol.kind != GlobalSymbol::Defined) continue;
        auto key = edge->symbol.matchMangled(symbol.name, demangled);
        if (!key) continue;
        result.present[b] = true;
        Registration &r = result.list.emplace_back();
        r.binding = b;
        r.edge = e;
        r.key = key->str();
        r.keyIsIdentifier = true;
        r.kernel = demangled;
        r.symbol = id;
        r.object = symbol.kind == GlobalSymbol::Defined ? symbol.object : Registration::none;
      }
    }
  return result;
}

} // namespace coppice
