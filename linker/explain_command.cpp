// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "linker/explain_command.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace coppice {

namespace {

struct ErrorPage {
  StringRef code, text;
};

constexpr ErrorPage pages[] = {
#include "linker/error_pages.inc" // made from docs/errors by linker/embed_error_pages.cmake
};

/// "# COP101: no kernel for an op" -> "no kernel for an op".
StringRef titleOf(const ErrorPage &page) { return page.text.split('\n').first.split(": ").second; }

} // namespace

int explainCommand(StringRef code, raw_ostream &out, raw_ostream &err) {
  if (code.empty()) {
    for (const ErrorPage &page : pages) out << page.code << "  " << titleOf(page) << '\n';
    return 0;
  }
  std::string wanted = code.upper();
  if (!StringRef(wanted).starts_with("COP")) wanted = "COP" + wanted;
  for (const ErrorPage &page : pages) {
    if (page.code != wanted) continue;
    out << page.text;
    return 0;
  }
  err << "coppice: no error has the code '" << code << "'\n`coppice explain` lists them.\n";
  return 2;
}

} // namespace coppice
