// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registrations of a program, as bindings describe them: each is a reference that counts only when its key is used.
#pragma once
#include "analysis/diagnostic.h"
#include "analysis/reach/binding.h"
#include "analysis/reach/resolve_symbols.h"
#include <string>
#include <vector>

namespace coppice {

struct Registration {
  static constexpr uint32_t none = ~0u;
  uint32_t binding = 0, edge = 0; ///< index in the bindings, in that binding's edges
  std::string key;                ///< as it is written in the program
  bool keyIsIdentifier = false;   ///< it was taken from a symbol: see identifierForm()
  std::string kernel;             ///< what is registered, demangled
  uint32_t object = 0;            ///< index in linked(); none: shape `symbols`, in an archive member that is not linked
  uint32_t section = 0, relocation = none; ///< shapes `table` and `calls`: the reference that counts or does not
  uint32_t symbol = none;                  ///< shape `symbols`: index in symbols()
  /// Shape `calls`, where an instruction refers to the function without a relocation: that, and the function, both in
  /// `section`.
  struct Local {
    uint64_t instruction, function;
  };
  std::optional<Local> local;
};

/// Shapes `table` and `calls`. What looks like a registration and does not fit stays an ordinary reference.
struct UnclearRegistration {
  uint32_t binding = 0;
  std::string place; ///< "libk.a(reg.o): register_all()"
  std::string why;
};

struct Registrations {
  std::vector<Registration> list; ///< in the order of objects
  std::vector<UnclearRegistration> unclear;
  /// Shape `objects`: for an object that only counts with one of its keys, those.
  struct ConditionalObject {
    uint32_t binding = 0, edge = 0, object = 0;
    std::vector<std::string> keys;
  };
  std::vector<ConditionalObject> objects;
  /// Has the program anything of this binding's framework? For each binding.
  std::vector<char> present;
};

Registrations findRegistrations(const SymbolResolution &resolution, llvm::ArrayRef<Binding> bindings);

} // namespace coppice
