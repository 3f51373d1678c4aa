// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/graph/kernel_index.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/GlobPattern.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {

static constexpr StringLiteral prefix = "coppice.kernel.";

std::string symbolNameOfOp(StringRef op) {
  std::string name = op.str();
  for (char &c : name)
    if (!isAlnum(c) && c != '.' && c != '_') c = '_';
  return name;
}

Expected<KernelDescriptor> parseKernelDescriptor(StringRef symbol, StringRef bytes) {
  // coppice_kernel: u16 abi, u16 size, u32 flags, pointer; then the text (runtime-stub/include/coppice/kernel.h).
  KernelDescriptor d;
  d.symbol = symbol.str();
  if (bytes.size() < 16)
    return createStringError("its descriptor has " + Twine(bytes.size()) + " bytes, the header alone has 16");
  unsigned abi = support::endian::read16le(bytes.data()), size = support::endian::read16le(bytes.data() + 2);
  d.flags = support::endian::read32le(bytes.data() + 4);
  if (abi != 1) return createStringError("it has kernel ABI " + Twine(abi) + ", this Coppice knows 1");
  if (size < 16 || size > bytes.size())
    return createStringError("its descriptor says that its header has " + Twine(size) + " bytes, of " +
                             Twine(bytes.size()));
  StringRef text = bytes.drop_front(size);
  StringRef fields[5];
  for (StringRef &field : fields) {
    size_t end = text.find('\0');
    if (end == StringRef::npos) return createStringError("the text of its descriptor ends early");
    field = text.take_front(end);
    text = text.drop_front(end + 1);
  }
  d.op = fields[0].str();
  d.variant = fields[1].str();
  d.target = fields[2].str();
  d.versionsText = fields[3].str();
  std::string expected = (prefix + symbolNameOfOp(d.op) + (d.variant.empty() ? "" : "$") + d.variant).str();
  if (expected != symbol)
    return createStringError("its symbol is '" + symbol + "' but its descriptor is that of '" + expected + "'");
  d.level = StringSwitch<unsigned>(d.target)
                .Case("x86-64", 1)
                .Case("x86-64-v2", 2)
                .Case("x86-64-v3", 3)
                .Case("x86-64-v4", 4)
                .Default(0);
  auto versions = parseVersions(fields[3]);
  if (!versions) return versions.takeError();
  d.versions = *versions;
  auto signature = parseSignature(fields[4]);
  if (!signature) return createStringError("its signature cannot be read: " + toString(signature.takeError()));
  d.signature = std::move(*signature);
  return d;
}

void KernelIndex::add(StringRef symbol, const ObjectRef &object, bool inArchive) {
  StringRef op = symbol.drop_front(prefix.size()).split('$').first;
  byOp[op.str()].push_back(entries.size());
  entries.push_back({symbol.str(), object, inArchive});
  ++list.back().kernels;
}

KernelIndex::KernelIndex(const std::vector<InputFile> &inputs, Diagnostics &diagnostics) : inputs(inputs) {
  BumpPtrAllocator allocator;
  StringSaver saver(allocator);
  // The same archive twice on a command line is common (-lfoo -lbar -lfoo) and defines nothing twice.
  StringMap<char> seen;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputFile &input = inputs[i];
    if (input.kind == InputKind::Shared || input.kind == InputKind::Other) continue;
    if (!seen.try_emplace(input.path).second) continue;
    list.push_back({input.path, 0, {}});
    if (input.kind != InputKind::Archive) {
      if (!mentionsSymbol(input.ref(), prefix)) {
        list.pop_back();
        continue;
      }
      auto symbols = readObjectSymbols(input.ref(), saver);
      if (!symbols) {
        diagnostics.error("COP302", toString(symbols.takeError()), {.file = input.path});
        continue;
      }
      for (const ObjectSymbol &s : *symbols)
        if (!s.undefined && s.name.starts_with(prefix)) add(s.name, {i, 0, input.ref(), input.path}, false);
      if (!list.back().kernels) list.pop_back();
      continue;
    }
    const Archive &archive = *input.archive;
    // ar with gcc's plugin puts the symbols of slim objects into the index, other archivers __gnu_lto_slim.
    bool slim = false;
    std::map<uint64_t, bool> slimMembers;
    auto damaged = [&](Error error) { diagnostics.error("COP302", toString(std::move(error)), {.file = input.path}); };
    if (archive.isEmpty()) {
      list.pop_back();
      continue;
    }
    if (archive.hasSymbolTable()) {
      for (const Archive::Symbol &s : archive.symbols()) {
        slim |= s.getName().starts_with("__gnu_lto_slim");
        if (!s.getName().starts_with(prefix)) continue;
        auto child = s.getMember();
        if (!child) {
          damaged(child.takeError());
          break;
        }
        auto object = memberObject(inputs, i, *child);
        if (!object) {
          damaged(object.takeError());
          break;
        }
        auto [member, isNew] = slimMembers.try_emplace(object->member, false);
        if (isNew) member->second = isSlimLto(object->buffer);
        if (member->second)
          slim = true;
        else
          add(s.getName(), *object, true);
      }
    } else {
      Error error = Error::success();
      for (const Archive::Child &child : archive.children(error)) {
        auto object = memberObject(inputs, i, child);
        if (!object) {
          consumeError(object.takeError());
          continue;
        }
        auto symbols = readObjectSymbols(object->buffer, saver);
        if (!symbols) {
          consumeError(symbols.takeError());
          continue;
        }
        for (const ObjectSymbol &s : *symbols) {
          slim |= s.name.starts_with("__gnu_lto_slim");
          if (!s.undefined && s.name.starts_with(prefix)) add(s.name, *object, true);
        }
      }
      if (error) damaged(std::move(error));
    }
    if (slim)
      list.back().skipped = list.back().kernels
                                ? "the part that holds only gcc LTO code; compile it with -ffat-lto-objects"
                                : "holds only gcc LTO code; compile it with -ffat-lto-objects";
    else if (!list.back().kernels)
      list.pop_back();
  }
}

