#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"
#include "trainer/evaluation/eval_report.h"
#include "trainer/evaluation/eval_settings.h"

namespace bicrl {
namespace {

using Catch::Approx;

Task task_of(const std::string& id, int level, std::vector<std::string> composition = {}) {
  Task task;
  task.id = id;
  task.level = level;
  task.composition = std::move(composition);
  return task;
}

TaskScore score_of(int64_t verified, int64_t compiled, int64_t correct, int64_t unverified = 0) {
  return {.verified = verified,
          .compiled = compiled,
          .correct = correct,
          .truncated = 0,
          .unverified = unverified,
          .fault_classes = {}};
}

TEST_CASE("An evaluation's rates are means over tasks, without what has no verdict") {
  const std::vector<Task> tasks = {task_of("a", 1, {"relu", "softmax"}), task_of("b", 2, {"relu", "relu"}),
                                   task_of("c", 2), task_of("d", 3, {"relu", "an operator of others"})};
  std::vector<TaskScore> scores = {score_of(4, 4, 2), score_of(2, 1, 1, /*unverified=*/2), score_of(4, 0, 0),
                                   score_of(0, 0, 0, /*unverified=*/4)};
  scores[0].fault_classes = {{"wrong_value", 2}};
  scores[1].fault_classes = {{"compile", 1}};
  scores[2].fault_classes = {{"compile", 4}};
  const EvalReport report = make_eval_report(tasks, scores, {1, 2, 4}, {});
  CHECK(report.responses == 16);
  CHECK(report.unverified == 6);
  CHECK(report.all.tasks == 4);
  CHECK(report.all.verified == 10);
  CHECK(report.all.correct.tasks == 3);
  CHECK(report.all.correct.value == Approx((0.5 + 0.5 + 0) / 3));
  CHECK(report.all.compile.value == Approx((1 + 0.5 + 0) / 3));
  CHECK(report.pass_at_k.at(1).value == report.all.correct.value);
  CHECK(report.pass_at_k.at(2).tasks == 3);
  CHECK(report.pass_at_k.at(2).value == Approx((5.0 / 6 + 1 + 0) / 3));
  CHECK(report.pass_at_k.at(4).tasks == 2);
  CHECK(report.pass_at_k.at(4).value == Approx(0.5));
  CHECK(report.fault_classes == std::map<std::string, int64_t>{{"compile", 5}, {"wrong_value", 2}});

  REQUIRE(report.levels.size() == 3);
  CHECK(report.levels[0].name == "level 1");
  CHECK(report.levels[1].correct.value == Approx(0.25));
  CHECK(report.levels[2].correct.tasks == 0);
  REQUIRE(report.families.size() == 3);
  CHECK(report.families[0].name == "elementwise");
  CHECK(report.families[1].name == "other");
  CHECK(report.families[2].name == "softmax");
  CHECK(report.families[2].tasks == 1);

  const nlohmann::json json = to_json(report);
  CHECK(json["levels"]["level 3"]["correct"]["value"].is_null());
  CHECK(json["pass_at_k"]["4"]["tasks"] == 2);
  CHECK(json["unverified"] == 6);
  const std::string table = eval_table(report);
  INFO(table);
  CHECK(table.find("6 of 16 responses got no verdict") != std::string::npos);
  CHECK(table.find("over the 2 tasks with at least 4 verdicts") != std::string::npos);
  CHECK(table.find("faults: compile 5, wrong_value 2\n") != std::string::npos);
}

TEST_CASE("An evaluation leaves out tasks that can never be graded and what is undecided") {
  std::vector<TaskScore> scores = {score_of(2, 2, 2), score_of(0, 0, 0), score_of(0, 0, 0)};
  scores[1].undecided = 2;
  scores[2].invalid_task = "raises";
  const EvalReport report =
      make_eval_report({task_of("a", 1), task_of("b", 1), task_of("c", 2)}, scores, {1}, {});
  CHECK(report.responses == 4);
  CHECK(report.unverified == 0);
  CHECK(report.all.tasks == 2);
  CHECK(report.all.correct.tasks == 1);
  CHECK(report.levels.size() == 1);
  const std::string table = eval_table(report);
  INFO(table);
  CHECK(table.find("2 of 4 responses cannot be graded here") != std::string::npos);
  CHECK(table.find("1 tasks can never be graded") != std::string::npos);
}

TEST_CASE("Speed-ups are geometric means over the tasks with a correct program") {
  const std::vector<Task> tasks = {task_of("a", 1), task_of("b", 1), task_of("c", 1)};
  std::vector<TaskScore> scores = {score_of(2, 2, 2), score_of(2, 2, 1), score_of(2, 2, 0)};
  for (const double speedup : {0.5, 8.0}) scores[0].log_speedup += std::log(speedup);
  scores[0].timed = 2, scores[0].fast_1 = scores[0].fast_2 = 1, scores[0].best_log_speedup = std::log(8.0);
  scores[1].timed = scores[1].fast_1 = 1, scores[1].log_speedup = scores[1].best_log_speedup = std::log(2.0);
  const ClassReport all = make_eval_report(tasks, scores, {1}, {}).all;
  CHECK(all.speedup.tasks == 2);
  CHECK(all.speedup.value == Approx(2.0));
  CHECK(all.best_speedup.value == Approx(4.0));
  CHECK(all.best_speedup.interval.low == Approx(2.0));
  CHECK(all.best_speedup.interval.high == Approx(8.0));
  CHECK(all.fast_1.value == Approx((0.5 + 0.5 + 0) / 3));
  CHECK(all.fast_2.value == Approx((0.5 + 0 + 0) / 3));
  const std::string table = eval_table(make_eval_report(tasks, scores, {1}, {}));
  INFO(table);
  CHECK(table.find("2.00x [2.00, 2.00] over the 2 tasks") != std::string::npos);
  CHECK(eval_table(make_eval_report(tasks, {score_of(2, 2, 2), {}, {}}, {1}, {})).find("speed-up") ==
        std::string::npos);
}

TEST_CASE("One response a task gives Wilson intervals, several a bootstrap over tasks") {
  std::vector<Task> tasks;
  std::vector<TaskScore> greedy;
  std::vector<TaskScore> sampled;
  std::vector<double> shares;
  for (int i = 0; i < 40; ++i) {
    tasks.push_back(task_of(std::to_string(i), 1));
    greedy.push_back(score_of(1, 1, i % 4 == 0));
    sampled.push_back(score_of(8, 8, i % 9));
    shares.push_back(i % 9 / 8.0);
  }
  const Estimate single = make_eval_report(tasks, greedy, {1}, {}).all.correct;
  const Interval wilson = wilson_interval(10, 40, 0.95);
  CHECK(single.interval.low == wilson.low);
  CHECK(single.interval.high == wilson.high);

  const EvalReport report = make_eval_report(tasks, sampled, {1}, {.confidence = 0.9, .resamples = 4000});
  CHECK(report.all.correct.interval.low < report.all.correct.value);
  CHECK(report.all.correct.interval.high > report.all.correct.value);
  const Interval other_draws = bootstrap_interval(shares, 0.9, 4000, /*seed=*/99);
  CHECK(report.all.correct.interval.low == Approx(other_draws.low).margin(0.01));
  CHECK(report.all.correct.interval.high == Approx(other_draws.high).margin(0.01));
  // All compile: a bootstrap would be sure of 100 %.
  CHECK(report.all.compile.value == 1.0);
  CHECK(report.all.compile.interval.low < 0.95);
  CHECK(report.all.compile.interval.high == 1.0);
  // Nor does one task say that its share is everybody's.
  const Estimate lone = make_eval_report({tasks[0]}, {score_of(8, 8, 4)}, {1}, {}).all.correct;
  CHECK(lone.value == 0.5);
  CHECK(lone.interval.high - lone.interval.low > 0.8);
}

TEST_CASE("A report of nothing but missing verdicts has no rates") {
  const EvalReport report =
      make_eval_report({task_of("a", 0)}, {score_of(0, 0, 0, /*unverified=*/3)}, {1}, {});
  CHECK(report.all.correct.tasks == 0);
  CHECK(to_json(report)["all"]["correct"]["value"].is_null());
  CHECK(eval_table(report).find("-") != std::string::npos);
}

// A complete configuration of an evaluation on a file of tasks.
EvalSettings settings_from(const testing::TemporaryFolder& folder, const std::string& tasks,
                           const std::vector<std::string>& overrides) {
  std::filesystem::create_directories(folder.path() / "policy");
  write_file_atomically(folder.path() / "tasks.json", tasks);
  const ConfigDocument document = ConfigDocument::from_text(
      "policy: {checkpoint: policy}\ntasks: {files: [tasks.json]}\n"
      "samples_per_task: 4\npass_at_k: [4, 1]\n",
      "eval.yaml", overrides);
  EvalSettings settings = EvalSettings::from_config(document.root(), folder.path());
  document.finish();
  return settings;
}

constexpr const char* kTwoTasks = R"([
  {"id": "x", "pytorch_code": "class Model def get_inputs def get_init_inputs", "cuda_code": "a\"\"\"b\"\"\"c",
   "prefix": "a", "middle": "\"\"\"b\"\"\"", "suffix": "c"},
  {"idx": 2, "level": 3, "pytorch_code": "class Model def get_inputs def get_init_inputs", "cuda_code": ""}])";

