#include "curation/selection/known_values.h"

#include "common/config/spelling.h"
#include "common/error.h"
#include "common/log.h"

namespace bicrl::curation {

void KnownValues::expect(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) expect(condition.value());
}

void KnownValues::expect(const std::vector<Preference>& orders) {
  for (const Preference& order : orders) expect(order.value());
}

void KnownValues::see(const Record& record) {
  ++records_;
  for (auto& [name, count] : records_with_) count += value_of(record, name).has_value();
  for (const auto& [name, value] : record.figures) own_.insert(name);
  for (const auto& [name, value] : record.labels) own_.insert(name);
}

std::vector<std::string> KnownValues::complaints() const {
  std::vector<std::string> names = value_names();
  names.insert(names.end(), own_.begin(), own_.end());
  std::vector<std::string> found;
  for (const auto& [name, count] : records_with_) {
    if (records_ == 0 || count > 0) continue;
    const auto nearest = nearest_spelling(name, names);
    found.push_back(concat("none of ", records_, " records has the value '", name, "'",
                           nearest && *nearest != name ? "; did you mean " + *nearest + "?" : ""));
  }
  return found;
}

void KnownValues::warn(const char* step) const {
  for (const std::string& complaint : complaints()) log_warning(step, ": ", complaint);
}

}  // namespace bicrl::curation
