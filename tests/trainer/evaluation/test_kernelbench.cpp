// KernelBench's problems, programs, results and figures; whether its own script would come to the same.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/support.h"
#include "trainer/evaluation/eval_report.h"
#include "trainer/evaluation/eval_settings.h"
#include "trainer/evaluation/kernelbench_programs.h"
#include "trainer/evaluation/kernelbench_results.h"
#include "trainer/evaluation/task_scores.h"

namespace bicrl {
namespace {

using Catch::Approx;
using nlohmann::json;
using nlohmann::ordered_json;

ordered_json stats(double mean_ms) {
  return {{"mean", mean_ms},   {"std", 0.1},          {"min", mean_ms},    {"max", mean_ms},
          {"num_trials", 100}, {"hardware", "a GPU"}, {"device", "cuda:0"}};
}

KernelBenchSample sample(int64_t number, bool correct, double runtime_ms = -1) {
  KernelBenchSample s;
  s.number = number;
  s.compiled = correct;
  s.correct = correct;
  s.runtime_ms = runtime_ms;
  return s;
}

KernelBenchEntry entry(int64_t number, std::vector<KernelBenchSample> samples, double baseline_ms = 0) {
  KernelBenchEntry e;
  e.problem = {number, concat(number, "_Problem")};
  e.samples = std::move(samples);
  if (baseline_ms > 0) e.baseline = stats(baseline_ms);
  return e;
}

// Whether the script makes the same figures of our files.
void check_against_script(const KernelBenchResults& results) {
  const testing::TemporaryFolder folder;
  const auto write = [&](const char* name, const auto& value) {
    write_file_atomically(folder.path() / name, value.dump());
    return (folder.path() / name).string();
  };
  const KernelBenchSummary summary = summarise(results);
  ordered_json figures = to_json(summary)["first_sample"];
  const json fast = figures["fast_p"];
  figures["fast_p"] = ordered_json::object();
  for (const char* p : {"0", "0.5", "0.8", "1", "1.5", "2", "4"})
    figures["fast_p"][p] = fast[p].is_null() ? json(0.0) : fast[p];
  figures["problems"] = ordered_json::array();
  for (const KernelBenchEntry& e : results.entries) figures["problems"].push_back(e.problem.number);
  testing::run_python(
      testing::source_path("tests/trainer/evaluation/kernelbench_analysis.py"),
      {write("eval_results.json", eval_results_json(results)), write("baseline.json", baseline_json(results)),
       std::to_string(results.level), write("figures.json", figures)});
}

TEST_CASE(
    "figures by hand: first samples, the best of several, thresholds that are not reached by equality") {
  KernelBenchResults results{.level = 1, .entries = {}};
  results.entries = {entry(1, {sample(0, true, 1.0), sample(1, true, 0.2)}, 1.0),  // 1x, 5x
                     entry(2, {sample(0, false), sample(1, true, 1.0)}, 1.6),      // wrong, 1.6x
                     entry(3, {sample(0, true, 0.5)}, 1.5),                        // 3x
                     entry(10, {})};
  const KernelBenchSummary s = summarise(results);
  CHECK(s.problems == 4);
  CHECK(s.programs == 5);
  CHECK(s.missing == 1);
  CHECK(s.most_samples == 2);
  CHECK(s.correct == 0.5);
  CHECK(s.best_correct == 0.75);
  CHECK(s.fast == std::vector<double>{0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0});  // exactly 1x is not above 1
  CHECK(s.best_fast == std::vector<double>{0.75, 0.75, 0.75, 0.75, 0.75, 0.5, 0.25});
  CHECK(s.speedup == Approx(std::sqrt(3.0)));
  CHECK(s.best_speedup == Approx(std::cbrt(5 * 1.6 * 3)));
  check_against_script(results);
  const std::string table = summary_table(s);
  CHECK(table.find("best of 2") != std::string::npos);
  CHECK(table.find("compiled        50.0 %\ncorrect         50.0 %       75.0 %\n") != std::string::npos);
  CHECK(table.find("fast_0.8        50.0 %       75.0 %") != std::string::npos);
  CHECK(table.find("1 problems have no program") != std::string::npos);

  const std::vector<TaskScore> scores = scores_of(results);
  CHECK(scores[1].verified == 2);
  CHECK(scores[1].correct == 1);
  CHECK(scores[3].verified == 2);  // as many as others have, all wrong
  CHECK(scores[3].fault_classes.at("missing") == 2);
}

TEST_CASE("the script computes our figures from our files, whatever was graded") {
  RandomStream draws(7);
  for (int round = 0; round < 6; ++round) {
    KernelBenchResults results{.level = 1 + round % 3, .entries = {}};
    for (int64_t number = 1; number <= 120; ++number) {
      if (draws.below(10) == 0) continue;
      std::vector<KernelBenchSample> samples;
      for (int64_t i = 0; i < static_cast<int64_t>(draws.below(4)); ++i) {
        const bool correct = draws.below(3) > 0;
        samples.push_back(sample(i + (round == 4), correct, correct ? 0.01 * (1 + draws.below(400)) : -1));
        if (draws.below(20) == 0) samples.back() = ungraded_sample("the box failed", samples.back().number);
      }
      // Those without times, too.
      results.entries.push_back(entry(number, samples, round == 5 ? 0 : 0.01 * (1 + draws.below(400))));
    }
    check_against_script(results);
  }
}

TEST_CASE("without times fast_p is not printed") {
  KernelBenchResults results{.level = 1,
                             .entries = {entry(1, {sample(0, true)}), entry(2, {sample(0, false)})}};
  const KernelBenchSummary s = summarise(results);
  CHECK_FALSE(s.timed);
  CHECK(summary_table(s).find("fast_1") == std::string::npos);
  CHECK(to_json(s)["first_sample"]["fast_p"]["1"].is_null());
  CHECK(baseline_json(results)["level1"]["1_Problem.py"]["num_trials"] == 0);
  check_against_script(results);
}

Verdict verdict(bool correct, double candidate_ms = 0, double eager_ms = 0) {
  Verdict v;
  v.outcome = correct ? Outcome::kGraded : Outcome::kCandidateFault;
  v.fault_class = correct ? "" : "wrong_value";
  v.compiled = true;
  v.correct = correct;
  v.trials = 3;
  v.trials_passed = correct ? 3 : 1;
  v.candidate_ms = candidate_ms;
  v.eager_ms = eager_ms;
  v.clock = candidate_ms > 0 ? kModelClock : "";
  v.device = "l4";
  v.backend = "ptx";
  return v;
}

TEST_CASE("verdicts of our verifier become samples, and a pair's ratio is its speed-up") {
  KernelBenchResults results{
      .level = 1,
      .entries = {entry(1, {sample_of(verdict(false), 0), sample_of(verdict(true, 2, 3), 1),
                            sample_of(verdict(true, 1, 4), 2)}),
                  entry(2, {sample_of(verdict(true, 2, 1), 0)})}};
  take_baselines_of_pairs(results);
  CHECK(results.entries[0].baseline["mean"] == 3.0);
  CHECK(results.entries[0].baseline["clock"] == "model");
  const KernelBenchSample& incorrect = results.entries[0].samples[0];
  CHECK(incorrect.metadata["fault_class"] == "wrong_value");
  CHECK(incorrect.metadata["correctness_trials"] == "(1 / 3)");
  CHECK(incorrect.runtime_ms == -1);
  CHECK(results.entries[0].samples[1].metadata["clock"] == "model");
  const KernelBenchSummary s = summarise(results);
  CHECK(s.best_speedup == Approx(std::sqrt(4 * 0.5)));  // the second pair's own 4 / 1, not 3 / 1
  CHECK(s.speedup == Approx(0.5));
  check_against_script(results);

  Verdict lost;
  lost.outcome = Outcome::kInfrastructure;
  lost.diagnostics = "no answer";
  const KernelBenchSample none = sample_of(lost, 0);
  CHECK_FALSE(none.graded);
  CHECK(none.metadata["ungraded"] == "no answer");
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

TEST_CASE("results say at which sizes a program was graded and timed") {
  Verdict reduced = verdict(true, 2, 3), own = verdict(true, 2, 3), untimed = verdict(false);
  reduced.graded_at = reduced.costed_at = untimed.graded_at = kReducedSize;
  own.graded_at = own.costed_at = kOwnSize;
  KernelBenchResults results{
      .level = 1,
      .entries = {entry(1, {sample_of(reduced, 0), sample_of(own, 1), sample_of(untimed, 2)}),
                  entry(2, {sample_of(verdict(false), 0)})}};
  take_baselines_of_pairs(results);
  const ordered_json json = eval_results_json(results);
  CHECK(json["1"][0]["metadata"]["graded_at"] == "reduced");
  CHECK(json["1"][0]["metadata"]["costed_at"] == "reduced");
  CHECK(json["1"][1]["metadata"]["graded_at"] == "own");
  CHECK(json["1"][1]["metadata"]["costed_at"] == "own");
  CHECK(json["1"][2]["metadata"]["graded_at"] == "reduced");
  CHECK_FALSE(json["1"][2]["metadata"].contains("costed_at"));
  CHECK_FALSE(json["2"][0]["metadata"].contains("graded_at"));  // it was not compared
  check_against_script(results);

  const std::vector<TaskScore> scores = scores_of(results);
  const EvalReport report = make_eval_report(std::vector<Task>(2), scores, {1}, {});
  CHECK(report.reduced == 2);
  CHECK(to_json(report)["reduced"] == 2);
  CHECK(has(eval_table(report), "2 of 4 graded at reduced sizes\n"));
  std::vector<TaskScore> none = scores;
  none[0].reduced = 0;
  CHECK_FALSE(has(eval_table(make_eval_report(std::vector<Task>(2), none, {1}, {})), "reduced"));
}

// ---- Problems and programs ----

std::string problem_line(int number, const std::string& name, int level = 1) {
  return json{{"level", level},
              {"problem_id", number},
              {"name", name},
              {"pytorch_code", "class Model: pass\ndef get_inputs(): pass\ndef get_init_inputs(): pass\n"}}
             .dump() +
         "\n";
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "it is taken";
}

TEST_CASE("problems are those of the level, by their numbers") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "tasks.jsonl";
  const auto load = [&](const std::string& text, int64_t level = 1) {
    write_file_atomically(file, text);
    return load_kernelbench({file}, level);
  };
  const auto problems = load(problem_line(10, "10_B") + problem_line(7, "7_X", 2) + problem_line(2, "2_A"));
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].problem.number == 2);
  CHECK(problems[1].problem.name == "10_B");
  CHECK(problems[1].task.id == "level_1_problem_10");
  CHECK(has(refusal([&] { load(problem_line(1, "a"), 3); }), "no task file has a problem of level 3"));
  CHECK(
      has(refusal([&] { load(problem_line(1, "a") + problem_line(1, "b")); }), "problem 1 of level 1 twice"));
  CHECK(has(refusal([&] { load(problem_line(1, "a") + problem_line(2, "a")); }), "the name 'a' twice"));
  CHECK(has(refusal([&] { load(problem_line(1, "a") + "{"); }), "tasks.jsonl:2: is not JSON"));
  CHECK(has(refusal([&] { load("[" + problem_line(1, "a") + ", 3]"); }), "entry 2"));
  CHECK(has(refusal([&] { load(R"([{"idx": 1, "level": 1, "pytorch_code": "x", "cuda_code": ""}])"); }),
            "entry 1"));
  for (const auto& published : testing::task_files("kernelbench_level1.json")) {
    const auto all = load_kernelbench({published}, 1);
    INFO(published.string());
    for (size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i].problem.number == static_cast<int64_t>(i) + 1);
      CHECK(all[i].problem.name.starts_with(concat(i + 1, "_")));
    }
  }
}

