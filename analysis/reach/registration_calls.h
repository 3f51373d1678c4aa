// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registrations of shape `calls` (docs/bindings.md): which key and which function each call of a binding's callee hands
// over. Only what is certain is a registration; every other call of the callee is in `unmatched`, and what it refers to
// are ordinary references.
#pragma once
#include "analysis/reach/binding.h"
#include "analysis/reach/call_sites.h"
#include <string>

namespace coppice {

struct RegistrationCall {
  size_t edge = 0; ///< of the list of edges
  std::string key;
  /// The function: `section` and `offset` if it is defined in this object, `symbol` if it was referred to by name (then
  /// resolution says which definition counts).
  uint32_t symbol = 0, section = 0;
  int64_t offset = 0;
  /// The operand that refers to the function, and that nothing but registrations uses: it counts if one of their keys
  /// is used. Compilers keep an address in a register for several calls, so the same operand may be in several
  /// registrations. Without a relocation it is an instruction of this section (FunctionRange::references), the
  /// only ones of that function that refer to this target are in registrations, and the target's own code is all that
  /// can be edited.
  AddressSource source;
  uint32_t function = 0; ///< symbol of the function with the call
  uint64_t call = 0;     ///< offset of the call in that function's section
};

struct UnmatchedCall {
  size_t edge = 0;
  uint32_t function = 0; ///< as above; 0 if there is none
  uint32_t section = 0;
  uint64_t offset = 0;
  std::string why;
};

struct RegistrationCalls {
  std::vector<RegistrationCall> found; ///< in the order of functions, then calls
  std::vector<UnmatchedCall> unmatched;
};

/// `functions` is FunctionSymbols(object). Give all edges at once: a call that none of them describes is
/// another use of what it is given.
RegistrationCalls matchRegistrations(const ObjectFile &object, const FunctionSymbols &functions, Decoder &decoder,
                                     llvm::ArrayRef<const CallEdge *> edges);

} // namespace coppice
