#include <catch2/catch_test_macros.hpp>

#include "report/reward_falls.h"
#include "report/run_record.h"
#include "tests/report/run_writer.h"
#include "tests/support/support.h"

namespace bicrl::report {
namespace {

void add_step(RunWriter& run, const std::string& phase, int64_t step, double reward, int64_t races,
              double advantage) {
  std::vector<RunWriter::Response> group(4, {.task = "a", .reward = reward});
  for (int64_t i = 0; i < races; ++i) group[static_cast<size_t>(i)].outcome = "race";
  group[3].advantage = advantage;
  run.add_step(phase, step, 9, {group});
}

TEST_CASE("falls of the reward are between neighbouring steps of a phase, the largest first") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  run.add_warm_up(1, 1, 3);
  const double infilling[] = {9, 8, 5, 6}, end_to_end[] = {1, 0.5, 0.75};
  int64_t step = 0;
  for (const double reward : infilling) {
    ++step;
    add_step(run, "infilling", step, reward, step == 3 ? 3 : 1, 0);
  }
  step = 0;
  for (const double reward : end_to_end) add_step(run, "end_to_end", ++step, reward, 0, 0);
  const RunRecord read = read_run(folder.path());
  const std::vector<RewardFall> falls = largest_falls(read.steps, 2);
  REQUIRE(falls.size() == 2);
  CHECK(falls[0].before_row == 2);
  CHECK(falls[0].row == 3);
  CHECK(falls[0].before == 8);
  CHECK(falls[0].after == 5);
  CHECK(falls[0].failures == std::map<std::string, double>{{"race", 2}});
  CHECK(falls[1].row == 2);
  CHECK(falls[1].failures.empty());
  CHECK(largest_falls(read.steps, 9).size() == 3);  // none from 6 to 1, where a phase begins
}

TEST_CASE("largest advantages are the run's and leave out masked responses") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  for (int64_t step = 1; step <= 3; ++step) add_step(run, "end_to_end", step, 1, 0, step == 2 ? 2.5 : 0.5);
  RunRecord read = read_run(folder.path());
  REQUIRE(largest_advantages(read.responses, 2) == std::vector<size_t>{7, 3});
  read.responses.responses[7].is_masked = true;
  CHECK(largest_advantages(read.responses, 2) == std::vector<size_t>{3, 11});
}

}  // namespace
}  // namespace bicrl::report
