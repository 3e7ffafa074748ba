// Line diff of texts, for programs that are shown beside each other: the lines of one that are not in
// another. Pure functions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bicrl::report {

std::vector<std::string> lines_of(std::string_view text);

// For each line of `lines`, whether it differs: it is not part of a longest common subsequence with `other`.
// Texts of more than 2,000 lines are compared line by line in place.
std::vector<bool> differing_lines(const std::vector<std::string>& lines,
                                  const std::vector<std::string>& other);

// Lines that all texts begin with, and those that all end with: what a group's responses share.
struct SharedLines {
  size_t head = 0, tail = 0;
};
SharedLines shared_lines(const std::vector<std::vector<std::string>>& texts);

}  // namespace bicrl::report
