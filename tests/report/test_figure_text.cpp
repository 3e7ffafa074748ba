#include <catch2/catch_test_macros.hpp>
#include <map>
#include <regex>
#include <sstream>

#include "common/files/files.h"
#include "report/page/figure_text.h"
#include "tests/support/support.h"

namespace bicrl::report {
namespace {

// Keys of the tables below "## metrics.jsonl".
std::vector<std::string> documented_keys() {
  const std::string page = read_file(bicrl::testing::source_path("docs/metrics.md"));
  const size_t begin = page.find("## metrics.jsonl");
  std::istringstream lines(page.substr(begin, page.find("\n## ", begin) - begin));
  std::vector<std::string> keys;
  const std::regex name("`([a-z_0-9]+)`");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    for (std::sregex_iterator at(cell.begin(), cell.end(), name); at != std::sregex_iterator(); ++at)
      keys.push_back((*at)[1]);
  }
  return keys;
}

TEST_CASE("keys of metrics.jsonl have the units that their documentation names") {
  const std::map<Unit, std::vector<std::string>> units = {
      {Unit::kShare,
       {"reduced_size_rate", "undecided_rate", "novel_rate", "compile_rate", "correct_rate", "fast_1",
        "truncated_rate", "masked_rate", "invalid_task_rate", "infrastructure_rate", "clip_share",
        "train_mfu"}},
      {Unit::kSeconds,
       {"train_seconds", "step_seconds", "checkpoint_stall_seconds", "checkpoint_write_seconds",
        "rollout_seconds", "verify_wait_seconds", "rank_seconds"}},
      {Unit::kPerSecond,
       {"rank_trained_tokens_per_second", "rows_per_second", "tokens_per_second",
        "rank_generated_tokens_per_second"}},
      {Unit::kBytes, {"memory_peak_bytes"}},
      {Unit::kFactor, {"geomean_speedup"}},
      {Unit::kCount, {"trained_tokens", "generated_tokens", "responses"}}};
  std::map<std::string, Unit> of_key;
  for (const auto& [unit, keys] : units)
    for (const std::string& key : keys) of_key[key] = unit;
  const std::vector<std::string> keys = documented_keys();
  REQUIRE(keys.size() > 50);
  size_t with_unit = 0;
  for (const std::string& key : keys) {
    CAPTURE(key);
    const auto found = of_key.find(key);
    with_unit += found != of_key.end();
    CHECK(unit_of(key) == (found == of_key.end() ? Unit::kNumber : found->second));
  }
  CHECK(with_unit == of_key.size());
}

}  // namespace
}  // namespace bicrl::report
