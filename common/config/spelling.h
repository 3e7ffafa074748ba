// Suggests the nearest of several names for a misspelt one, by edit distance. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace bicrl {

// Insertions, deletions, substitutions and swaps of neighbours that lead from one text to the other.
size_t edit_distance(const std::string& a, const std::string& b);

// The nearest candidate, if it is near enough to be a misspelling: within a third of the longer name, or
// if one is a prefix of the other (at least three letters).
std::optional<std::string> nearest_spelling(const std::string& written,
                                            const std::vector<std::string>& candidates);

}  // namespace bicrl
