// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The typed signature of a kernel, as text in its descriptor (docs/kernel-abi.md).
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace coppice {

/// "?x?xf32": dtype by MLIR's name, "any" or "any2"; rank -1 is "*".
struct TensorSpec {
  std::string dtype;
  int rank = -1;
  bool isAny() const { return dtype == "any" || dtype == "any2"; }
  std::string str() const;
};

struct Parameter {
  enum class Kind { In, OptionalIn, VariadicIn, Out, OptionalOut, VariadicOut, InOut, Attribute };
  enum class AttributeType { I64, F64, I1, String, ListI64, ListF32 };
  Kind kind = Kind::In;
  TensorSpec tensor; ///< unless Attribute
  AttributeType type = AttributeType::I64;
  std::string name, value; ///< of an attribute; value: default, or what it must be
  bool hasDefault = false, isConstraint = false;
  bool isInput() const { return kind <= Kind::VariadicIn || kind == Kind::InOut; }
  bool isOutput() const { return kind >= Kind::Out && kind <= Kind::InOut; }
};

struct Signature {
  std::vector<Parameter> parameters;
  std::string text;
};

/// The error says which parameter is wrong and why.
llvm::Expected<Signature> parseSignature(llvm::StringRef text);

/// One tensor type, as in "?x?xf32" or "*xany".
llvm::Expected<TensorSpec> parseTensorSpec(llvm::StringRef text);

/// "", "7-12", "13-": both ends included, 0 where open.
struct VersionRange {
  unsigned first = 0, last = 0;
  bool contains(unsigned version) const { return version >= first && (!last || version <= last); }
};
llvm::Expected<VersionRange> parseVersions(llvm::StringRef text);

} // namespace coppice