TEST_CASE("programs come from a folder of a run of KernelBench, or from lines") {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder.path() / "tasks.jsonl", problem_line(1, "1_A") + problem_line(12, "12_B"));
  const auto problems = load_kernelbench({folder.path() / "tasks.jsonl"}, 1);
  CHECK(has(refusal([&] { load_programs(folder.path(), problems); }), "no program for the 2 problems"));
  const auto put = [&](const std::string& name, const std::string& text) {
    write_file_atomically(folder.path() / name, text);
  };
  put("level_1_problem_12_sample_10_kernel.py", "b10");
  put("level_1_problem_12_sample_2_kernel.py", "b2 ``` of its own ```");
  put("level_1_problem_1_sample_0_kernel.py", "a0");
  put("level_2_problem_1_sample_0_kernel.py", "of another level");
  put("level_1_problem_1_sample_0_prompt.txt", "no program");
  const auto found = load_programs(folder.path(), problems);
  REQUIRE(found.size() == 3);
  CHECK(found[0].program == "a0");
  CHECK(found[1].sample == 2);
  CHECK(found[1].program == "b2 ``` of its own ```");
  CHECK(found[2].problem == 1);
  CHECK(found[2].sample == 10);

  const auto line = [](const std::string& id, const std::string& program, const json& sample = nullptr) {
    json value{{"task_id", id}, {"program", program}};
    if (!sample.is_null()) value["sample"] = sample;
    return value.dump() + "\n";
  };
  const std::string one = "level_1_problem_1", two = "level_1_problem_12";
  const auto parsed = parse_programs(line(two, "first") + "\n" + line(one, "x", 3) +
                                         line("level_2_problem_1", "other") + line(two, "second"),
                                     "lines", problems);
  REQUIRE(parsed.size() == 3);
  CHECK(parsed[0].sample == 3);
  CHECK(parsed[1].program == "first");
  CHECK(parsed[2].sample == 1);
  const auto why = [&](const std::string& text) {
    return refusal([&] { parse_programs(text, "lines", problems); });
  };
  CHECK(has(why(line(one, "x", 0) + line(one, "y", 0)), "sample 0 of level_1_problem_1 twice"));
  CHECK(has(why(line(one, "x", -1)), "lines:1: sample"));
  CHECK(has(why("{\"program\": \"x\"}"), "lines:1: task_id: must be a text"));
  CHECK(has(why("[]"), "is no JSON object"));
  CHECK(has(why(line("another", "x")), "no program"));
}