const std::vector<const KernelDescriptor *> &KernelIndex::kernelsFor(StringRef op, Diagnostics &diagnostics) {
  auto [it, isNew] = loaded.try_emplace(op);
  if (!isNew) return it->second;
  auto found = byOp.find(symbolNameOfOp(op));
  if (found == byOp.end()) return it->second;
  for (size_t i : found->second) {
    const Entry &entry = entries[i];
    auto symbols = readDataSymbols(entry.object.buffer, [&](StringRef name) { return name == entry.symbol; });
    if (!symbols || symbols->empty()) {
      std::string why = symbols ? "the symbol is in the archive's index only" : toString(symbols.takeError());
      if (symbols) consumeError(Error::success());
      diagnostics.error("COP302", "cannot read kernel '" + entry.symbol.substr(prefix.size()) + "': " + why,
                        {.file = entry.object.name});
      continue;
    }
    const DataSymbol &data = symbols->front();
    auto descriptor = parseKernelDescriptor(entry.symbol, data.bytes);
    if (!descriptor) {
      diagnostics.error("COP104",
                        "kernel '" + entry.symbol.substr(prefix.size()) +
                            "' cannot be used: " + toString(descriptor.takeError()),
                        {.file = entry.object.name},
                        "rebuild " + entry.object.name +
                            " with this version of Coppice's headers, and let COPPICE_KERNEL write the descriptor");
      continue;
    }
    descriptor->object = entry.object;
    descriptor->library = inputs[entry.object.file].path;
    descriptor->inArchive = entry.inArchive;
    descriptor->functionSection = data.pointsAtSection;
    descriptor->functionSectionIndex = data.pointsAtIndex;
    descriptor->functionOffset = data.pointsAtOffset;
    descriptors.push_back(std::move(*descriptor));
    it->second.push_back(&descriptors.back());
  }
  return it->second;
}

bool KernelIndex::hasDamaged(StringRef op) const {
  auto all = byOp.find(symbolNameOfOp(op));
  auto whole = loaded.find(op);
  return all != byOp.end() && whole != loaded.end() && whole->second.size() < all->second.size();
}

std::vector<std::string> KernelIndex::matching(StringRef glob) const {
  std::vector<std::string> result;
  auto pattern = GlobPattern::create(glob);
  if (!pattern) {
    consumeError(pattern.takeError());
    return result;
  }
  for (const Entry &entry : entries) {
    StringRef name = StringRef(entry.symbol).drop_front(prefix.size());
    if (pattern->match(name) || pattern->match(name.split('$').first)) result.push_back(entry.symbol);
  }
  llvm::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<KernelIndex::NearName> KernelIndex::nearest(StringRef op) const {
  std::vector<std::pair<unsigned, NearName>> near;
  unsigned limit = std::max<unsigned>(1, op.size() / 3);
  std::string wanted = op.lower();
  for (const auto &[name, indices] : byOp) {
    std::string candidate = StringRef(name).lower();
    unsigned distance = StringRef(wanted).edit_distance(candidate, true, limit);
    // "Conv" for "onnx.Conv": the dialect was left out, or another one was meant.
    if (distance > limit && StringRef(candidate).rsplit('.').second == StringRef(wanted).rsplit('.').second)
      distance = limit;
    if (distance <= limit) near.push_back({distance, {name, inputs[entries[indices.front()].object.file].path}});
  }
  llvm::stable_sort(near, llvm::less_first());
  std::vector<NearName> result;
  for (auto &[distance, name] : near)
    if (result.size() < 3) result.push_back(std::move(name));
  return result;
}

bool KernelIndex::defines(StringRef symbol) const {
  return llvm::any_of(entries, [&](const Entry &e) { return e.symbol == symbol; });
}

std::vector<const ObjectRef *> KernelIndex::definitions(StringRef symbol) const {
  std::vector<const ObjectRef *> result;
  for (const Entry &entry : entries)
    if (entry.symbol == symbol) result.push_back(&entry.object);
  return result;
}

std::vector<std::string> KernelIndex::symbolsOf(const ObjectRef &object) const {
  std::vector<std::string> result;
  for (const Entry &entry : entries)
    if (entry.object.file == object.file && entry.object.member == object.member) result.push_back(entry.symbol);
  return result;
}

} // namespace coppice
