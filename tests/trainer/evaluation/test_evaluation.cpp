#include "trainer/evaluation/evaluation.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tasks/synthetic/synthesiser.h"
#include "tests/support/support.h"
#include "trainer/evaluation/evaluated_response.h"
#include "trainer/run/reports/program_pair.h"

using namespace bicrl;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

Episode correct_episode(const Task& task) {
  Episode episode;
  episode.task = &task;
  episode.task_id = task.id;
  episode.key.sample = 2;
  Turn& turn = episode.last();
  turn.program = "a program\nof two lines \xC3\xA9";
  turn.rollout.step_map = {1, 1, 2, -2, -2};
  turn.rollout.finish = FinishReason::kEndToken;
  Verdict& verdict = turn.verdict.emplace();
  verdict.outcome = Outcome::kGraded;
  verdict.compiled = verdict.correct = true;
  verdict.clock = kModelClock;
  verdict.candidate_ms = 0.25;
  verdict.eager_ms = 0.5;
  verdict.graded_at = verdict.costed_at = kReducedSize;
  verdict.compile_ms = 123.4;
  verdict.counters = R"({"bound_by": "memory", "launches": 1, "listed": []})";
  return episode;
}

EvaluatedResponse answer(const std::string& task, double speedup, const std::string& program = "p") {
  EvaluatedResponse r;
  r.task_id = task;
  r.verdict = speedup > 0 ? "correct" : "wrong_value";
  r.compiled = true;
  r.correct = speedup > 0;
  r.clock = speedup > 0 ? kModelClock : "";
  r.speedup = speedup;
  r.candidate_ms = speedup > 0 ? 0.01 / speedup : 0;
  r.eager_ms = speedup > 0 ? 0.01 : 0;
  r.bound_by = speedup > 0 ? "launch" : "";
  r.program = program;
  return r;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    all.push_back(text.substr(at, text.find('\n', at) - at));
  return all;
}

}  // namespace

TEST_CASE("a response of an evaluation is kept without what differs between equal runs") {
  Task task{};
  task.id = "t1";
  const Episode episode = correct_episode(task);
  const EvaluatedResponse found = evaluated_response(episode);
  CHECK(found.task_id == "t1");
  CHECK(found.sample == 2);
  CHECK(found.verdict == "correct");
  CHECK(found.tokens == 3);  // those after the end are no part of the answer
  CHECK(found.speedup == 2);
  CHECK(found.bound_by == "memory");
  CHECK(found.graded_at == kReducedSize);
  CHECK(found.costed_at == kReducedSize);
  Episode later = episode;
  later.last().verdict->compile_ms = later.last().verdict->total_ms = 9;
  CHECK(to_json(evaluated_response(later)).dump() == to_json(found).dump());

  Episode incorrect = episode;
  incorrect.last().verdict->correct = false;
  incorrect.last().verdict->fault_class = "wrong_value";
  const EvaluatedResponse fault = evaluated_response(incorrect);
  CHECK(fault.verdict == "wrong_value");
  CHECK(fault.speedup == 0);
  CHECK_FALSE(to_json(fault).contains("speedup"));
  CHECK(to_json(fault)["graded_at"] == "reduced");
  CHECK_FALSE(to_json(fault).contains("costed_at"));
  Episode lost = episode;
  lost.last().verdict = Verdict{};
  CHECK(evaluated_response(lost).verdict == "infrastructure");
  Episode undecided = incorrect;
  undecided.last().verdict->outcome = Outcome::kUndecided;
  undecided.last().verdict->fault_class = "specialised";
  CHECK(evaluated_response(undecided).verdict == "undecided");
  Episode malformed = episode;
  malformed.last().verdict->counters = "no JSON";
  CHECK(evaluated_response(malformed).bound_by.empty());

  const bicrl::testing::TemporaryFolder folder;
  const auto file = folder.path() / "warm_up.jsonl";
  write_file_atomically(file, to_json(found).dump() + "\n" + to_json(fault).dump() + "\n");
  // Torch offers to print any vector, which Catch would take up.
  CHECK((read_evaluated_responses(file) == std::vector<EvaluatedResponse>{found, fault}));
  write_file_atomically(file, to_json(found).dump() + "\n{\"task_id\": 1}\n");
  CHECK_THROWS_WITH(read_evaluated_responses(file), ContainsSubstring("warm_up.jsonl:2: "));
  CHECK_THROWS_AS(read_evaluated_responses(folder.path() / "none.jsonl"), InputError);
}

