// Finds values that a step's conditions name and no record has, since such a name is probably misspelt. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "curation/record.h"
#include "curation/selection/condition.h"
#include "curation/selection/preference.h"

namespace bicrl::curation {

class KnownValues {
 public:
  void expect(const std::string& name) { records_with_.try_emplace(name, 0); }
  void expect(const std::vector<Condition>& conditions);
  void expect(const std::vector<Preference>& orders);
  void see(const Record& record);
  // A sentence for each value that no record had; none without records.
  std::vector<std::string> complaints() const;
  void warn(const char* step) const;  // logs them

 private:
  int64_t records_ = 0;
  std::map<std::string, int64_t> records_with_;  // by the value's name
  std::set<std::string> own_;                    // figures and labels of the records
};

}  // namespace bicrl::curation
