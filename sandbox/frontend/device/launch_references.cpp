#include "sandbox/frontend/device/launch_references.h"

#include <algorithm>

namespace bicrl {
namespace {

constexpr size_t kReach = 400;          // tokens that a launch's template arguments are followed
constexpr size_t kMaxReferences = 200;  // of a function

bool is_builtin_type(std::string_view word) {
  for (const std::string_view type :
       {"float",         "double",      "int",    "unsigned", "long",    "short",    "char",    "bool",
        "signed",        "const",       "true",   "false",    "int64_t", "int32_t",  "uint8_t", "int8_t",
        "uint32_t",      "uint64_t",    "at",     "c10",      "Half",    "BFloat16", "__half",  "half",
        "__nv_bfloat16", "nv_bfloat16", "float2", "float4",   "half2",   "size_t",   "torch",   "sizeof"})
    if (word == type) return true;
  return false;
}

}  // namespace

LaunchReferences::LaunchReferences(const TokenText& text, const CodeStructure& structure)
    : t_(text), structure_(structure) {
  find_kernels();
  bool half = false, bfloat16 = false;
  for (size_t i = 0; i < t_.size(); ++i) {
    if (!t_.is_identifier(i)) continue;
    half |= t_.at(i).find("HALF") != std::string_view::npos || t_.is(i, "kHalf") || t_.is(i, "Half");
    bfloat16 |= t_.is(i, "BFloat16") || t_.is(i, "kBFloat16");
  }
  scalar_types_ = {"float", "double"};
  if (half) scalar_types_.push_back("c10::Half");
  if (bfloat16) scalar_types_.push_back("c10::BFloat16");
  for (const CodeItem& item : structure_.items()) {
    const size_t end = item.kind == CodeItem::Kind::kFunction ? item.body : item.end;
    if (item.kind == CodeItem::Kind::kFunction && !item.is_global && !item.is_device) continue;
    for (size_t i = item.begin; i < end; i = t_.next(i))
      if (t_.is_identifier(i)) declared_.insert(t_.at(i));
  }
}

// `template <class T, int N = 4> __global__ ... name(`.
void LaunchReferences::find_kernels() {
  for (const CodeItem& item : structure_.items()) {
    if (!item.is_global || !item.is_template) continue;
    const size_t open = t_.next(item.begin);
    if (!t_.is(open, "<")) continue;
    size_t depth = 0, parameters = 0, i = open;
    bool named = false, defaulted = false;
    for (; i < item.end; i = t_.next(i)) {
      if (t_.is(i, "<") || t_.is(i, "(")) ++depth;
      if (t_.is(i, ">") || t_.is(i, ")")) --depth;
      const bool over = depth == 0;
      if ((t_.is(i, ",") && depth == 1) || over) {
        parameters += named && !defaulted;
        named = defaulted = false;
        if (over) break;
      } else if (t_.is_identifier(i)) {
        named = true;
      } else if (depth == 1 && (t_.is(i, "=") || t_.is(i, "."))) {
        defaulted = true;
      }
    }
    // The name stands before the parameters, the last `(` outside attributes.
    for (; i < item.end; i = t_.next(i)) {
      if (!t_.is_identifier(i) || !t_.is(t_.next(i), "(")) continue;
      const std::string_view word = t_.at(i);
      if (word == "__launch_bounds__" || word == "__attribute__" || word == "__cluster_dims__") {
        i = structure_.partner(t_.next(i));
        continue;
      }
      required_.emplace(std::string(word), parameters);
      break;
    }
  }
}

std::vector<std::string> LaunchReferences::split_arguments(size_t open, size_t close) const {
  std::vector<std::string> list;
  int depth = 0;
  size_t from = t_.next(open);
  for (size_t i = from; i <= close; i = t_.next(i)) {
    if (i == close || (depth == 0 && t_.is(i, ","))) {
      if (from < i) list.push_back(t_.flat(from, i));
      from = t_.next(i);
    }
    if (t_.is(i, "<") || t_.is(i, "(")) ++depth;
    if (t_.is(i, ">") || t_.is(i, ")")) --depth;
  }
  return list;
}

LaunchReferences::Callee LaunchReferences::callee_before(size_t angles, const CodeItem& item) const {
  Callee callee;
  const size_t close = t_.previous(angles);
  if (close >= t_.size() || !t_.is(close, ">")) return callee;
  size_t open = close;
  int depth = 0;
  for (size_t n = 0; n < kReach && open > item.begin; ++n, open = t_.previous(open)) {
    if (t_.is(open, ">")) ++depth;
    if (t_.is(open, "<") && --depth == 0) break;
    if (t_.is(open, ";") || t_.is(open, "{")) return callee;
  }
  if (!t_.is(open, "<")) return callee;
  const size_t name = t_.previous(open);
  if (name >= t_.size() || !t_.is_identifier(name)) return callee;
  const auto known = required_.find(t_.at(name));
  if (known == required_.end()) return callee;
  std::vector<std::string> arguments = split_arguments(open, close);
  if (arguments.size() < known->second) return callee;
  size_t first = name;
  for (size_t colon = t_.previous(first); colon < t_.size() && t_.is(colon, ":");
       colon = t_.previous(first)) {
    first = t_.previous(colon);
    const size_t scope = t_.previous(first);
    if (scope >= t_.size() || !t_.is_identifier(scope) || t_.is(scope, "return")) break;
    first = scope;
  }
  callee.name = t_.flat(first, name + 1);
  callee.arguments = std::move(arguments);
  return callee;
}

// NAME and 256 of every `NAME = 256;` in the item's body.
std::map<std::string_view, std::string_view> LaunchReferences::local_values(const CodeItem& item) const {
  std::map<std::string_view, std::string_view> values;
  for (size_t i = item.body; i < item.end; i = t_.next(i)) {
    if (!t_.is_identifier(i) || !t_.is(t_.next(i), "=")) continue;
    const size_t value = t_.next(t_.next(i));
    if (value < item.end && t_.tokens()[value].kind == Token::Kind::kNumber && t_.is(t_.next(value), ";"))
      values.emplace(t_.at(i), t_.at(value));
  }
  return values;
}

bool LaunchReferences::is_known(std::string& argument,
                                const std::map<std::string_view, std::string_view>& values) const {
  const TokenText words(argument);
  TextEdits edits;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words.is_identifier(i)) continue;
    const std::string_view word = words.at(i);
    if (is_builtin_type(word) || declared_.count(word) || word == "scalar_t") continue;
    const auto value = values.find(word);
    if (value == values.end()) return false;
    edits.replace(words.tokens()[i].begin, words.tokens()[i].end, std::string(value->second));
  }
  argument = edits.apply(argument);
  return true;
}

