// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/device/find_device_images.h"
#include "analysis/device/code_object.h"
#include "analysis/device/cubin.h"
#include "analysis/device/fatbin.h"
#include "analysis/device/offload_bundle.h"
#include "analysis/device/ptx.h"
#include "analysis/device/spirv.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/OffloadBinary.h"

using namespace llvm;
using namespace llvm::object;

namespace coppice {
namespace {

/// One image that is in no fatbin. `target`: what its container says of it.
DeviceImage readBareImage(ArrayRef<uint8_t> bytes, const DeviceTarget &target = {}) {
  DeviceImage image;
  image.size = image.unpackedSize = bytes.size();
  image.target = target;
  auto note = [&](Error error) { image.note = toString(std::move(error)); };
  if (isCubin(bytes)) {
    image.form = DeviceImage::Form::Cubin;
    if (target.name.empty()) image.target = cudaTarget(cubinArchitecture(bytes), 0);
    if (auto functions = readCubinFunctions(bytes))
      image.functions = std::move(*functions);
    else
      note(functions.takeError());
  } else if (isCodeObject(bytes)) {
    image.form = DeviceImage::Form::CodeObject;
    if (auto object = readCodeObject(bytes)) {
      if (target.name.empty()) image.target = object->target;
      image.functions = std::move(object->functions);
    } else {
      note(object.takeError());
    }
  } else if (isSpirv(bytes)) {
    image.form = DeviceImage::Form::Spirv;
    if (target.name.empty()) {
      image.target.family = DeviceTarget::Family::Spirv;
      image.target.name = "spirv";
    }
    if (auto functions = readSpirv(bytes))
      image.functions = std::move(*functions);
    else
      note(functions.takeError());
  } else if (isPtx(toStringRef(bytes))) {
    image.form = DeviceImage::Form::Ptx;
    PtxModule module = readPtx(toStringRef(bytes));
    image.target = module.target;
    image.functions = std::move(module.functions);
  } else if (identify_magic(toStringRef(bytes)) == file_magic::bitcode) {
    image.form = DeviceImage::Form::Bitcode;
  } else {
    image.note = "image of an unknown kind";
  }
  return image;
}

DeviceTarget targetOf(StringRef triple, StringRef architecture) {
  unsigned number = 0;
  StringRef rest = architecture;
  if (rest.consume_front("sm_") && !rest.consumeInteger(10, number))
    return cudaTarget(number, rest == "a" ? 'a' : rest == "f" ? 'f' : 0);
  if (triple.starts_with("amdgcn")) return hipTarget(architecture);
  DeviceTarget target;
  if (triple.starts_with("spirv")) target.family = DeviceTarget::Family::Spirv;
  target.name = architecture.empty() ? triple.str() : architecture.str();
  return target;
}

void readBundle(ArrayRef<uint8_t> bytes, uint64_t base, DeviceImage::Compression compression, DeviceSection &result) {
  auto bundle = parseBundle(bytes);
  if (!bundle) {
    result.notes.push_back(toString(bundle.takeError()));
    return;
  }
  for (const BundleEntry &entry : bundle->entries) {
    if (StringRef(entry.id).starts_with("host")) continue;
    DeviceImage image = readBareImage(entry.image, hipTarget(entry.processor()));
    image.offset = base + (compression == DeviceImage::Compression::None ? entry.offset : 0);
    image.compression = compression;
    result.images.push_back(std::move(image));
  }
}

} // namespace

bool isDeviceFile(ArrayRef<uint8_t> bytes) {
  return isFatbin(bytes) || isBundle(bytes) || isCompressedBundle(bytes) || isOffloadBinary(bytes) || isCubin(bytes) ||
         isCodeObject(bytes) || isSpirv(bytes) || isPtx(toStringRef(bytes));
}

std::vector<DeviceSection> readDeviceBytes(ArrayRef<uint8_t> bytes, StringRef name) {
  std::vector<DeviceSection> result;
  // Containers of one kind that follow each other are one part of the result.
  auto part = [&](StringRef container) -> DeviceSection & {
    if (result.empty() || result.back().container != container) {
      result.emplace_back();
      result.back().name = name.str();
      result.back().container = container.str();
    }
    return result.back();
  };
  for (uint64_t at = 0; at < bytes.size();) {
    ArrayRef<uint8_t> rest = bytes.drop_front(at);
    uint64_t size = 0;
    if (isBundle(rest)) {
      if (auto bundle = parseBundle(rest))
        size = bundle->size;
      else
        consumeError(bundle.takeError());
      readBundle(rest, at, DeviceImage::Compression::None, part("bundle"));
    } else if (isCompressedBundle(rest)) {
      if (auto bundle = unpackBundle(rest)) {
        size = bundle->size;
        readBundle(arrayRefFromStringRef(bundle->unpacked->getBuffer()), at, bundle->compression,
                   part("compressed bundle"));
      } else {
        part("compressed bundle").notes.push_back(toString(bundle.takeError()));
      }
    } else if (isOffloadBinary(rest)) {
      if (auto binary = parseOffloadBinary(rest)) {
        size = binary->size;
        DeviceTarget target = targetOf(binary->triple, binary->architecture);
        if (binary->imageKind == IMG_Fatbinary) {
          for (DeviceSection &inner : readDeviceBytes(binary->image, name)) {
            for (DeviceImage &image : inner.images) image.offset += at + binary->offset;
            result.push_back(std::move(inner));
          }
        } else {
          DeviceImage image = readBareImage(binary->image, target);
          image.offset = at + binary->offset;
          part("offload binary").images.push_back(std::move(image));
        }
      } else {
        part("offload binary").notes.push_back(toString(binary.takeError()));
      }
    } else if (isFatbin(rest)) {
      if (auto fatbin = parseFatbin(bytes, at)) {
        size = fatbin->size;
        for (const FatbinEntry &entry : fatbin->entries) part("fatbin").images.push_back(readImage(bytes, entry));
        if (fatbin->entries.empty()) part("fatbin");
      } else {
        part("fatbin").notes.push_back(toString(fatbin.takeError()));
      }
    } else if (at == 0 && isDeviceFile(bytes)) {
      part("").images.push_back(readBareImage(bytes));
      break;
    }
    at = alignTo(at + std::max<uint64_t>(size, 1), 8);
  }
  return result;
}

Expected<std::vector<DeviceSection>> findDeviceImages(ArrayRef<uint8_t> bytes) {
  auto elf = ELF64LEFile::create(toStringRef(bytes));
  if (!elf) return elf.takeError();
  auto sections = elf->sections();
  if (!sections) return sections.takeError();
  auto names = elf->getSectionStringTable(*sections);
  if (!names) return names.takeError();
  std::vector<DeviceSection> result;
  for (const auto &section : *sections) {
    if (section.sh_type == ELF::SHT_NOBITS || section.sh_type == ELF::SHT_NULL) continue;
    if (!(section.sh_flags & ELF::SHF_ALLOC) && section.sh_type != ELF::SHT_LLVM_OFFLOADING) continue;
    if (section.sh_flags & ELF::SHF_EXECINSTR) continue;
    auto name = elf->getSectionName(section, *names);
    if (!name) return name.takeError();
    auto contents = elf->getSectionContents(section);
    if (!contents) return contents.takeError();
    bool isOurs = *name == ".nv_fatbin" || *name == "__nv_relfatbin" || *name == ".hip_fatbin" ||
                  section.sh_type == ELF::SHT_LLVM_OFFLOADING;
    std::vector<DeviceSection> found;
    if (isOurs) {
      found = readDeviceBytes(*contents, *name);
    } else if (Fatbins fatbins = findFatbins(*contents); !fatbins.containers.empty()) {
      // What libraries load themselves may lie anywhere; what merely looks like a container there is none.
      DeviceSection &part = found.emplace_back();
      part.name = name->str();
      part.container = "fatbin";
      for (const FatbinContainer &container : fatbins.containers)
        for (const FatbinEntry &entry : container.entries) part.images.push_back(readImage(*contents, entry));
    }
    for (DeviceSection &part : found) {
      for (DeviceImage &image : part.images) image.offset += section.sh_offset;
      result.push_back(std::move(part));
    }
  }
  return result;
}

} // namespace coppice
