// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Patterns for the names of symbols in bindings (docs/bindings.md). `{op}` is the key, `{*}` is anything, everything
// else stands for itself: `*` and `[` are common in the demangled names of C++.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace coppice {

class SymbolPattern {
public:
  /// What a key may be made of.
  enum class KeyText {
    Identifier, ///< in the name of a symbol: letters, digits, _
    Word        ///< in a string: everything but blanks and control characters
  };

  /// Matches nothing.
  SymbolPattern() = default;
  static llvm::Expected<SymbolPattern> parse(llvm::StringRef text, KeyText keyText = KeyText::Identifier);

  /// The key of a name that the whole pattern matches (the shortest that does), or the whole name if the pattern has no
  /// `{op}`; nullopt if it does not match.
  std::optional<llvm::StringRef> match(llvm::StringRef name) const;
  bool matches(llvm::StringRef name) const { return match(name).has_value(); }
  /// match() of a symbol's name, which is demangled into `demangled` if it can match at all; the key points into that.
  std::optional<llvm::StringRef> matchMangled(llvm::StringRef mangled, std::string &demangled) const;

  bool hasKey() const { return keyIndex.has_value(); }
  bool hasWildcard() const { return pieces.size() > (hasKey() ? 2U : 1U); }
  /// The longest identifier that a mangled name has to contain for its demangled form to match: what has not got it
  /// needs no demangling. May be empty.
  llvm::StringRef literal() const { return mangledLiteral; }
  /// The name for a key; characters that no identifier has become `_`. Only for a pattern with a key and without `{*}`.
  std::string symbolFor(llvm::StringRef key) const;
  /// As it was written.
  llvm::StringRef str() const { return text; }

private:
  std::string text;
  std::string mangledLiteral;
  std::vector<std::string> pieces; ///< literals; between each two of them is a placeholder
  std::optional<size_t> keyIndex;  ///< the placeholder after pieces[keyIndex] is {op}
  KeyText keyText = KeyText::Identifier;
};

/// A key as it is spelled in symbols: `my.add` is `my_add`.
std::string identifierForm(llvm::StringRef key);

} // namespace coppice
