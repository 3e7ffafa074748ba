// An order of records by one of their values: "highest speedup", "lowest reasoning_tokens". Immutable.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "curation/record.h"

namespace bicrl::curation {

class Preference {
 public:
  // A list of texts "highest VALUE" or "lowest VALUE".
  static std::vector<Preference> from_config(const ConfigSection& section, const std::string& key);

  const std::string& value() const { return value_; }
  // The larger, the better; nothing of a record without the value. Throws InputError if it is a text.
  std::optional<double> score(const Record& record) const;

 private:
  std::string value_;
  bool highest_ = true;
};

}  // namespace bicrl::curation
