#include "curation/selection/condition.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl::curation {
namespace {

constexpr double kMost = 1e300;

std::optional<double> bound(const ConfigSection& section, const char* key) {
  if (!section.has(key)) return std::nullopt;
  return section.real(key, 0, -kMost, kMost);
}

}  // namespace

Condition Condition::from_config(const ConfigSection& section) {
  return on_value(section.required_text("value"), section);
}

Condition Condition::on_value(const std::string& value, const ConfigSection& section) {
  Condition c;
  c.value_ = value;
  c.texts_ = section.texts("one_of");
  if (section.has("equals")) c.texts_.push_back(section.text("equals", ""));
  c.at_least_ = bound(section, "at_least");
  c.above_ = bound(section, "above");
  c.at_most_ = bound(section, "at_most");
  c.below_ = bound(section, "below");
  std::string& words = c.words_;
  const auto say = [&](const char* what, const std::optional<double>& number) {
    if (number) words += concat(words.empty() ? "" : " and ", what, " ", *number);
  };
  for (const std::string& text : c.texts_) words += concat(words.empty() ? "" : " or ", text);
  say("at least", c.at_least_);
  say("above", c.above_);
  say("at most", c.at_most_);
  say("below", c.below_);
  if (words.empty()) {
    // Reads all keys that might stand here, so that a misspelt one is named with the nearest of them.
    section.text("equals", "");
    for (const char* key : {"at_least", "above", "at_most", "below"}) section.real(key, 0);
    section.finish();
    section.reject("value", "say what it must be: equals, one_of, at_least, above, at_most or below");
  }
  return c;
}

std::optional<std::string> Condition::objection(const Record& record) const {
  const std::optional<RecordValue> found = value_of(record, value_);
  if (!found) return concat("has no ", value_);
  bool met = texts_.empty() || std::ranges::find(texts_, to_string(*found)) != texts_.end();
  if (at_least_ || above_ || at_most_ || below_) {
    const double* number = std::get_if<double>(&*found);
    if (!number)
      throw InputError(concat("'", value_, "' of record ", record.id, " is no number: ", to_string(*found)));
    met = met && (!at_least_ || *number >= *at_least_) && (!above_ || *number > *above_) &&
          (!at_most_ || *number <= *at_most_) && (!below_ || *number < *below_);
  }
  if (met) return std::nullopt;
  return concat(value_, " is not ", words_);
}

}  // namespace bicrl::curation
