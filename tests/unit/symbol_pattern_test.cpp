// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis/reach/symbol_pattern.h"
#include "llvm/Demangle/Demangle.h"
#include <gtest/gtest.h>

using namespace coppice;

namespace {

SymbolPattern parse(llvm::StringRef text, SymbolPattern::KeyText keyText = SymbolPattern::KeyText::Identifier) {
  auto pattern = SymbolPattern::parse(text, keyText);
  if (!pattern) {
    ADD_FAILURE() << toString(pattern.takeError());
    return {};
  }
  return std::move(*pattern);
}

std::string key(llvm::StringRef pattern, llvm::StringRef name,
                SymbolPattern::KeyText keyText = SymbolPattern::KeyText::Identifier) {
  return parse(pattern, keyText).match(name).value_or("(none)").str();
}

std::string parseError(llvm::StringRef text) {
  auto pattern = SymbolPattern::parse(text);
  return pattern ? "" : toString(pattern.takeError());
}

TEST(SymbolPattern, TakesTheKeyFromTheName) {
  EXPECT_EQ(key("ncnn::{op}_layer_creator(void*)", "ncnn::Convolution_layer_creator(void*)"), "Convolution");
  EXPECT_EQ(key("ncnn::{op}_x86_layer_creator(void*)", "ncnn::Convolution_x86_layer_creator(void*)"), "Convolution");
  EXPECT_EQ(key("__tvm_ffi_{op}", "__tvm_ffi_add_one"), "add_one");
  EXPECT_EQ(key("{op}_kernel", "add_kernel"), "add");
  EXPECT_EQ(key("{op}", "add"), "add");
}

TEST(SymbolPattern, MatchesWholeNames) {
  EXPECT_EQ(key("ncnn::{op}_layer_creator(void*)", "ncnn::Convolution_layer_creator(void*) [clone .cold]"), "(none)");
  EXPECT_EQ(key("ncnn::{op}_layer_creator(void*)", "my::ncnn::Convolution_layer_creator(void*)"), "(none)");
  EXPECT_EQ(key("ncnn::{op}_layer_creator(void*)", "ncnn::_layer_creator(void*)"), "(none)");
  EXPECT_FALSE(parse("ncnn::layer_registry").matches("ncnn::layer_registry_arch"));
  EXPECT_TRUE(parse("ncnn::layer_registry").matches("ncnn::layer_registry"));
  EXPECT_FALSE(parse("ab{*}ba").matches("aba"));
}

TEST(SymbolPattern, AKeyIsAnIdentifier) {
  EXPECT_EQ(key("kernel_{op}", "kernel_add.cold"), "(none)");
  EXPECT_EQ(key("k::{op}(int)", "k::detail::add(int)"), "(none)");
  EXPECT_EQ(key("aten::{op}", "aten::add.out", SymbolPattern::KeyText::Word), "add.out");
  EXPECT_EQ(key("aten::{op}", "aten::add and more", SymbolPattern::KeyText::Word), "(none)");
}

TEST(SymbolPattern, Wildcards) {
  EXPECT_EQ(key("{*}::{op}_kernel({*})", "a::b::add_kernel(float const*, int)"), "add");
  // The first place where the piece before the key stands need not be the right one.
  EXPECT_EQ(key("{*}k_{op}(int){*}", "ns_k_::k_add(int) [clone .part.0]"), "add");
  EXPECT_EQ(key("x{*}y{op}z{*}w", "x--y-yaz--w"), "a");
  EXPECT_TRUE(parse("a{*}b{*}c").matches("a1b2b3c"));
  EXPECT_FALSE(parse("a{*}b{*}c").matches("a1c2b"));
  EXPECT_TRUE(parse("{*}").matches(""));
  // The shortest key.
  EXPECT_EQ(key("{op}_{*}", "add_one_two"), "add");
  EXPECT_EQ(key("f_{op}_x{*}", "f_a_x_x"), "a");
}

TEST(SymbolPattern, StarsAndBracesOfNamesAreLiteral) {
  EXPECT_TRUE(parse("R::R(char const*, void (*)(float*))").matches("R::R(char const*, void (*)(float*))"));
  EXPECT_FALSE(parse("R::R(char const*, void (*)(float*))").matches("R::R(char const*, int, void (*)(float*))"));
  EXPECT_TRUE(parse("f()::{lambda(int)#1}").matches("f()::{lambda(int)#1}"));
}

TEST(SymbolPattern, Errors) {
  EXPECT_EQ(parseError(""), "the pattern is empty");
  EXPECT_EQ(parseError("{op}_{op}"), "{op} stands twice");
  EXPECT_EQ(parseError("a{op}{*}"), "two placeholders follow each other: where the first ends cannot be told");
  EXPECT_EQ(parseError("{name}_kernel"), "there is no {name}: {op} is the key, {*} is anything");
  EXPECT_EQ(parseError(std::string(5000, 'a')), "the pattern has more than 4096 characters");
}

TEST(SymbolPattern, TheLiteralIsInTheMangledName) {
  EXPECT_EQ(parse("ncnn::{op}_layer_creator(void*)").literal(), "_layer_creator");
  EXPECT_EQ(parse("Registrar::Registrar(char const*, void (*)(MyLongTypeName*))").literal(), "Registrar");
  EXPECT_EQ(parse("std::basic_string<char>::push_back(char)").literal(), "push_back");
  EXPECT_EQ(parse("void reg<MyKernelType>(char const*)").literal(), "reg");
  EXPECT_EQ(parse("vtable for a::Kernels").literal(), "Kernels");
  EXPECT_EQ(parse("(anonymous namespace)::table").literal(), "table");
  EXPECT_EQ(parse("Module::operator+=(Kernel)").literal(), "");
  EXPECT_EQ(parse("{*}").literal(), "");
  EXPECT_EQ(parse("__tvm_ffi_{op}").literal(), "__tvm_ffi_");
  for (auto [mangled, pattern] : {
           std::pair("_ZN4ncnn25Convolution_layer_creatorEPv", "ncnn::{op}_layer_creator(void*)"),
           std::pair("_ZN4ncnnL14layer_registryE", "ncnn::layer_registry"),
           std::pair("_ZN12_GLOBAL__N_15tableE", "(anonymous namespace)::table"),
           std::pair("_ZN9RegistrarC1EPKcPFvPfE", "Registrar::Registrar(char const*, void (*)(float*))"),
           std::pair("_Z3regI3MulEvPKc", "void reg<Mul>(char const*)"),
       }) {
    SymbolPattern p = parse(pattern);
    EXPECT_TRUE(p.matches(llvm::demangle(mangled))) << llvm::demangle(mangled);
    EXPECT_TRUE(llvm::StringRef(mangled).contains(p.literal())) << mangled << ' ' << p.literal().str();
  }
}

TEST(SymbolPattern, TheSymbolOfAKey) {
  EXPECT_EQ(parse("__tvm_ffi_{op}").symbolFor("add_one"), "__tvm_ffi_add_one");
  EXPECT_EQ(parse("kernel_{op}_f32").symbolFor("my.add"), "kernel_my_add_f32");
  EXPECT_EQ(identifierForm("aten::add.out"), "aten__add_out");
}

// What a bad name costs: it must not be quadratic in any way that shows.
TEST(SymbolPattern, LongNames) {
  std::string name(200000, 'a');
  EXPECT_FALSE(parse("{*}a{op}a{*}b").matches(name));
  EXPECT_FALSE(parse("{*}a{op}b{*}a").matches(name));
  EXPECT_TRUE(parse("{*}a{op}a{*}a").matches(name));
}

} // namespace
