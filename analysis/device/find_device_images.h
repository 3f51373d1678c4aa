// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All device images of a file, by what its bytes say: in an ELF file section by section.
#pragma once
#include "analysis/device/device_image.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace coppice {

struct DeviceSection {
  std::string name;      ///< of the ELF section; empty: the file as a whole
  std::string container; ///< "fatbin", "bundle", "compressed bundle", "offload binary", or empty: a bare image
  std::vector<DeviceImage> images;
  std::vector<std::string> notes; ///< what looks like device code and cannot be read
};

/// Is the file itself a device image or a container of such?
bool isDeviceFile(llvm::ArrayRef<uint8_t> bytes);

/// What a file or a section holds. Offsets of images are from the start of `bytes`.
std::vector<DeviceSection> readDeviceBytes(llvm::ArrayRef<uint8_t> bytes, llvm::StringRef name);

/// Of an ELF file for a host, in the order of its sections; offsets are from the start of the file.
llvm::Expected<std::vector<DeviceSection>> findDeviceImages(llvm::ArrayRef<uint8_t> elf);

} // namespace coppice
