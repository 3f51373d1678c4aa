// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/elf_object.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gtest/gtest.h"

using namespace coppice;
using namespace llvm;
using namespace llvm::object;

// LLVM's reader is the judge of what we write.
TEST(ElfObject, IsReadBackByLlvm) {
  ElfObject object;
  std::string head = "head", tail = "tail";
  auto data = object.addSection(".data.rel.ro.x", ELF::SHF_ALLOC | ELF::SHF_WRITE, 16, 32);
  object.addPiece(data, 0, {head.data(), head.size()});
  object.addPiece(data, 24, {tail.data(), tail.size()});
  auto global = object.addGlobal("x", data, 0, 32);
  auto reference = object.addGlobal("y", ElfObject::undefined);
  auto local = object.addLocal("local", data); // added last, must come first in the table
  object.addPointer(data, 8, reference, 5);
  object.addPointer(data, 16, local);
  (void)global;
  auto note = object.addSection(".note", 0, 8, 8);
  object.linkTo(note, data);

  auto buffer = object.write("test.o");
  ASSERT_TRUE(buffer);
  auto file = ELFObjectFile<ELF64LE>::create(buffer->getMemBufferRef());
  ASSERT_TRUE(bool(file)) << toString(file.takeError());
  std::map<std::string, uint32_t> flags;
  for (const SymbolRef &symbol : file->symbols())
    if (auto name = symbol.getName(); name && !name->empty()) flags[name->str()] = cantFail(symbol.getFlags());
  EXPECT_TRUE(flags.at("x") & SymbolRef::SF_Global);
  EXPECT_TRUE(flags.at("x") & SymbolRef::SF_Hidden);
  EXPECT_TRUE(flags.at("y") & SymbolRef::SF_Undefined);
  EXPECT_FALSE(flags.at("local") & SymbolRef::SF_Global);

  size_t relocations = 0;
  for (const SectionRef &section : file->sections()) {
    StringRef name = cantFail(section.getName());
    if (name == ".data.rel.ro.x") {
      StringRef contents = cantFail(section.getContents());
      EXPECT_EQ(contents.size(), 32u);
      EXPECT_TRUE(contents.starts_with("head"));
      EXPECT_EQ(contents.substr(4, 20), StringRef("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20));
      EXPECT_TRUE(contents.substr(24).starts_with("tail"));
    }
    for (const RelocationRef &r : section.relocations()) {
      ++relocations;
      EXPECT_EQ(r.getType(), unsigned(ELF::R_X86_64_64));
      StringRef target = cantFail(r.getSymbol()->getName());
      EXPECT_EQ(target, r.getOffset() == 8 ? "y" : "local");
    }
  }
  EXPECT_EQ(relocations, 2u);
}

TEST(ElfObject, IsTheSameEveryTime) {
  auto make = [] {
    ElfObject object;
    auto section = object.addSection(".rodata", ELF::SHF_ALLOC, 64, 100);
    object.addGlobal("a", section);
    return object.write("a.o")->getBuffer().str();
  };
  EXPECT_EQ(make(), make());
}
