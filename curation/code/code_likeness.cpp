#include "curation/code/code_likeness.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace bicrl::curation {

CodePortrait portrait_of(const std::string& id, const nlohmann::json& tree, const nlohmann::json& function) {
  CodePortrait portrait{.id = id, .text = "", .features = {}, .function = "", .numbers = ""};
  if (tree.is_object() && tree.contains("features") && tree["features"].is_array()) {
    portrait.text = tree.value("text", "");
    portrait.numbers = tree.value("numbers", "");
    for (const auto& feature : tree["features"])
      if (feature.is_number_unsigned()) portrait.features.push_back(feature.get<uint64_t>());
    std::sort(portrait.features.begin(), portrait.features.end());
  }
  if (function.is_object() && function.contains("function") && function["function"].is_string())
    portrait.function = function["function"].get<std::string>();
  return portrait;
}

double tree_similarity(const CodePortrait& one, const CodePortrait& other) {
  const auto &a = one.features, &b = other.features;
  size_t both = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      ++both;
      ++i;
      ++j;
    } else {
      ++(a[i] < b[j] ? i : j);
    }
  }
  const size_t all = a.size() + b.size();
  return all == 0 ? 0 : 2.0 * static_cast<double>(both) / static_cast<double>(all);
}

std::string likeness(const CodePortrait& one, const CodePortrait& other, double most_similarity) {
  if (!one.text.empty() && one.text == other.text) return "the same text but for names";
  if (!one.function.empty() && one.function == other.function) return "the same operators";
  if (one.numbers != other.numbers) return "";
  const double similarity = tree_similarity(one, other);
  if (similarity <= most_similarity) return "";
  char words[32];
  snprintf(words, sizeof words, "trees %.2f alike", similarity);
  return words;
}

}  // namespace bicrl::curation
