// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A binding: what the registrations of a framework look like, as data (docs/bindings.md). Each edge describes
// references that count only when their key is used; what an edge does not describe is an ordinary reference.
#pragma once
#include "analysis/diagnostic.h"
#include "analysis/reach/symbol_pattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace coppice {

/// What takes the place of a reference that does not count.
struct Dropped {
  enum Kind {
    Keep,  ///< nothing: ordinary references stay what they are (only of shape `symbols`)
    Null,  ///< a null pointer: only where the framework then names what is missing
    Trap,  ///< a function that names the kernel and aborts
    Symbol ///< another symbol, demangled or not
  } kind = Trap;
  std::string symbol;
};

/// Shape `table`: pointers inside of a data symbol.
struct TableEdge {
  SymbolPattern from;            ///< the data symbol, demangled
  std::vector<SymbolPattern> to; ///< demangled targets; the first that matches gives the key. Without `record`
  struct Record {
    uint64_t stride = 0;                  ///< bytes of one entry
    uint64_t keyOffset = 0;               ///< of the pointer to the key's string, in an entry
    std::optional<uint64_t> lengthOffset; ///< of the string's length (64 bits); without, it ends with a null
    uint64_t functionOffset = 0;
  };
  std::optional<Record> record; ///< the key is the string next to the function; `to` is empty
};

/// Shape `calls`: calls in static constructors. Positions are integer argument registers, from 1 (on x86-64 rdi, rsi,
/// rdx, rcx, r8, r9), so that `this` of a constructor is 1 and a std::string_view takes two.
struct CallEdge {
  SymbolPattern call; ///< the callee, demangled
  unsigned key = 0, function = 0;
  std::optional<unsigned> length; ///< of the key's string; without, it ends with a null
  struct Array {
    unsigned position = 0;         ///< the pointer to the first record
    std::optional<unsigned> count; ///< the number of records, in a register …
    uint64_t fixedCount = 0;       ///< … or always this many
    uint64_t stride = 0, keyOffset = 0, functionOffset = 0;
    std::optional<uint64_t> lengthOffset;
  };
  std::optional<Array> array; ///< records are handed over; then key, function and length are not set
};

/// Shape `symbols`: one global symbol a kernel. A used key refers to its symbol (and so extracts archive members); the
/// symbols of other keys are no roots for being exported, and with `dropped: trap` references to them do not count.
struct SymbolEdge {
  SymbolPattern symbol; ///< has a key; demangled
};

/// Shape `objects`: all that an object's static constructors refer to counts if one of its keys is used. An object in
/// which no key is found is an ordinary one.
struct ObjectEdge {
  SymbolPattern object;                ///< name of file or archive member, without folders; its `{op}` is a key
  std::vector<SymbolPattern> strings;  ///< strings in its constant data, KeyText::Word
  std::vector<SymbolPattern> symbols;  ///< symbols that it defines, demangled
  std::optional<SymbolPattern> refers; ///< only objects that refer to such a symbol
};

struct BindingEdge {
  std::variant<TableEdge, CallEdge, SymbolEdge, ObjectEdge> shape;
  Dropped dropped;
  std::string variant; ///< name of a Variant, or empty
  Place place;
};

/// One way to implement all ops of a framework, for some CPUs.
struct BindingVariant {
  std::string name;
  unsigned cpuLevel = 1;   ///< least x86-64 level (1-4) at which it may be called
  bool isFallback = false; ///< stays with `--variants=best`: the framework may use it besides a better one
};

/// A condition on an attribute of an op in the graph.
struct AttributeCondition {
  std::string attribute;
  bool negated = false; ///< none of the values, instead of one of them
  std::vector<std::string> values;
  std::string absent; ///< the value where the op does not have the attribute; empty: then the condition does not hold
};

/// An op brings others.
struct Implication {
  std::string op; ///< a key, or "*" for each
  std::vector<std::string> brings;
  std::vector<AttributeCondition> when; ///< all must hold; holds if it is not known
  bool sameAttributes = false; ///< what it brings has the attributes of the op, as far as conditions ask for them
  Place place;
};

