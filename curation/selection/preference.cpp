#include "curation/selection/preference.h"

#include "common/error.h"

namespace bicrl::curation {

std::vector<Preference> Preference::from_config(const ConfigSection& section, const std::string& key) {
  std::vector<Preference> preferences;
  for (const std::string& text : section.texts(key)) {
    const size_t blank = text.find(' ');
    const std::string direction = text.substr(0, blank);
    if (blank == text.npos || blank + 1 == text.size() || (direction != "highest" && direction != "lowest"))
      section.reject(key, concat("'", text, "' is no order: write 'highest VALUE' or 'lowest VALUE'"));
    Preference preference;
    preference.value_ = text.substr(blank + 1);
    preference.highest_ = direction == "highest";
    preferences.push_back(std::move(preference));
  }
  return preferences;
}

std::optional<double> Preference::score(const Record& record) const {
  const std::optional<RecordValue> found = value_of(record, value_);
  if (!found) return std::nullopt;
  double number = 0;
  if (const bool* truth = std::get_if<bool>(&*found))
    number = *truth ? 1 : 0;
  else if (const double* real = std::get_if<double>(&*found))
    number = *real;
  else
    throw InputError(concat("'", value_, "' of record ", record.id, " is no number: ", to_string(*found)));
  return highest_ ? number : -number;
}

}  // namespace bicrl::curation
