#include "tasks/synthetic/synthetic_split.h"

#include "common/rng.h"

namespace bicrl {
namespace {

// Shares of pairs. A chain of three operators has two: a sixth of such chains is left for development, a
// quarter for the test.
constexpr double kDevelopmentPairs = 0.10;
constexpr double kTestPairs = 0.15;

SyntheticSplit split_of_pair(std::string_view first, std::string_view second) {
  const double place = uniform_at(mix_key(mix_key(mix_key(0, "pair of operators"), first), second), 0);
  if (place < kDevelopmentPairs) return SyntheticSplit::kDevelopment;
  return place < kDevelopmentPairs + kTestPairs ? SyntheticSplit::kTest : SyntheticSplit::kTrain;
}

}  // namespace

std::string to_string(SyntheticSplit split) {
  constexpr std::string_view kNames[] = {"train", "development", "test"};
  return std::string(kNames[static_cast<size_t>(split)]);
}

std::optional<SyntheticSplit> split_of(const std::vector<std::string>& composition) {
  bool development = false, test = false;
  for (size_t i = 0; i + 1 < composition.size(); ++i) {
    const SyntheticSplit pair = split_of_pair(composition[i], composition[i + 1]);
    development = development || pair == SyntheticSplit::kDevelopment;
    test = test || pair == SyntheticSplit::kTest;
  }
  if (development && test) return std::nullopt;
  if (development) return SyntheticSplit::kDevelopment;
  return test ? SyntheticSplit::kTest : SyntheticSplit::kTrain;
}

}  // namespace bicrl