/// Live code that refers to a symbol uses keys: a function that makes an op by itself, a factory that is called with a
/// constant.
struct CodeUse {
  SymbolPattern symbol;            ///< demangled
  std::vector<std::string> brings; ///< these keys; or, where it is empty, the key is an argument of the call:
  unsigned argument = 0;           ///< its position, as in CallEdge: a string, or
  /// … the index of an entry of `stride` bytes in this data symbol, which a TableEdge describes. A reference that is no
  /// call with a constant there uses all keys.
  std::optional<SymbolPattern> indexOf;
  uint64_t stride = 0;
  Place place;
};

struct Binding {
  std::string name;
  std::vector<std::string> graphs; ///< formats whose ops are keys: "ncnn-param", "op-list", "onnx", "mlir", "max"
  std::vector<BindingEdge> edges;
  std::vector<Implication> implies;
  std::vector<CodeUse> uses;
  /// Functions whose references are no `uses`: `implies` and the graph say what they need. An `{op}` is a registered
  /// key.
  std::vector<SymbolPattern> ownCode;
  std::vector<std::string> always;      ///< keys that are used whatever the graph is
  std::vector<BindingVariant> variants; ///< from the most general to the most special
  std::string file;

  bool reads(llvm::StringRef format) const;
};

/// Everything that is wrong is reported (COP401); then the result is empty.
std::optional<Binding> readBinding(llvm::MemoryBufferRef yaml, Diagnostics &diagnostics);
/// Those of bindings/*.yaml, by name.
std::vector<Binding> builtinBindings();

//===-- Keys ------------------------------------------------------------------------------------------------------===//

/// An op that graphs use, or that the user keeps by name (then without attributes).
struct UsedKey {
  std::string key;
  std::string graph; ///< name of the first graph that uses it
  Place place;       ///< of its first use
  uint64_t count = 1;
  struct Attribute {
    std::set<std::string> values; ///< integers in decimal, strings
    uint64_t uses = 0;            ///< how many of `count` have it
    bool isUnknown = false;       ///< it has values that cannot be compared
  };
  std::map<std::string, Attribute> attributes;
  bool attributesKnown = true;
  bool isByHand = false; ///< from a list or a flag, not from a graph
  bool isExact = false;  ///< from the record of a run: rules bring nothing for it
};

/// The keys that count: used ones, `always`, and what `implies` brings.
class KeyClosure {
public:
  struct Key {
    std::string key;
    const UsedKey *used = nullptr;     ///< by a graph or by hand, or
    const Implication *rule = nullptr; ///< by this rule for `from`, or, if both are null, by `always`
    std::string from;
  };

  KeyClosure() = default;
  /// `binding` and `used` must outlive the result.
  KeyClosure(const Binding &binding, llvm::ArrayRef<UsedKey> used);

  /// By name.
  llvm::ArrayRef<Key> keys() const { return list; }
  const Key *find(llvm::StringRef key) const;
  /// For a key that was taken from the name of a symbol: the key whose identifierForm() it is.
  const Key *findIdentifier(llvm::StringRef identifier) const;
  /// A rule that holds, each of them: also for keys that are there without it.
  struct Step {
    std::string from, to;
    const Implication *rule = nullptr;
  };
  llvm::ArrayRef<Step> steps() const { return applied; }
  /// From the key back to the one that a graph uses or that is always there: "Padding", "Convolution".
  std::vector<const Key *> chain(llvm::StringRef key) const;

private:
  std::vector<Key> list;
  std::vector<Step> applied;
  std::map<std::string, std::string, std::less<>> identifiers; ///< identifierForm() -> key
};

enum class VariantChoice { All, Best, Generic };
/// Which of the variants that a key has are kept, for CPUs of at least `cpuLevel`. Edges without a variant always are.
std::vector<std::string> keptVariants(const Binding &binding, VariantChoice choice, unsigned cpuLevel,
                                      llvm::ArrayRef<std::string> present);

} // namespace coppice
