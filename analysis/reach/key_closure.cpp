// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys are nodes, rules are edges; a breadth-first walk from the used keys. A key that a rule brings has attributes
// that nobody knows, so all its rules hold, even where its uses in graphs would exclude them; unless the rule says that
// they are those of the op that brings it.
#include "analysis/reach/binding.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

using namespace coppice;
using llvm::StringRef;

namespace {

bool holds(const AttributeCondition &condition, const UsedKey &key) {
  auto accepts = [&](const std::string &value) {
    return llvm::is_contained(condition.values, value) != condition.negated;
  };
  auto attribute = key.attributes.find(condition.attribute);
  bool hasAttribute = attribute != key.attributes.end();
  if ((!hasAttribute || attribute->second.uses < key.count) && !condition.absent.empty() && accepts(condition.absent))
    return true;
  if (!hasAttribute) return false;
  return attribute->second.isUnknown || llvm::any_of(attribute->second.values, accepts);
}

} // namespace

KeyClosure::KeyClosure(const Binding &binding, llvm::ArrayRef<UsedKey> used) {
  llvm::StringMap<std::vector<const Implication *>> rules;
  for (const Implication &rule : binding.implies) rules[rule.op].push_back(&rule);

  /// What is known of a key's attributes: those of these uses, or nothing.
  struct Uses {
    llvm::SmallVector<const UsedKey *, 1> list;
    bool others = false;
    bool add(const Uses &more) {
      size_t before = list.size();
      for (const UsedKey *use : more.list)
        if (!llvm::is_contained(list, use)) list.push_back(use);
      bool grows = list.size() > before || (more.others && !others);
      others |= more.others;
      return grows;
    }
  };
  std::vector<Uses> uses;        // of list's elements
  llvm::StringMap<size_t> index; // into list
  std::deque<size_t> queue;
  auto reach = [&](Key key, const Uses &more) {
    auto [it, isNew] = index.try_emplace(key.key, list.size());
    if (isNew) {
      list.push_back(std::move(key));
      uses.emplace_back();
    }
    if (uses[it->second].add(more) || isNew) queue.push_back(it->second);
  };
  for (const UsedKey &key : used) reach({key.key, &key, nullptr, {}}, {{&key}, false});
  for (const std::string &key : binding.always) reach({key, nullptr, nullptr, {}}, {{}, true});

  while (!queue.empty()) {
    size_t at = queue.front();
    queue.pop_front();
    std::string from = list[at].key;
    auto apply = [&](const Implication &rule) {
      Uses those; // for which the rule holds
      those.others = uses[at].others;
      for (const UsedKey *use : uses[at].list)
        if (!use->isExact &&
            (!use->attributesKnown || llvm::all_of(rule.when, [&](auto &condition) { return holds(condition, *use); })))
          those.list.push_back(use);
      if (those.list.empty() && !those.others) return;
      if (!rule.sameAttributes) those = {{}, true};
      for (const std::string &key : rule.brings) applied.push_back({from, key, &rule});
      for (const std::string &key : rule.brings) reach({key, nullptr, &rule, from}, those);
    };
    for (StringRef op : {StringRef(from), StringRef("*")})
      if (auto found = rules.find(op); found != rules.end())
        for (const Implication *rule : found->second) apply(*rule);
  }
  llvm::sort(list, [](const Key &a, const Key &b) { return a.key < b.key; });
  for (const Key &key : list) identifiers.try_emplace(identifierForm(key.key), key.key);
}

const KeyClosure::Key *KeyClosure::find(StringRef key) const {
  auto found = llvm::lower_bound(list, key, [](const Key &a, StringRef name) { return StringRef(a.key) < name; });
  return found != list.end() && found->key == key ? &*found : nullptr;
}

const KeyClosure::Key *KeyClosure::findIdentifier(StringRef identifier) const {
  if (const Key *exact = find(identifier)) return exact;
  auto found = identifiers.find(std::string_view(identifier));
  return found == identifiers.end() ? nullptr : find(found->second);
}

std::vector<const KeyClosure::Key *> KeyClosure::chain(StringRef key) const {
  std::vector<const Key *> result;
  for (const Key *at = find(key); at; at = at->rule ? find(at->from) : nullptr) result.push_back(at);
  return result;
}

std::vector<std::string> coppice::keptVariants(const Binding &binding, VariantChoice choice, unsigned cpuLevel,
                                               llvm::ArrayRef<std::string> present) {
  std::vector<const BindingVariant *> has;
  for (const BindingVariant &variant : binding.variants)
    if (llvm::is_contained(present, variant.name)) has.push_back(&variant);
  std::vector<std::string> kept;
  if (has.empty()) return kept;
  const BindingVariant *best = has.front(); // what has no general implementation keeps its most general one
  for (const BindingVariant *variant : has)
    if (choice == VariantChoice::Best && variant->cpuLevel <= cpuLevel) best = variant;
  for (const BindingVariant *variant : has)
    if (choice == VariantChoice::All || variant == best || (choice == VariantChoice::Best && variant->isFallback))
      kept.push_back(variant->name);
  return kept;
}
