// A byte budget for the texts of a page: where programs, prompts and diagnostics are too long together, the
// longest of them are cut. Pure functions.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace bicrl::report {

// The largest limit at which texts of these sizes have `budget` bytes or fewer together, if each is cut at
// the limit. No text is longer than the limit where all of them fit.
size_t common_limit(std::vector<size_t> sizes, size_t budget);

// The text, or its beginning with a note of what is left out. As markup, the beginning has `most_bytes` or
// fewer.
std::string cut_text(const std::string& text, size_t most_bytes);

}  // namespace bicrl::report
