#include "reward/best_responses.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"

using namespace bicrl;
using Catch::Matchers::WithinAbs;

namespace {

GroupReward group(const std::string& task, double mean, double reward, int64_t token,
                  Stage stage = Stage::kEndToEnd) {
  return {.task_id = task,
          .stage = stage,
          .mean = mean,
          .best = GroupReward::Best{reward, {.prompt = {1, 2}, .response = {token}}}};
}

GroupReward without_success(const std::string& task, double mean) {
  return {.task_id = task, .stage = Stage::kEndToEnd, .mean = mean};
}

// The share of draws by first token of the response.
std::map<int64_t, double> shares(const BestResponses& best, Stage stage = Stage::kEndToEnd) {
  constexpr int kDraws = 20000;
  std::map<int64_t, double> shares;
  for (uint64_t key = 0; key < kDraws; ++key)
    if (const ResponseTokens* tokens = best.draw(key, stage)) shares[tokens->response.at(0)] += 1.0 / kDraws;
  return shares;
}

}  // namespace

TEST_CASE("responses are drawn as often as they did better than their group") {
  BestResponses best;
  CHECK(best.draw(1, Stage::kEndToEnd) == nullptr);
  best.note(group("a", 1.0, 4.0, 10));
  best.note(group("b", 2.0, 3.0, 20));
  best.note(group("like all others", 2.0, 2.0, 30));
  best.note(group("another stage", 0.0, 9.0, 40, Stage::kInfilling));
  best.note(without_success("nobody solved it", 0.25));
  const auto drawn = shares(best);
  CHECK(drawn.size() == 2);
  CHECK_THAT(drawn.at(10), WithinAbs(0.75, 0.02));
  CHECK_THAT(drawn.at(20), WithinAbs(0.25, 0.02));
  CHECK(best.size(Stage::kEndToEnd) == 2);
  CHECK(shares(best, Stage::kInfilling).at(40) > 0.999);
}

TEST_CASE("a better response takes the place, and a group that does as well ends the imitation") {
  BestResponses best;
  best.note(group("a", 1.0, 2.0, 10));
  best.note(group("a", 1.0, 2.0, 11));  // no better: the first stays
  CHECK(best.draw(5, Stage::kEndToEnd)->response.at(0) == 10);
  best.note(group("a", 1.0, 3.0, 12));
  CHECK(best.draw(5, Stage::kEndToEnd)->response.at(0) == 12);
  best.note(group("a", 2.9, 2.95, 13));  // worse than the best, which is kept with less gain
  best.note(group("b", 1.0, 1.1, 20));
  CHECK_THAT(shares(best).at(12), WithinAbs(0.5, 0.02));
  best.note(without_success("a", 3.5));
  CHECK(best.size(Stage::kEndToEnd) == 1);
  best.note(without_success("a", 0.0));  // forgotten by the policy: again worth imitating
  CHECK_THAT(shares(best).at(12), WithinAbs(3.0 / 3.1, 0.02));
}

TEST_CASE("tasks that were asked longest ago leave first") {
  BestResponses best("rewards", 2);
  best.note(group("a", 0, 1, 10));
  best.note(group("b", 0, 1, 20));
  best.note(group("a", 0, 1, 11));
  best.note(group("c", 0, 1, 30));
  const auto drawn = shares(best);
  CHECK(drawn.size() == 2);
  CHECK(drawn.contains(10));
  CHECK(drawn.contains(30));
}

TEST_CASE("what was no success after all, or cannot be graded, is forgotten") {
  BestResponses best;
  best.note(group("a", 0, 1, 10));
  best.note(group("a", 0, 1, 11, Stage::kInfilling));
  best.note(group("b", 0, 1, 20));
  best.forget("a");
  CHECK(best.size(Stage::kInfilling) == 0);
  CHECK(shares(best).size() == 1);
}

TEST_CASE("rewards of another rule are not compared with") {
  BestResponses best("speed-up"), like("speed-up"), other("binary");
  best.note(group("a", 1, 4.8, 10));
  like.restore(best.state());
  CHECK(like.size(Stage::kEndToEnd) == 1);
  other.note(group("b", 0, 1, 20));
  other.restore(best.state());
  CHECK(other.size(Stage::kEndToEnd) == 0);
}

TEST_CASE("best responses survive their state, and a broken one changes nothing") {
  BestResponses best;
  best.note(group("a", 1.0 / 3, 2.7, 10));
  best.note(group("b", 0.1, 0.30000000000000004, 20, Stage::kInfilling));
  BestResponses again;
  again.restore(nlohmann::json::parse(best.state().dump()));
  CHECK(again.state() == best.state());
  for (uint64_t key = 0; key < 50; ++key)
    CHECK(*again.draw(key, Stage::kEndToEnd) == *best.draw(key, Stage::kEndToEnd));
  for (const char* broken :
       {"{}", R"({"entries": []})", R"({"basis": "", "entries": 3})",
        R"({"basis": "", "entries": [{"task_id": "a"}]})",
        R"({"basis": "", "entries": [{"task_id": "a", "stage": "third", "mean": 0}]})",
        R"({"basis": "", "entries": [{"task_id": "a", "stage": "infilling", "mean": 0}]})",
        R"({"basis": "", "entries": [{"task_id": "a", "stage": "infilling", "mean": 0,
            "best": {"reward": 1, "prompt": "1 2", "response": "3 x"}}]})"}) {
    CHECK_THROWS_AS(again.restore(nlohmann::json::parse(broken)), InputError);
    CHECK(again.state() == best.state());
  }
}

TEST_CASE("the best answer to a repair prompt does not take the plain prompt's place") {
  BestResponses best;
  best.note(group("a", 1.0, 2.0, 10));
  GroupReward repair = group("a", 0.5, 4.0, 20);
  repair.repair = true;
  best.note(repair);
  const auto drawn = shares(best);
  CHECK(drawn.size() == 2);
  CHECK_THAT(drawn.at(10), WithinAbs(1.0 / 4.5, 0.02));  // gains 1 and 3.5
  BestResponses again;
  again.restore(best.state());
  CHECK(again.state() == best.state());
  CHECK(shares(again) == drawn);
  best.forget("a");
  CHECK(best.size(Stage::kEndToEnd) == 0);
}
