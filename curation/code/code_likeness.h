// Similarity of two tasks' codes: as text without names, as trees, and by the functions that they compute.
// Plain values and pure functions.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace bicrl::curation {

struct CodePortrait {
  std::string id;
  std::string text;                // hash of the normalised text; empty if the code cannot be parsed
  std::vector<uint64_t> features;  // of the syntax tree, sorted
  std::string function;            // fingerprint of the operators; empty if they cannot be followed
  std::string numbers;             // hash of all numbers in the code, in order; empty if shapes do not matter
};

// From a box's answers to {"kind": "tree"} and {"kind": "function"}; parts that they lack stay empty.
CodePortrait portrait_of(const std::string& id, const nlohmann::json& tree, const nlohmann::json& function);

// Twice the features that both trees have, as a share of all that they have: 1 for equal trees.
double tree_similarity(const CodePortrait& one, const CodePortrait& other);

// Why they count as one task: "the same text", "the same operators", "trees 0.95 alike". Empty: they do not.
// Trees count only where the numbers are equal: a size is a small part of a tree.
std::string likeness(const CodePortrait& one, const CodePortrait& other, double most_similarity);

}  // namespace bicrl::curation
