// A program as numbered lines: what the policy wrote beside what was given, what differs from another
// program, the line of a fault. Pure functions.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "report/page/html.h"

namespace bicrl::report {

struct ProgramLines {
  std::vector<std::string> lines{};
  // For each line; empty: nothing is known of any.
  std::vector<bool> is_generated{};  // not of the scaffold
  std::vector<bool> differs{};       // from the group's best
  int64_t fault_line = 0;            // 1-based; 0: none
};

// Lines that are equal in both programs are left out where there are many in a row, if `is_shortened`. The
// lines have `most_bytes` of markup or fewer; a note counts those that are left out behind them.
Html program_listing(const ProgramLines& program, const std::string& label, bool is_shortened,
                     size_t most_bytes = std::numeric_limits<size_t>::max());

}  // namespace bicrl::report
