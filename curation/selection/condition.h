// A condition on one value of a record (record.h: value_of), as filters and selections take it. Immutable.
//   value, and one or two of: equals, one_of, at_least, above, at_most, below
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "curation/record.h"

namespace bicrl::curation {

class Condition {
 public:
  static Condition from_config(const ConfigSection& section);
  // The bounds alone, on that value.
  static Condition on_value(const std::string& value, const ConfigSection& section);

  const std::string& value() const { return value_; }
  // Nothing if the record meets it; else why not, in words without the record's own value, so that they can
  // be counted: "speedup is not at least 2", "has no speedup".
  std::optional<std::string> objection(const Record& record) const;

 private:
  std::string value_;
  std::vector<std::string> texts_;  // one of these; empty: any
  std::optional<double> at_least_, above_, at_most_, below_;
  std::string words_;  // of what is wanted: "at least 2"
};

}  // namespace bicrl::curation
