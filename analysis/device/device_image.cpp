// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/device_image.h"

using namespace llvm;

namespace coppice {

static DeviceTarget numbered(DeviceTarget::Family family, StringRef prefix, unsigned number, char variant) {
  DeviceTarget target;
  target.family = family;
  target.name = prefix.str() + std::to_string(number);
  if (variant) target.name += variant;
  target.sm = number;
  target.variant = variant;
  return target;
}

DeviceTarget cudaTarget(unsigned number, char variant) {
  return numbered(DeviceTarget::Family::Cuda, "sm_", number, variant);
}

DeviceTarget ptxTarget(unsigned number, char variant) {
  return numbered(DeviceTarget::Family::Ptx, "compute_", number, variant);
}

DeviceTarget hipTarget(StringRef name) {
  DeviceTarget target;
  target.family = DeviceTarget::Family::Hip;
  target.name = name.str();
  return target;
}

std::string DeviceTarget::str() const {
  switch (family) {
  case Family::Cuda:
    return "cuda:" + name;
  case Family::Ptx:
    return "ptx:" + name;
  case Family::Hip:
    return "hip:" + name;
  case Family::Spirv:
  case Family::Other:
    break;
  }
  return name;
}

StringRef nameOf(DeviceImage::Form form) {
  switch (form) {
  case DeviceImage::Form::Cubin:
    return "cubin";
  case DeviceImage::Form::Ptx:
    return "PTX";
  case DeviceImage::Form::LtoIr:
    return "LTO-IR";
  case DeviceImage::Form::CodeObject:
    return "code object";
  case DeviceImage::Form::Bitcode:
    return "LLVM bitcode";
  case DeviceImage::Form::Spirv:
    return "SPIR-V";
  case DeviceImage::Form::Host:
    return "host";
  case DeviceImage::Form::Unknown:
    break;
  }
  return "unknown";
}

StringRef nameOf(DeviceImage::Compression compression) {
  switch (compression) {
  case DeviceImage::Compression::None:
    break;
  case DeviceImage::Compression::Lz4:
    return "LZ4";
  case DeviceImage::Compression::Zstd:
    return "zstd";
  case DeviceImage::Compression::Zlib:
    return "zlib";
  }
  return "-";
}

} // namespace coppice
