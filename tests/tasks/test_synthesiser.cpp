#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <set>

#include "common/config.h"
#include "common/error.h"
#include "tasks/prompt.h"
#include "tasks/synthesiser.h"
#include "tasks/synthetic_operators.h"
#include "tasks/synthetic_program.h"
#include "tasks/synthetic_quality.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

using Compositions = std::set<std::vector<std::string>>;

Compositions compositions(const std::vector<Task>& tasks) {
  Compositions all;
  for (const Task& task : tasks) all.insert(task.composition);
  return all;
}

const SyntheticTasks& default_tasks() {
  static const SyntheticTasks tasks = synthesise({});
  return tasks;
}

ChainStep step(std::string_view name, std::vector<std::string_view> constants = {}) {
  return {&synthetic_operator(name), std::move(constants)};
}

std::string problem_of(const std::vector<ChainStep>& chain) {
  const int columns[] = {16};
  return chain_problem(chain, columns);
}

}  // namespace

TEST_CASE("the default options give 600 training and 256 held-out compositions, all distinct") {
  const auto& [train, held_out] = default_tasks();
  CHECK(train.size() == 600);
  CHECK(compositions(train).size() == 600);
  CHECK(held_out.size() == 256);
  CHECK(compositions(held_out).size() == 256);
}

TEST_CASE("a held-out composition is never trained on, under any seed, length, mix or number of variants") {
  Compositions trained, held;
  for (uint64_t seed : {1, 2, 3}) {
    SynthesisOptions options;
    options.seed = seed;
    options.variants = static_cast<int>(seed);
    options.max_length = seed == 3 ? 4 : 3;
    options.softmax = seed == 2 ? 0 : 1;
    const SyntheticTasks tasks = synthesise(options);
    trained.merge(compositions(tasks.train));
    held.merge(compositions(tasks.held_out));
  }
  CHECK(trained.size() > 1200);
  CHECK(held.size() > 500);
  Compositions both;
  std::ranges::set_intersection(trained, held, std::inserter(both, both.end()));
  CHECK(both.empty());
  CHECK(std::ranges::none_of(trained, is_held_out));
  CHECK(std::ranges::all_of(held, is_held_out));
}

TEST_CASE("tasks are a function of the options") {
  SynthesisOptions options;
  options.train_compositions = 60;
  options.held_out_compositions = 20;
  const SyntheticTasks first = synthesise(options);
  const SyntheticTasks again = synthesise(options);
  CHECK(first.train == again.train);
  CHECK(first.held_out == again.held_out);
  options.seed = 2;
  CHECK(synthesise(options).train != first.train);
}

TEST_CASE("a step's worth of training tasks is spread over compositions and lengths") {
  SynthesisOptions options;
  options.train_compositions = 300;
  options.held_out_compositions = 0;
  options.variants = 4;
  const std::vector<Task> tasks = synthesise(options).train;
  const auto mean_length = [&](size_t from, size_t to) {
    double sum = 0;
    for (size_t i = from; i < to; ++i) sum += tasks[i].level;
    return sum / static_cast<double>(to - from);
  };
  std::set<std::vector<std::string>> seen;
  for (size_t i = 0; i < 32; ++i) seen.insert(tasks[i].composition);
  CHECK(seen.size() >= 24);
  const size_t half = tasks.size() / 2;
  CHECK(std::abs(mean_length(0, half) - mean_length(half, tasks.size())) < 0.15);
}

TEST_CASE("held-out tasks do not depend on how many training tasks there are") {
  SynthesisOptions options;
  options.train_compositions = 900;
  options.variants = 3;
  options.held_out_compositions = 100;
  const auto held_out = synthesise(options).held_out;
  const auto& usual = default_tasks().held_out;
  CHECK(std::equal(held_out.begin(), held_out.end(), usual.begin()));
}

