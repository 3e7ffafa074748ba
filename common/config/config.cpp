#include "common/config/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "common/config/config_keys.h"
#include "common/config/config_node.h"
#include "common/config/spelling.h"
#include "common/files/files.h"

namespace bicrl {
namespace {

using Kind = ConfigNode::Kind;
using Pointer = ConfigNode::Pointer;

std::string place_of(const ConfigNode& node) { return concat(node.place, ": ", node.path); }

std::string described(const ConfigNode& node) {
  switch (node.kind) {
    case Kind::kAbsent:
      return "nothing";
    case Kind::kScalar:
      return node.plain ? "'" + node.scalar + "'" : "the quoted text \"" + node.scalar + "\"";
    case Kind::kList:
      return "a list";
    case Kind::kMapping:
      return "a section";
  }
  return "";
}

[[noreturn]] void expected(const ConfigNode& node, const std::string& what) {
  throw InputError(concat(place_of(node), ": expected ", what, ", got ", described(node)));
}

// The node of a present value; nullptr if the default holds.
const ConfigNode* find_value(ConfigNode& section, const std::string& key) {
  const Pointer* found = section.find(key);
  return found && (*found)->kind != Kind::kAbsent ? found->get() : nullptr;
}

int64_t parse_integer(const ConfigNode& node, int64_t min, int64_t max) {
  const std::string digits = node.scalar.substr(!node.scalar.empty() && node.scalar[0] == '+');
  const char* end = digits.data() + digits.size();
  const size_t first = !digits.empty() && digits[0] == '-';
  int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), end, value);
  // A leading zero is octal to some YAML readers and decimal to others.
  const bool leading_zero = digits.size() > first + 1 && digits[first] == '0';
  const bool sign_twice = digits.size() < node.scalar.size() && first;
  if (node.kind != Kind::kScalar || !node.plain || parsed.ec == std::errc::invalid_argument ||
      parsed.ptr != end || leading_zero || sign_twice)
    expected(node, "an integer");
  if (parsed.ec == std::errc::result_out_of_range || value < min || value > max) {
    const bool bounded_below = min != std::numeric_limits<int64_t>::min();
    const bool bounded_above = max != std::numeric_limits<int64_t>::max();
    expected(node, !bounded_above && bounded_below   ? concat("an integer of at least ", min)
                   : bounded_above && !bounded_below ? concat("an integer of at most ", max)
                                                     : concat("an integer from ", min, " to ", max));
  }
  return value;
}

// The float of YAML 1.2's core schema.
double parse_real(const ConfigNode& node) {
  std::string text = node.scalar;
  if (node.kind != Kind::kScalar || !node.plain) expected(node, "a number");
  double sign = 1;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    sign = text[0] == '-' ? -1 : 1;
    text.erase(0, 1);
  }
  if (text == ".inf" || text == ".Inf" || text == ".INF")
    return sign * std::numeric_limits<double>::infinity();
  const bool has_digits = std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool starts_well = !text.empty() && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!has_digits || !starts_well || parsed.ptr != text.data() + text.size()) expected(node, "a number");
  if (parsed.ec != std::errc()) expected(node, "a number that a double can hold");
  return sign * value;
}

const std::string& parse_text(const ConfigNode& node) {
  if (node.kind != Kind::kScalar) expected(node, "text");
  return node.scalar;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string flow_list(const std::vector<std::string>& values) { return "[" + joined(values) + "]"; }

std::string flow_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> printed;
  for (const auto& text : texts) printed.push_back(yaml_text(text));
  return flow_list(printed);
}

std::string flow_integers(const std::vector<int64_t>& values) {
  std::vector<std::string> printed;
  for (int64_t value : values) printed.push_back(std::to_string(value));
  return flow_list(printed);
}

// ---- What the log of keys says of a range; empty where there is none.

std::string integer_range(int64_t min, int64_t max) {
  const bool bounded_below = min != std::numeric_limits<int64_t>::min();
  const bool bounded_above = max != std::numeric_limits<int64_t>::max();
  if (bounded_below && bounded_above) return concat(min, " to ", max);
  return bounded_below ? concat("at least ", min) : bounded_above ? concat("at most ", max) : "";
}

std::string real_range(double min, double max) {
  if (!std::isinf(min) && !std::isinf(max)) return concat(yaml_real(min), " to ", yaml_real(max));
  if (!std::isinf(min)) return concat("at least ", yaml_real(min));
  return std::isinf(max) ? "" : concat("at most ", yaml_real(max));
}

// What an accessor knows of a key.
struct KeyKind {
  const char* type;
  std::string fallback;  // as YAML
  std::string range;
};

// Notes a value for the resolved document, and the key for a log.
void note_value(ConfigNode& section, const std::string& key, std::string value, const KeyKind& kind) {
  if (ConfigKeyLog::is_active()) {
    const ConfigNode* node = find_value(section, key);
    ConfigKeyLog::record({.path = section.child_path(key),
                          .type = kind.type,
                          .fallback = kind.fallback,
                          .range = kind.range,
                          .value = value,
                          .place = node ? node->place : "default"});
  }
  section.note(key, std::move(value));
}

}  // namespace

