// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a device image is, whatever container it came in: code for one target, with the functions in it and what they
// refer to.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace coppice {

struct DeviceTarget {
  enum class Family { Cuda, Ptx, Hip, Spirv, Other };
  Family family = Family::Other;
  std::string name; ///< "sm_90a", "compute_90", "gfx90a:xnack+", "spirv64"
  unsigned sm = 0;  ///< Cuda and Ptx: 90
  char variant = 0; ///< Cuda and Ptx: 'a' architecture-specific, 'f' family-specific, 0 neither
  /// As --target takes it: "cuda:sm_90a", "hip:gfx90a".
  std::string str() const;
};

/// `number` as in sm_90.
DeviceTarget cudaTarget(unsigned number, char variant);
DeviceTarget ptxTarget(unsigned number, char variant);
DeviceTarget hipTarget(llvm::StringRef name);

struct DeviceFunction {
  std::string name; ///< as the device knows it
  bool isKernel = false;
  uint64_t bytes = 0;                 ///< of its code; 0 if not known
  std::vector<uint32_t> references{}; ///< functions of the image that it may call or hold the address of, ascending
};

struct DeviceImage {
  enum class Form { Cubin, Ptx, LtoIr, CodeObject, Bitcode, Spirv, Host, Unknown };
  enum class Compression { None, Lz4, Zstd, Zlib };
  Form form = Form::Unknown;
  DeviceTarget target;
  uint64_t offset = 0, size = 0; ///< where its container holds it, headers of the entry included
  Compression compression = Compression::None;
  uint64_t unpackedSize = 0;
  std::vector<DeviceFunction> functions; ///< by name
  std::string note;                      ///< what was not understood: such an image is carried through as it is
};

llvm::StringRef nameOf(DeviceImage::Form form);
llvm::StringRef nameOf(DeviceImage::Compression compression);

/// What a container says of sizes is not believed beyond this: a few bytes can claim to become terabytes.
inline constexpr uint64_t maxUnpackedSize = uint64_t(1) << 30;

} // namespace coppice