TEST_CASE("The settings of an evaluation are checked against each other") {
  const testing::TemporaryFolder folder;
  const EvalSettings settings = settings_from(folder, kTwoTasks, {});
  CHECK(settings.pass_at_k == std::vector<int64_t>{1, 4});
  const auto reason = [&](const std::vector<std::string>& overrides) -> std::string {
    try {
      settings_from(folder, kTwoTasks, overrides);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(reason({"pass_at_k=[1,8]"}).find("pass@8 needs at least 8 samples a task") != std::string::npos);
  CHECK(reason({"pass_at_k=[2,2]"}).find("2 appears twice") != std::string::npos);
  CHECK(reason({"rollout.temperature=0"}).find("one is enough") != std::string::npos);
  CHECK(reason({"rollout.temperature=0", "samples_per_task=1", "pass_at_k=[1]"}).empty());
  CHECK(reason({"policy.checkpoint=elsewhere"}).find("'elsewhere' does not exist") != std::string::npos);
  CHECK(reason({"tasks.files=[]"}).find("tasks come either from") != std::string::npos);
  CHECK(reason({"tasks={files: [tasks.json], synthetic: {seed: 1}}"}).find("tasks come either from") !=
        std::string::npos);
  CHECK(reason({"tasks.synthetic={seed: 1}"}).empty());  // takes the files' place
  CHECK(reason({"tasks.split=train"}).find("with `files`, all of which are asked") != std::string::npos);
  CHECK(reason({"samples=3"}).find("unknown") != std::string::npos);
}

TEST_CASE("The tasks of an evaluation are those its stage can use") {
  const testing::TemporaryFolder folder;
  CHECK(load_eval_tasks(settings_from(folder, kTwoTasks, {})).size() == 2);
  // The limit counts those that fit the policy, which is not looked at here.
  CHECK(settings_from(folder, kTwoTasks, {"tasks.limit=1"}).task_limit == 1);
  const auto infilling = load_eval_tasks(settings_from(folder, kTwoTasks, {"stage=infilling"}));
  REQUIRE(infilling.size() == 1);
  CHECK(infilling[0].id == "tasks:x");
  constexpr const char* kNoScaffold =
      R"([{"idx": 2, "level": 3, "pytorch_code": "class Model def get_inputs def get_init_inputs", "cuda_code": ""}])";
  CHECK_THROWS_AS(load_eval_tasks(settings_from(folder, kNoScaffold, {"stage=infilling"})), InputError);
  CHECK_THROWS_AS(load_eval_tasks(settings_from(folder, "[]", {})), InputError);
}

}  // namespace
}  // namespace bicrl
