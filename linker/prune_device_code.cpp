// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/prune_device_code.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;

namespace coppice {
namespace {

enum class Kind { None, Cuda, Hip };

Kind kindOf(StringRef section) {
  if (section == ".nv_fatbin" || section == "__nv_relfatbin") return Kind::Cuda;
  if (section == ".hip_fatbin") return Kind::Hip;
  return Kind::None;
}

/// Does all that refers to the section mean its start? Else something may lie behind what gets shorter.
bool isReferredToAtStart(const ObjectFile &elf, uint32_t section) {
  for (uint32_t symbol = 1; symbol < elf.symbols().size(); ++symbol)
    if (elf.sectionOf(symbol) == section && elf.symbols()[symbol].st_value != 0) return false;
  for (uint32_t from = 1; from < elf.sections().size(); ++from) {
    if (elf.opaqueRelocations(from)) return false;
    for (const ObjectFile::Relocation &r : elf.relocations(from)) {
      if (elf.sectionOf(elf.symbolOf(r)) != section) continue;
      bool isAbsolute = r.getType(false) == ELF::R_X86_64_64;
      if (isAbsolute ? r.r_addend != 0 : r.r_addend >= 0 || r.r_addend < -8) return false; // PC-relative ones end at 0
    }
  }
  return elf.relocations(section).empty();
}

std::string listOf(const std::set<std::string> &targets) {
  std::string s;
  for (const std::string &t : targets) s += (s.empty() ? "" : ", ") + t;
  return s;
}

/// What of one wanted target is said, for all objects together.
struct Service {
  bool served = false;
  std::vector<std::string> unserved, byPtx; ///< objects
};

std::string counted(size_t n) { return n == 1 ? "an object" : std::to_string(n) + " objects"; }

void warn(const std::vector<std::string> &objects, std::string message, std::string help, Diagnostics &diagnostics) {
  Diagnostic d;
  d.severity = Severity::Warning;
  d.code = "COP602";
  d.message = std::move(message);
  d.help = std::move(help);
  constexpr size_t most = 5;
  if (objects.size() == 1)
    d.place.file = objects[0];
  else
    for (const std::string &object : ArrayRef(objects).take_front(most)) d.notes.push_back({object, {}});
  if (objects.size() > most) d.notes.push_back({"and " + std::to_string(objects.size() - most) + " more", {}});
  diagnostics.report(std::move(d));
}

} // namespace

PrunedDeviceCode pruneDeviceCode(const SymbolResolution &resolution, const WantedTargets &wanted,
                                 std::map<uint32_t, ObjectEdits> &edits, Diagnostics &diagnostics) {
  PrunedDeviceCode result;
  std::map<std::string, Service> services;
  std::set<std::string> cuda, hip; // what there is
  for (uint32_t object = 0; object < resolution.linked().size(); ++object) {
    const LinkedObject &linked = resolution.linked()[object];
    if (!linked.elf) continue;
    const ObjectFile &elf = *linked.elf;
    for (uint32_t section = 1; section < elf.sections().size(); ++section) {
      Kind kind = kindOf(elf.sectionName(section));
      if (kind == Kind::None || (kind == Kind::Cuda && wanted.cuda.empty()) ||
          (kind == Kind::Hip && wanted.hip.empty()))
        continue;
      ArrayRef<uint8_t> contents = elf.contents(section);
      if (contents.empty()) continue;
      PrunedSection pruned = pruneByTarget(contents, wanted);
      if (!pruned.contents.empty() && !isReferredToAtStart(elf, section)) {
        pruned.contents.clear();
        pruned.notes.push_back("something refers into the middle of section '" + elf.sectionName(section).str() + "'");
      }
      for (const DeviceTarget &target : pruned.present) (kind == Kind::Cuda ? cuda : hip).insert(target.str());
      for (const std::string &note : pruned.notes) warn({linked.name}, "device code is kept: " + note, "", diagnostics);
      for (const DeviceTarget &target : kind == Kind::Cuda ? wanted.cuda : wanted.hip) {
        Service &service = services[target.str()];
        auto contains = [&](const std::vector<DeviceTarget> &list) {
          return any_of(list, [&](const DeviceTarget &t) { return t.name == target.name; });
        };
        if (!contains(pruned.served))
          service.unserved.push_back(linked.name);
        else
          service.served = true;
        if (contains(pruned.byPtx)) service.byPtx.push_back(linked.name);
      }
      result.bytesBefore += contents.size();
      result.bytesAfter += pruned.contents.empty() ? contents.size() : pruned.contents.size();
      if (!pruned.contents.empty()) edits[object].shorter.push_back({section, std::move(pruned.contents)});
    }
  }

  for (const auto &[target, service] : services) {
    const std::set<std::string> &present = StringRef(target).starts_with("cuda:") ? cuda : hip;
    if (!service.served) {
      Diagnostic d;
      d.code = "COP601";
      d.message = "no device code of this link serves " + target;
      d.notes.push_back({"there is " + listOf(present), {}});
      d.help = wanted.exact ? "compile for it, or leave out --exact-target"
                            : "compile for it, or name a target that there is";
      diagnostics.report(std::move(d));
      continue;
    }
    if (!service.unserved.empty())
      warn(service.unserved, counted(service.unserved.size()) + " with device code that does not serve " + target,
           "kernels of such an object cannot run there", diagnostics);
    if (!service.byPtx.empty())
      warn(service.byPtx, target + " is left to PTX in " + counted(service.byPtx.size()),
           "it is compiled when the program starts; compile for " + target + " to avoid that", diagnostics);
  }
  return result;
}

} // namespace coppice