// ---- Settings ----

EvalSettings settings_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "eval.yaml", overrides);
  EvalSettings settings = EvalSettings::from_config(document.root(), testing::source_path(""));
  document.finish();
  return settings;
}

TEST_CASE("a suite's settings: what has no effect is refused, and what is resolved can be read again") {
  const std::string asked =
      "policy: {config: configs/quickstart/policy.json, tokenizer: configs/quickstart}\n"
      "tasks: {files: [tests/data/kernelbench_level1.json]}\nrollout: {max_new_tokens: 8}\nsuite: {level: "
      "1}\n";
  const std::string exist =
      "tasks: {files: [tests/data/kernelbench_level1.json]}\nsuite: {level: 2, programs: tests/data}\n";
  CHECK(settings_of(asked).suite->protocol == SuiteProtocol::kNative);
  const EvalSettings stock =
      settings_of(exist, {"suite.protocol=kernelbench",
                          "suite.stock={device: 'cuda:3', precision: bf16, tolerance: 1e-3, timeout_s: 60}"});
  CHECK(stock.suite->level == 2);
  CHECK(stock.suite->device == "cuda:3");
  CHECK(stock.suite->precision == "bf16");
  CHECK(stock.suite->tolerance == 1e-3);
  CHECK(stock.suite->correctness_trials == 5);
  CHECK(stock.suite->timing_trials == 100);
  const auto why = [](const std::string& yaml, const std::vector<std::string>& overrides) {
    return refusal([&] { settings_of(yaml, overrides); });
  };
  CHECK(has(why(exist, {"samples_per_task=2"}), "samples_per_task: has no effect with `suite.programs`"));
  CHECK(has(why(exist, {"policy.config=x"}), "policy: has no effect"));
  CHECK(has(why(exist, {"tasks.prompt_style=dice"}), "prompt_style: has no effect"));
  CHECK(has(why(exist, {"suite.programs=nowhere"}), "nowhere"));
  CHECK(has(why(exist, {"suite.stock.device=cpu"}), "stock: has no effect with `protocol: native`"));
  CHECK(has(why(exist, {"suite.protocol=kernelbench", "suite.stock.device=gpu"}),
            "must be cpu or cuda:NUMBER"));
  CHECK(has(why(exist, {"suite.protocol=kernelbench", "suite.stock.precision=fp8"}), "precision"));
  CHECK(has(why(exist, {"suite.protocol=kernelbench", "suite.stock.tolerance=-1"}), "tolerance"));
  CHECK(has(why(exist, {"suite.protocol=kernelbench", "measure_time=true"}), "always measures"));
  CHECK(has(why(exist, {"suite.protocol=kernelbench", "verifier.addresses=['127.0.0.1:1']"}),
            "no verifier is asked"));
  CHECK(has(why(exist, {"suite.name=other"}), "name"));
  CHECK(has(why(asked, {"tasks.strict=false"}), "strict: has no effect with a suite"));
  CHECK(has(why(asked, {"tasks={synthetic: {}}"}), "files"));
  CHECK(has(why(asked, {"stage=infilling"}), "asked end to end"));
  for (const std::string& yaml : {asked, exist, asked + "pass_at_k: []\n"})
    for (const std::vector<std::string>& overrides :
         {std::vector<std::string>{}, {"suite.protocol=kernelbench", "suite.stock.device=cpu"}}) {
      const ConfigDocument document = ConfigDocument::from_text(yaml, "eval.yaml", overrides);
      EvalSettings::from_config(document.root(), testing::source_path(""));
      CHECK_NOTHROW(settings_of(document.resolved_yaml()));
    }
}

}  // namespace
}  // namespace bicrl