TEST_CASE(
    "an evaluation keeps the technique of a correct program of a synthesised task, and whether it is novel") {
  SynthesisOptions options;
  options.train_compositions = 40;
  options.development_compositions = 0;
  size_t shown = 0, novel = 0;
  for (Task task : synthesise(options).train) {
    Episode episode = correct_episode(task);
    for (const std::string& program :
         {task.cuda_code, task.alternatives.empty() ? task.cuda_code : task.alternatives.back().cuda_code}) {
      episode.last().program = program;
      const EvaluatedResponse found = evaluated_response(episode);
      CHECK(found.composition == task.composition);
      CHECK_FALSE(found.technique.empty());
      CHECK_FALSE(found.novel);
      CHECK(evaluated_response_from_json(to_json(found)) == found);
      ++shown;
    }
    // What is fused for other operators, and not for these.
    const size_t at = task.cuda_code.find("constexpr int W = 1;");
    if (task.level != 2 || at == task.cuda_code.npos) continue;
    episode.last().program = task.cuda_code;
    episode.last().program.replace(at, 20, "constexpr int W = 2;");
    const EvaluatedResponse other = evaluated_response(episode);
    novel += other.novel;
    CHECK(evaluated_response_from_json(to_json(other)) == other);
    episode.last().verdict->correct = false;
    CHECK(evaluated_response(episode).technique.empty());
    episode.last().verdict->correct = true;
    episode.last().program = "something else";
    CHECK(evaluated_response(episode).technique.empty());
    task.composition = {"relu", "no operator of ours"};
    episode.last().program = task.cuda_code;
    CHECK(evaluated_response(episode).technique.empty());
  }
  CHECK(shown == 80);
  CHECK(novel > 0);
  EvaluationResult result;
  result.phase = "end_to_end";
  result.tasks = 8;
  result.correct_rate = 0.5;
  result.novel_rate = 0.25;
  CHECK_THAT(evaluation_table({result}), ContainsSubstring("     novel") && ContainsSubstring("25.0 %"));
  CHECK(evaluation_from_json(to_json(result)).novel_rate == 0.25);
  result.novel_rate = 0;
  CHECK_FALSE(lines(evaluation_table({result})).front().ends_with("novel"));
}

TEST_CASE("the best of several samples counts by task") {
  TaskScores scores;
  scores.tasks.resize(4);
  scores.tasks[0] = {.verified = 8,
                     .compiled = 8,
                     .correct = 3,
                     .fault_classes = {},
                     .timed = 3,
                     .fast_1 = 2,
                     .fast_2 = 1,
                     .log_speedup = std::log(0.5 * 1.5 * 4),
                     .best_log_speedup = std::log(4.0)};
  scores.tasks[1] = {.verified = 8,
                     .compiled = 8,
                     .correct = 1,
                     .fault_classes = {},
                     .timed = 1,
                     .log_speedup = std::log(0.25),
                     .best_log_speedup = std::log(0.25)};
  scores.tasks[2] = {.verified = 8, .compiled = 2, .fault_classes = {}};
  scores.tasks[3].unverified = 8;  // nothing is known
  const BestOf best = best_of(scores, 8, 1.5);
  CHECK(best.tasks == 3);
  CHECK(best.correct_rate == Approx(2.0 / 3));
  CHECK(best.timed == 2);
  CHECK(best.geomean_speedup == Approx(1));
  CHECK(best.fast_1 == Approx(1.0 / 3));
  CHECK(best.fast_2 == Approx(1.0 / 3));
  CHECK(best_of(TaskScores{}, 8, 0).tasks == 0);

  EvaluationResult result;
  result.phase = "end_to_end";
  result.tasks = 3;
  result.timed = 1;
  result.geomean_speedup = 1.25;
  CHECK_FALSE(evaluation_from_json(to_json(result)).best_of);
  CHECK_THAT(evaluation_table({result}), !ContainsSubstring("best of"));
  result.best_of = best;
  const EvaluationResult again = evaluation_from_json(to_json(result));
  REQUIRE(again.best_of);
  CHECK(to_json(again) == to_json(result));
  const std::string table = evaluation_table({result}, kModelClock);
  INFO(table);
  CHECK_THAT(table, ContainsSubstring("best of 8 samples"));
  CHECK_THAT(table, ContainsSubstring("66.7 %             1.00x   33.3 %   33.3 %"));
  CHECK_THAT(table, ContainsSubstring("are modelled"));
  CHECK_THAT(evaluation_table({result}, "measured"), !ContainsSubstring("modelled"));
}

TEST_CASE("the program that gained most is printed if both are correct") {
  using Answers = std::vector<EvaluatedResponse>;
  const Answers before = {answer("a", 0), answer("b", 1), answer("c", 0.5), answer("d", 2), answer("e", 1)};
  const Answers after = {answer("e", 3), answer("d", 2.5), answer("c", 0), answer("b", 3), answer("a", 9)};
  const auto pair = choose_program_pair(before, after);
  REQUIRE(pair);
  CHECK(pair->before.task_id == "b");  // as e, and earlier
  CHECK(pair->after.speedup == 3);
  CHECK_FALSE(choose_program_pair(after, before));  // nothing became faster
  CHECK_FALSE(choose_program_pair({}, after));
  Answers samples = after;
  for (EvaluatedResponse& r : samples) r.sample = 1;  // of several: only first ones are compared
  CHECK_FALSE(choose_program_pair(before, samples));
  CHECK_THAT(program_pair_text(std::nullopt, "after warm_up", "after end_to_end"),
             ContainsSubstring("no held-out task was right both after warm_up and after end_to_end"));
}

