// Similarity of two programs as texts: without blanks and comments, and by the features that they share. Pure
// functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bicrl::curation {

// The words and marks of a Python program with CUDA sources in it, comments left out.
std::vector<std::string> program_words(const std::string& program);

// Hashes of every five words in a row, sorted; of all words where there are fewer.
std::vector<uint64_t> program_features(const std::vector<std::string>& words);

}  // namespace bicrl::curation
