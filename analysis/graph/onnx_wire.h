// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Protobuf copies every `bytes` field that it parses, and the weights of a model are such fields
// (TensorProto.raw_data). So the model is first copied without them: a serialised ModelProto becomes a serialised
// ModelProto in which each raw_data holds 16 bytes that say where in the file the weights are. That copy is small and
// is what protobuf parses.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace coppice {

/// The contents of raw_data in the copy: offset in the file and size in bytes, both little-endian.
struct RawDataPlace {
  uint64_t offset = 0, size = 0;
  static constexpr size_t encodedSize = 16;
  std::string encode() const;
  static RawDataPlace decode(llvm::StringRef field); ///< `field` is encodedSize bytes
};

struct WireError {
  uint64_t offset = 0; ///< of the field that cannot be read
  std::string message; ///< empty: no error
};

/// Every message that the weights can be in (graphs, nodes, attributes, functions, tensors) is checked field by field:
/// all lengths lie inside their message. Training information is left out: it is no part of inference.
WireError copyWithoutWeights(llvm::StringRef model, std::string &copy);

} // namespace coppice
