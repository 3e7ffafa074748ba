// Which groups of a run a page shows whole: the best, the newest, some with each fault class, and those of
// the tasks whose reward moved most. Pure functions.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "report/response_table.h"

namespace bicrl::report {

struct ChosenGroup {
  int64_t row = 0;
  int64_t group = 0;
  GroupRange range{};                  // in ResponseTable
  std::vector<std::string> reasons{};  // why it is shown
};

// At most `limit`, by step and group. `rows_with_texts`: steps of which texts were kept; groups of other
// steps are taken only where none of these can be had.
std::vector<ChosenGroup> choose_groups(const ResponseTable& table, size_t limit,
                                       const std::set<int64_t>& rows_with_texts);

}  // namespace bicrl::report