TEST_CASE("every operator and every family occurs, with shapes that are no powers of two among them") {
  const auto& train = default_tasks().train;
  std::map<std::string, int> uses;
  for (const Task& task : train)
    for (const auto& name : task.composition) ++uses[name];
  size_t pointwise = 0;
  for (const auto& op : synthetic_operators()) {
    INFO(op.name);
    CHECK(uses[std::string(op.name)] >= 5);
    pointwise += op.kind == OperatorKind::kPointwise;
  }
  CHECK(pointwise >= 16);
  const auto count = [&](const std::string& text) {
    return std::ranges::count_if(
        train, [&](const Task& t) { return t.pytorch_code.find(text) != t.pytorch_code.npos; });
  };
  CHECK(count("randn(50, 100)") > 0);
  CHECK(count("randn(64, 64)") > 0);
  CHECK(count("randn(100, 7)") > 0);
  CHECK(
      std::ranges::any_of(train, [](const Task& t) { return t.middle.find("__shared__") != t.middle.npos; }));
}

TEST_CASE("synthesised tasks are in the published form and survive a file") {
  const auto& train = default_tasks().train;
  const TaskSet set = parse_task_set(tasks_to_json_lines(train), "train.jsonl");
  CHECK(set.errors.empty());
  CHECK(set.tasks == train);
  for (const Task& task : train) {
    CHECK(task.level == static_cast<int>(task.composition.size()));
    CHECK_NOTHROW(make_prompt(task, Stage::kInfilling, PromptStyle::kCompact, Scaffold::kClamp));
    for (const char* needed : {"load_inline(", "class ModelNew", "__global__ void ", "<<<"})
      CHECK_THAT(task.cuda_code, ContainsSubstring(needed));
  }
}

TEST_CASE("one line of PyTorch and one of CUDA for each pointwise operator") {
  const Task task = write_task({step("clamp", {"0.5"}), step("sum"), step("tanh")}, {32, 8});
  CHECK_THAT(task.pytorch_code, ContainsSubstring("        x = torch.clamp(x, -0.5, 0.5)\n"
                                                  "        x = torch.sum(x, dim=-1)\n"
                                                  "        x = torch.tanh(x)\n"
                                                  "        return x\n"));
  CHECK_THAT(task.pytorch_code, ContainsSubstring("return [torch.randn(32, 8)]"));
  CHECK_THAT(task.middle,
             ContainsSubstring("before(float v) {\n    v = fminf(fmaxf(v, -0.5f), 0.5f);\n    return v;"));
  CHECK_THAT(task.middle, ContainsSubstring("after(float v) {\n    v = tanhf(v);\n    return v;"));
  CHECK(task.middle.find("32") == std::string::npos);
  CHECK(task.composition == std::vector<std::string>{"clamp", "sum", "tanh"});
  CHECK_THROWS_AS(write_task({step("sum"), step("softmax")}, {32, 8}), Error);
}

TEST_CASE("tasks name larger inputs for costing if they are asked to, and are otherwise as they were") {
  SynthesisOptions options;
  options.train_compositions = 60;
  options.held_out_compositions = 0;
  const std::vector<Task> plain = synthesise(options).train;
  options.costing_bytes = 8 << 20;
  const std::vector<Task> costed = synthesise(options).train;
  REQUIRE(costed.size() == plain.size());
  const std::string head = "\n\ndef get_costing_inputs():\n    return [torch.randn(";
  for (size_t i = 0; i < costed.size(); ++i) {
    CHECK(plain[i].pytorch_code.find("costing") == std::string::npos);
    CHECK(costed[i].cuda_code == plain[i].cuda_code);
    const std::string& code = costed[i].pytorch_code;
    const size_t begin = code.find(head), end = code.find("]\n", begin) + 2;
    REQUIRE(begin != std::string::npos);
    CHECK(code.substr(0, begin) + code.substr(end) == plain[i].pytorch_code);
    int rows = 0, cols = 0;
    REQUIRE(sscanf(code.c_str() + begin + head.size(), "%d, %d)", &rows, &cols) == 2);
    const auto holds = [&](std::initializer_list<const char*> names) {
      return std::ranges::any_of(costed[i].composition, [&](const std::string& part) {
        return std::ranges::find(names, part) != names.end();
      });
    };
    const bool reduced = holds({"sum", "mean", "max"});
    if (reduced || holds({"softmax"}))
      CHECK(cols >= 32);
    else
      CHECK_THAT(plain[i].pytorch_code, ContainsSubstring(concat(", ", cols, ")")));
    const int64_t row_bytes = 4 * (cols + (reduced ? 1 : cols));
    CHECK(rows * row_bytes >= options.costing_bytes);
    CHECK((rows - 1) * row_bytes < options.costing_bytes);
    const Prompt prompt =
        make_prompt(costed[i], Stage::kEndToEnd, PromptStyle::kPublished, Scaffold::kPrompt);
    CHECK_THAT(prompt.text, ContainsSubstring("timed on the latter"));
  }
  const Prompt prompt = make_prompt(plain[0], Stage::kEndToEnd, PromptStyle::kPublished, Scaffold::kPrompt);
  CHECK(prompt.text.find("timed on") == std::string::npos);
}

