// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Those of lld's options that decide what a link keeps.
#pragma once
#include <string>
#include <vector>

namespace coppice {

struct LinkSettings {
  std::string entry = "_start", init = "_init", fini = "_fini";
  std::vector<std::string> undefined; ///< -u, and the names that --defsym and scripts refer to: roots that extract
  std::vector<std::string> wrapped;   ///< --wrap
  std::vector<std::string> exported;  ///< globs: --export-dynamic-symbol, --dynamic-list: of an executable's symbols
  std::vector<std::string> versionGlobal; ///< globs: version script: exported in spite of `versionLocal`
  std::vector<std::string> versionLocal;  ///< globs: version script: not exported
  std::vector<std::string> keptSections;  ///< linker script: section names in KEEP(...), globs
  std::vector<std::string>
      excludedLibraries;    ///< --exclude-libs: names of archives whose symbols are not exported, or ALL
  bool shared = false;      ///< -shared: what is visible is exported
  bool hideExports = false; ///< --hide-exports: only what version scripts, lists and shared libraries name is exported
  bool exportDynamic = false; ///< --export-dynamic
  bool startStopGc = true;    ///< -z start-stop-gc: a section foo is not kept by __start_foo alone
  bool fortranCommon = false; ///< --fortran-common: a definition in an archive replaces a common symbol
  bool stripDebug = false;    ///< -s, -S
  bool isScript = false;      ///< -T: sections may be kept by what we do not read
};

} // namespace coppice