Pointer* ConfigNode::find(const std::string& key) {
  for (auto& entry : entries)
    if (entry.first == key) return &entry.second;
  return nullptr;
}

ConfigNode::Read* ConfigNode::find_read(const std::string& key) {
  for (auto& read : reads)
    if (read.first == key) return &read.second;
  return nullptr;
}

void ConfigNode::note(const std::string& key, Read read) {
  if (Read* known = find_read(key))
    *known = std::move(read);
  else
    reads.emplace_back(key, std::move(read));
}

int64_t ConfigSection::integer(const std::string& key, int64_t fallback, int64_t min, int64_t max) const {
  const ConfigNode* node = find_value(*node_, key);
  const int64_t value = node ? parse_integer(*node, min, max) : fallback;
  note_value(*node_, key, std::to_string(value),
             {"integer", std::to_string(fallback), integer_range(min, max)});
  return value;
}

double ConfigSection::real(const std::string& key, double fallback, double min, double max) const {
  const ConfigNode* node = find_value(*node_, key);
  const double value = node ? parse_real(*node) : fallback;
  if (node && (value < min || value > max))
    expected(*node, std::isinf(max)   ? concat("a number of at least ", yaml_real(min))
                    : std::isinf(min) ? concat("a number of at most ", yaml_real(max))
                                      : concat("a number from ", yaml_real(min), " to ", yaml_real(max)));
  note_value(*node_, key, yaml_real(value), {"number", yaml_real(fallback), real_range(min, max)});
  return value;
}

bool ConfigSection::boolean(const std::string& key, bool fallback) const {
  bool value = fallback;
  if (const ConfigNode* node = find_value(*node_, key)) {
    const std::string& text = node->scalar;
    value = text == "true" || text == "True" || text == "TRUE";
    const bool is_false = text == "false" || text == "False" || text == "FALSE";
    if (node->kind != Kind::kScalar || !node->plain || !(value || is_false)) expected(*node, "true or false");
  }
  note_value(*node_, key, value ? "true" : "false", {"boolean", fallback ? "true" : "false", ""});
  return value;
}

std::string ConfigSection::text(const std::string& key, const std::string& fallback) const {
  const ConfigNode* node = find_value(*node_, key);
  std::string value = node ? parse_text(*node) : fallback;
  note_value(*node_, key, yaml_text(value), {"text", yaml_text(fallback), ""});
  return value;
}

std::string ConfigSection::required_text(const std::string& key) const {
  if (const ConfigNode* node = find_value(*node_, key)) {
    note_value(*node_, key, yaml_text(parse_text(*node)), {"text", "", ""});
    return node->scalar;
  }
  for (const auto& [written, value] : node_->entries)
    if (written == key)
      throw InputError(concat(value->place, ": ", node_->child_path(key), " must not be empty"));
  for (const auto& [written, value] : node_->entries)
    if (!node_->find_read(written) && nearest_spelling(written, {key}))
      throw InputError(concat(value->place, ": unknown key ", node_->child_path(written), "; did you mean ",
                              node_->child_path(key), ", which is required?"));
  throw InputError(concat(where(key), ": is required and missing"));
}

std::string ConfigSection::choice(const std::string& key, const std::string& fallback,
                                  const std::vector<std::string>& allowed) const {
  const ConfigNode* node = find_value(*node_, key);
  std::string value = node ? parse_text(*node) : fallback;
  const bool known = std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  if (node && !known) {
    const auto nearest = nearest_spelling(value, allowed);
    throw InputError(concat(place_of(*node), ": expected one of ", joined(allowed), ", got ",
                            described(*node), nearest ? "; did you mean " + *nearest + "?" : ""));
  }
  BICRL_CHECK(known, "the default '", value, "' of ", node_->child_path(key), " is not among ",
              joined(allowed));
  note_value(*node_, key, yaml_text(value), {"choice", yaml_text(fallback), joined(allowed)});
  return value;
}

std::vector<std::string> ConfigSection::texts(const std::string& key,
                                              const std::vector<std::string>& fallback) const {
  std::vector<std::string> values = fallback;
  if (const ConfigNode* node = find_value(*node_, key)) {
    if (node->kind != Kind::kList) expected(*node, "a list of texts");
    values.clear();
    for (const Pointer& item : node->items) values.push_back(parse_text(*item));
  }
  note_value(*node_, key, flow_texts(values), {"list of texts", flow_texts(fallback), ""});
  return values;
}

std::vector<int64_t> ConfigSection::integers(const std::string& key, const std::vector<int64_t>& fallback,
                                             int64_t min, int64_t max) const {
  std::vector<int64_t> values = fallback;
  if (const ConfigNode* node = find_value(*node_, key)) {
    if (node->kind != Kind::kList) expected(*node, "a list of integers");
    values.clear();
    for (const Pointer& item : node->items) values.push_back(parse_integer(*item, min, max));
  }
  note_value(*node_, key, flow_integers(values),
             {"list of integers", flow_integers(fallback), integer_range(min, max)});
  return values;
}

