// The table of an update's figures: from the values of chunks and ranks to a step line and an entry.
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "trainer/update/update_figures.h"

using namespace bicrl;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<UpdateFigure> objective_figures() {
  return {{.key = "mean", .text = " | mean {}"},
          {.key = "share", .unit = UpdateUnit::kShare, .digits = 0, .text = " | share {}"},
          {.key = "worst", .sum = UpdateSum::kLargest, .shown = UpdateShown::kIfAny, .text = " | worst {}"},
          {.key = "tokens", .sum = UpdateSum::kTotal, .unit = UpdateUnit::kCount}};
}

// Of a rank with one update from responses and one that imitated.
UpdateTotals totals_of(double tokens, double mean_sum, double share_sum, double worst) {
  UpdateTotals totals(objective_figures());
  totals[UpdateRow::kUpdates] = 2;
  totals[UpdateRow::kLossUpdates] = totals[UpdateRow::kImitationUpdates] = 1;
  totals[UpdateRow::kTrainedTokens] = tokens;
  totals[UpdateRow::kGradNorm] = 0.5;
  totals.add(static_cast<size_t>(UpdateRow::kLoss), 0.25);
  totals.add(static_cast<size_t>(UpdateRow::kImitationLoss), 1.5);
  for (const double part : {0.25, 0.75}) totals.add(kUpdateRows, part * mean_sum);
  totals.add(kUpdateRows + 1, share_sum);
  for (const double value : {worst / 2, worst}) totals.add(kUpdateRows + 2, value);
  totals.add(kUpdateRows + 3, tokens);
  return totals;
}

UpdateStatistics over(const std::vector<UpdateTotals>& ranks) {
  std::vector<std::vector<double>> values;
  for (const UpdateTotals& totals : ranks) values.push_back(totals.values());
  return {objective_figures(), values};
}

}  // namespace

TEST_CASE("figures of ranks are added up, divided by what they are over, or the largest") {
  const UpdateStatistics s = over({totals_of(30, 6, 3, 0.5), totals_of(10, 2, 1, 0.75)});
  CHECK(s["mean"] == 8.0 / 40);
  CHECK(s["share"] == 4.0 / 40);
  CHECK(s["worst"] == 0.75);
  CHECK(s["tokens"] == 40);
  CHECK(s[UpdateRow::kTrainedTokens] == 40);
  CHECK(s[UpdateRow::kUpdates] == 2);          // of each rank the same
  CHECK(s[UpdateRow::kGradNorm] == 0.5);       // likewise
  CHECK(s[UpdateRow::kLoss] == 0.5);           // both ranks' parts of one update
  CHECK(s[UpdateRow::kImitationLoss] == 3.0);  // likewise
  CHECK_THROWS_AS(s["median"], Error);
  CHECK_THROWS_AS(s[""], Error);  // the rows without a key are for the program
}

TEST_CASE("a step line shows an update's figures in their order, and none without an update") {
  const UpdateStatistics s = over({totals_of(10, 2, 1, 0)});
  CHECK(s.text(true) ==
        " | mean 0.2000 | share 10 % | gap 0.000000 | imitation loss 1.500 grad 0.00 | grad 0.50");
  CHECK(s.text(false) == " | loss 0.250 | imitation loss 1.500 grad 0.00 | grad 0.50");
  CHECK(over({totals_of(10, 2, 1, 0.5)}).text(true).find(" | worst 0.5000 | gap") != std::string::npos);
  CHECK(UpdateStatistics().text(true).empty());
  CHECK(UpdateStatistics().text(false) == " | loss 0.000 | grad 0.00");
}

TEST_CASE("entries of warm-ups have fewer figures, and those of idle stages all but the scale of an update") {
  const auto keys = [](const nlohmann::json& json) {
    std::vector<std::string> keys;
    for (const auto& item : json.items()) keys.push_back(item.key());
    return keys;
  };
  const UpdateStatistics s = over({totals_of(10, 2, 1, 0.5)});
  CHECK(keys(s.to_json(false)) == std::vector<std::string>{"grad_norm", "learning_rate", "loss",
                                                           "skipped_updates", "trained_tokens", "updates"});
  const nlohmann::json entry = s.to_json(true);
  CHECK(entry.at("tokens").is_number_integer());
  CHECK(entry.at("updates").is_number_integer());
  CHECK(entry.at("share") == 0.1);
  const nlohmann::json idle = UpdateStatistics(objective_figures(), {}).to_json(true);
  std::vector<std::string> updated = keys(entry);
  CHECK(std::erase(updated, "step_scale") == 1);
  CHECK(keys(idle) == updated);
  CHECK(idle.at("mean") == 0);
}

TEST_CASE("a figure that is no number reaches the update's check and no other figure") {
  UpdateTotals totals = totals_of(10, 2, 1, 0.5);
  totals.add(static_cast<size_t>(UpdateRow::kLoss), kNaN);
  totals.add(kUpdateRows + 2, kNaN);
  const UpdateStatistics s = over({totals, totals_of(10, 2, 1, 0.25)});
  CHECK(std::isnan(s[UpdateRow::kLoss]));
  CHECK(s["worst"] == 0.5);
  CHECK(s["mean"] == 0.2);
}

TEST_CASE("ranks with other rows of figures are a fault of the program") {
  const UpdateTotals with = totals_of(1, 1, 1, 1), without;
  CHECK_THROWS_AS(over({with, without}), Error);
  CHECK_THROWS_AS(UpdateTotals().add(kUpdateRows, 1), std::out_of_range);
}