TEST_CASE("two programs stand side by side, whatever is in them") {
  const std::string hostile = "\x1b[2Jred\n\ttab\n" + std::string(200, 'x') + "\r\n\xC3\xA9";
  const ProgramPair pair{.before = answer("b", 1, hostile), .after = answer("b", 2, "short\n\n\n\n\nlonger")};
  const std::string text = program_pair_text(pair, "after warm_up", "after end_to_end");
  INFO(text);
  const auto rows = lines(text);
  CHECK(
      rows[0] ==
      "the held-out task whose program gained most, b: 2.00 times as fast after end_to_end as after warm_up");
  CHECK_THAT(rows[1], ContainsSubstring("after warm_up  ") && ContainsSubstring("| after end_to_end"));
  CHECK_THAT(rows[2], ContainsSubstring("modelled 10.00 us, bound by launch, 1.00x eager PyTorch"));
  CHECK_THAT(rows[2], ContainsSubstring("| modelled 5.00 us, bound by launch, 2.00x eager PyTorch"));
  REQUIRE(rows.size() == 4 + 6);
  CHECK(rows[4] == "?[2Jred" + std::string(76 - 7, ' ') + " | short");
  CHECK(rows[5].starts_with("    tab "));
  CHECK(rows[6] == std::string(75, 'x') + "> |");
  CHECK(rows[9] == std::string(76, ' ') + " | longer");
  for (const std::string& row : rows) CHECK(row.size() <= 76 + 3 + 76);
  std::string endless;
  for (int i = 0; i < 1000; ++i) endless += "line\n";
  CHECK_THAT(program_pair_text(ProgramPair{answer("b", 1, endless), answer("b", 2)}, "x", "y"),
             ContainsSubstring("(and 880 more lines)"));
}

TEST_CASE("what was not timed has a dash in the table, not a speed-up of zero") {
  EvaluationResult timed, untimed;
  timed.phase = "end_to_end";
  timed.tasks = timed.timed = 4;
  timed.geomean_speedup = 1.25;
  untimed.phase = "end_to_end_2";
  untimed.tasks = 4;
  untimed.correct_rate = 0.5;
  const auto rows = lines(evaluation_table({timed, untimed}));
  INFO(evaluation_table({timed, untimed}));
  CHECK_THAT(rows[1], ContainsSubstring("1.25x    0.0 %"));
  CHECK_THAT(rows[2], ContainsSubstring("-       -        -") && !ContainsSubstring("0.00x"));
  CHECK(rows[1].size() == rows[2].size());
}

TEST_CASE("infilling has rows of its own, and both forms survive a checkpoint") {
  EvaluationResult result;
  result.phase = "infilling";
  result.tasks = 8;
  result.correct_rate = 0.25;
  result.rewarded = 8;
  result.reward_mean = 1.5;
  result.reward_basis = "basis";
  HeldOutFigures& infilling = result.infilling.emplace();
  infilling.tasks = 6;
  infilling.correct_rate = 0.5;
  const EvaluationResult again = evaluation_from_json(to_json(result));
  CHECK(to_json(again) == to_json(result));
  REQUIRE(again.infilling);
  CHECK(again.infilling->tasks == 6);
  CHECK(again.reward_mean == 1.5);
  const auto rows = lines(evaluation_table({result}));
  REQUIRE(rows.size() == 4);
  CHECK_THAT(rows[2], ContainsSubstring("as infilling"));
  CHECK_THAT(rows[3], ContainsSubstring("after infilling") && ContainsSubstring("50.0 %"));
}

TEST_CASE("figures of held-out tasks add up over tasks") {
  TaskScores scores;
  scores.tasks.resize(2);
  scores.tasks[0] = {.verified = 1,
                     .correct = 1,
                     .fault_classes = {},
                     .timed = 1,
                     .fast_1 = 1,
                     .log_speedup = std::log(4.0),
                     .log_speedup_squares = std::log(4.0) * std::log(4.0),
                     .rewarded = 1,
                     .reward = 3,
                     .reward_squares = 9};
  scores.tasks[1] = {.verified = 1,
                     .correct = 1,
                     .fault_classes = {},
                     .timed = 1,
                     .fast_1 = 0,
                     .log_speedup = 0,
                     .rewarded = 1,
                     .reward = 1,
                     .reward_squares = 1};
  const HeldOutFigures f = held_out_figures(scores, 2.5);
  CHECK(f.tasks == 2);
  CHECK(f.correct_rate == 1);
  CHECK(f.geomean_speedup == Approx(2));
  CHECK(f.log_speedup_spread == Approx(std::log(2.0)));
  CHECK(f.reward_mean == Approx(2));
  CHECK(f.reward_spread == Approx(1));
  CHECK(f.seconds == 2.5);
}