std::vector<int64_t> ConfigSection::integers_or(const std::string& key, const std::string& word, int64_t min,
                                                int64_t max) const {
  const ConfigNode* node = find_value(*node_, key);
  if (node && node->kind == Kind::kList && !node->items.empty()) return integers(key, {}, min, max);
  if (node && (node->kind != Kind::kScalar || node->scalar != word))
    expected(*node, concat(word, " or a list of integers"));
  note_value(*node_, key, word, {"list of integers", word, integer_range(min, max)});
  return {};
}

ConfigSection ConfigSection::section(const std::string& key) const {
  if (auto* known = node_->find_read(key))
    if (auto* section = std::get_if<Pointer>(known)) return ConfigSection(*section, findings_);
  Pointer child;
  if (const Pointer* found = node_->find(key)) {
    child = *found;
    if (child->kind != Kind::kMapping && child->kind != Kind::kAbsent) expected(*child, "a section");
  } else {
    child = std::make_shared<ConfigNode>();
    child->path = node_->child_path(key);
    child->place = node_->place;
  }
  node_->note(key, child);
  return ConfigSection(child, findings_);
}

std::vector<ConfigSection> ConfigSection::sections(const std::string& key) const {
  std::vector<Pointer> items;
  if (const ConfigNode* node = find_value(*node_, key)) {
    if (node->kind != Kind::kList) expected(*node, "a list of sections");
    for (const Pointer& item : node->items)
      if (item->kind != Kind::kMapping) expected(*item, "a section");
    items = node->items;
  }
  node_->note(key, items);
  std::vector<ConfigSection> result;
  for (const Pointer& item : items) result.emplace_back(item, findings_);
  return result;
}

bool ConfigSection::has(const std::string& key) const { return find_value(*node_, key) != nullptr; }

std::string ConfigSection::where(const std::string& key) const {
  if (key.empty()) return node_->path.empty() ? node_->place : place_of(*node_);
  const Pointer* found = node_->find(key);
  return concat(found ? (*found)->place : node_->place, ": ", node_->child_path(key));
}

void ConfigSection::refuse_without_effect(const std::string& key, const std::string& when) const {
  refuse_without_effect(key, when, *this);
}

void ConfigSection::refuse_without_effect(const std::string& key, const std::string& when,
                                          const ConfigSection& decider) const {
  if (!has(key)) return;
  const bool asked_for = (*node_->find(key))->overridden;
  if (asked_for || !decider.is_overridden()) reject(key, concat("has no effect ", when));
  drop(key, concat("has no effect ", when));
}

void ConfigSection::prefer_overridden(const std::vector<std::string>& alternatives) const {
  const auto chosen = std::find_if(alternatives.begin(), alternatives.end(), [&](const std::string& key) {
    const ConfigNode* node = find_value(*node_, key);
    const bool says_nothing = node && node->kind == Kind::kScalar && node->scalar.empty();
    return node && node->overridden && !says_nothing;
  });
  if (chosen == alternatives.end()) return;
  for (const std::string& key : alternatives)
    if (has(key) && !(*node_->find(key))->overridden)
      drop(key, concat("gives way to ", node_->child_path(*chosen), " of the command line"));
}

void ConfigSection::drop(const std::string& key, const std::string& reason) const {
  findings_->notes.push_back(concat(where(key), ": ", reason, ", and is left out"));
  std::erase_if(node_->entries, [&](const auto& entry) { return entry.first == key; });
  std::erase_if(node_->reads, [&](const auto& read) { return read.first == key; });
}

bool ConfigSection::is_overridden() const { return node_->overridden; }

void ConfigSection::renamed(const std::string& before, const std::string& now) const {
  node_->renamed.emplace_back(before, now);
}

void ConfigSection::reject_later(const std::string& key, const std::string& reason) const {
  findings_->problems.push_back(concat(where(key), ": ", reason));
}

void ConfigSection::reject(const std::string& key, const std::string& reason) const {
  throw InputError(concat(where(key), ": ", reason));
}

ConfigDocument ConfigDocument::from_file(const std::filesystem::path& path,
                                         const std::vector<std::string>& overrides) {
  return from_text(read_file(path, kMaxConfigBytes), path.string(), overrides);
}

ConfigDocument ConfigDocument::from_text(const std::string& yaml, const std::string& name,
                                         const std::vector<std::string>& overrides) {
  return ConfigDocument(
      ConfigSection(load_config_tree(yaml, name, overrides), std::make_shared<ConfigFindings>()));
}

const std::vector<std::string>& ConfigDocument::notes() const { return root_.findings_->notes; }

std::string ConfigDocument::resolved_yaml() const { return print_config_tree(*root_.node_); }

}  // namespace bicrl