std::string LaunchReferences::of(const CodeItem& item) const {
  if (item.kind != CodeItem::Kind::kFunction || item.is_template) return "";
  const std::map<std::string_view, std::string_view> values = local_values(item);
  std::set<std::string> instances;
  for (size_t i = item.body; i + 2 < item.end && instances.size() < kMaxReferences; ++i) {
    if (!t_.is(i, "<") || !t_.is(i + 1, "<") || !t_.is(i + 2, "<")) continue;
    Callee callee = callee_before(i, item);
    i += 2;
    if (callee.name.empty()) continue;
    std::string list;
    bool known = true;
    for (std::string& argument : callee.arguments) {
      known = known && is_known(argument, values);
      list += (list.empty() ? "" : ", ") + argument;
    }
    if (!known) continue;
    const std::string instance = callee.name + "<" + list + ">";
    const size_t at = instance.find("scalar_t");
    if (at == std::string::npos) {
      instances.insert(instance);
      continue;
    }
    for (const std::string& type : scalar_types_) {
      std::string one = instance;
      for (size_t p = one.find("scalar_t"); p != std::string::npos; p = one.find("scalar_t", p + type.size()))
        one.replace(p, 8, type);
      instances.insert(one);
    }
  }
  if (instances.empty()) return "";
  // The name is made of the place, so that each is another.
  std::string text = "static __device__ void bicrl_launched_" + std::to_string(item.begin) + "() { ";
  for (const std::string& instance : instances) text += "(void)&" + instance + "; ";
  return text + "}";
}

}  // namespace bicrl