TEST_CASE("variants of a composition differ in constants or shapes") {
  SynthesisOptions options;
  options.train_compositions = 40;
  options.held_out_compositions = 10;
  options.variants = 4;
  const SyntheticTasks tasks = synthesise(options);
  CHECK(compositions(tasks.train).size() == 40);
  CHECK(tasks.train.size() > 120);
  CHECK(tasks.held_out.size() == 10);
  std::set<std::string> modules, ids;
  for (const Task& task : tasks.train) {
    modules.insert(task.pytorch_code);
    ids.insert(task.id);
  }
  CHECK(modules.size() == tasks.train.size());
  CHECK(ids.size() == tasks.train.size());
}

TEST_CASE("chains that teach nothing are refused") {
  CHECK(problem_of({step("relu"), step("sub", {"1.0"})}).empty());
  CHECK_THAT(problem_of({step("exp_neg"), step("square"), step("square")}), ContainsSubstring("exceeds"));
  CHECK_THAT(problem_of({step("abs"), step("relu")}), ContainsSubstring("operator 2 (relu) hardly matters"));
  CHECK_THAT(problem_of({step("abs"), step("square")}), ContainsSubstring("operator 1 (abs) hardly matters"));
  CHECK_THAT(problem_of({step("sigmoid"), step("clamp", {"2.0"})}), ContainsSubstring("operator 2"));
  CHECK_THAT(problem_of({step("add", {"2.0"}), step("clamp", {"0.5"})}), ContainsSubstring("equal"));
  CHECK_THAT(problem_of({step("softmax"), step("softmax")}), ContainsSubstring("hardly"));
  CHECK_THAT(problem_of({step("sub", {"1.0"}), step("add", {"1.0"})}), ContainsSubstring("the input itself"));
  CHECK(problem_of({step("sub", {"1.0"}), step("add", {"2.0"})}).empty());
}

TEST_CASE("synthesis from a configuration") {
  const auto parse = [](const std::string& yaml) {
    const auto document = ConfigDocument::from_text(yaml, "c.yaml");
    const SynthesisOptions options = SynthesisOptions::from_config(document.root());
    document.finish();
    return options;
  };
  const SynthesisOptions options =
      parse("seed: 9\ntrain_compositions: 50\nmax_length: 2\nfamilies: {softmax: 0, stencil: 2.5}");
  CHECK(options.seed == 9);
  CHECK(options.train_compositions == 50);
  CHECK(options.held_out_compositions == 256);
  CHECK(options.max_length == 2);
  CHECK(options.softmax == 0);
  CHECK(options.stencil == 2.5);
  CHECK_THROWS_AS(parse("max_length: 9"), InputError);
  CHECK_THROWS_AS(parse("famillies: {softmax: 1}"), InputError);
  CHECK_THROWS_AS(parse("families: {elementwise: 0, broadcast: 0, reduction: 0, softmax: 0, stencil: 0}"),
                  InputError);
}

TEST_CASE("too few compositions under the options are an input error, not an endless search") {
  SynthesisOptions options;
  options.max_length = 2;
  options.elementwise = options.broadcast = options.reduction = options.stencil = 0;
  CHECK_THROWS_AS(synthesise(options), InputError);
}

TEST_CASE("modules run in PyTorch and their programs compute the same") {
  const auto& [train, held_out] = default_tasks();
  std::vector<Task> sample(train.begin(), train.begin() + 140);
  sample.insert(sample.end(), held_out.begin(), held_out.begin() + 70);
  const bicrl::testing::TemporaryFolder folder;
  save_tasks(folder.path() / "sample.jsonl", sample);
  bicrl::testing::run_python(std::string(BICRL_SOURCE_DIR) + "/tests/tasks/oracle_synthetic.py",
                             {(folder.path() / "sample.jsonl").string()});
}
