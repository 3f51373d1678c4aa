// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All kernels that the inputs of a link define. Names come from symbol tables; descriptors are read when they are asked
// for.
#pragma once
#include "analysis/diagnostic.h"
#include "analysis/graph/signature.h"
#include "analysis/input_file.h"
#include "analysis/object_symbols.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace coppice {

struct KernelDescriptor {
  std::string symbol; ///< "coppice.kernel.onnx.Add$f32"
  std::string op, variant, target;
  VersionRange versions;
  std::string versionsText;
  Signature signature;
  uint32_t flags = 0;  ///< COPPICE_IN_PLACE, COPPICE_ALLOCATES
  unsigned level = 0;  ///< x86-64 level 1 to 4; 0: another target
  ObjectRef object;    ///< where it is defined
  std::string library; ///< path of the archive, or of the object
  bool inArchive = false;
  std::string functionSection;                           ///< ELF: section of the function, if it is in the same object
  uint64_t functionSectionIndex = 0, functionOffset = 0; ///< index of that section, and the function's place in it
};

struct KernelLibrary {
  std::string path;
  size_t kernels = 0;
  std::string skipped; ///< why its kernels cannot be used; empty if they can
};

/// Parses the bytes of a descriptor. The error says what is wrong.
llvm::Expected<KernelDescriptor> parseKernelDescriptor(llvm::StringRef symbol, llvm::StringRef bytes);

/// The part of a kernel's symbol that stands for the op: characters that symbols cannot hold become '_'.
std::string symbolNameOfOp(llvm::StringRef op);

class KernelIndex {
public:
  /// Reads the names of all kernels of the inputs; damaged archives are reported (COP302).
  KernelIndex(const std::vector<InputFile> &inputs, Diagnostics &diagnostics);

  /// All kernels for an op, in the order of the inputs. Damaged descriptors are reported once (COP104) and left out.
  /// References stay valid.
  const std::vector<const KernelDescriptor *> &kernelsFor(llvm::StringRef op, Diagnostics &diagnostics);
  /// Were there kernels for the op that kernelsFor() had to leave out?
  bool hasDamaged(llvm::StringRef op) const;
  /// Symbols whose op, op$variant or whole name matches.
  std::vector<std::string> matching(llvm::StringRef glob) const;
  const std::vector<KernelLibrary> &libraries() const { return list; }
  struct NearName {
    std::string op, library;
  };
  /// Up to three ops whose names are like this one, nearest first.
  std::vector<NearName> nearest(llvm::StringRef op) const;
  /// Kernels defined by this object: symbols.
  std::vector<std::string> symbolsOf(const ObjectRef &object) const;
  bool defines(llvm::StringRef symbol) const;
  /// The objects that define this symbol.
  std::vector<const ObjectRef *> definitions(llvm::StringRef symbol) const;
  size_t size() const { return entries.size(); }

private:
  struct Entry {
    std::string symbol;
    ObjectRef object;
    bool inArchive;
  };
  void add(llvm::StringRef symbol, const ObjectRef &object, bool inArchive);

  std::vector<Entry> entries;
  std::map<std::string, std::vector<size_t>, std::less<>> byOp; // sorted: messages are deterministic
  std::vector<KernelLibrary> list;
  const std::vector<InputFile> &inputs;
  std::deque<KernelDescriptor> descriptors;
  llvm::StringMap<std::vector<const KernelDescriptor *>> loaded;
};

} // namespace coppice
