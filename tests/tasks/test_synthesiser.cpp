#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <set>

#include "common/config/config.h"
#include "common/error.h"
#include "tasks/prompt.h"
#include "tasks/synthetic/synthesiser.h"
#include "tasks/synthetic/synthetic_module.h"
#include "tasks/synthetic/synthetic_operators.h"
#include "tasks/synthetic/synthetic_quality.h"
#include "tasks/synthetic/synthetic_split.h"
#include "tasks/synthetic/technique.h"
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
  static const SyntheticTasks tasks = synthesise({.test_compositions = 256});
  return tasks;
}

ChainStep step(std::string_view name, std::vector<std::string_view> constants = {}) {
  return {&synthetic_operator(name), std::move(constants)};
}

// Read back from the module's lines.
std::vector<ChainStep> chain_of(const Task& task) {
  std::vector<ChainStep> chain;
  size_t at = 0;
  for (const std::string& name : task.composition) {
    const SyntheticOperator& op = synthetic_operator(name);
    at = task.pytorch_code.find("        x = ", at) + 12;
    const std::string line = task.pytorch_code.substr(at, task.pytorch_code.find('\n', at) - at);
    for (const auto& constants : op.constants)
      if (with_constants(op.torch, constants, "") == line) chain.push_back({&op, constants});
  }
  REQUIRE(chain.size() == task.composition.size());
  return chain;
}

std::string problem_of(const std::vector<ChainStep>& chain) {
  const int columns[] = {16};
  return chain_problem(chain, columns);
}

}  // namespace

TEST_CASE("the default options give 600 training and twice 256 held-out compositions, all distinct") {
  const auto& [train, development, test] = default_tasks();
  CHECK(train.size() == 600);
  CHECK(compositions(train).size() == 600);
  CHECK(development.size() == 256);
  CHECK(compositions(development).size() == 256);
  CHECK(test.size() == 256);
  CHECK(compositions(test).size() == 256);
}

TEST_CASE("a composition is on one side, under any seed, mix or number of variants") {
  std::map<SyntheticSplit, Compositions> sides;
  for (uint64_t seed : {1, 2, 3}) {
    SynthesisOptions options;
    options.seed = seed;
    options.test_compositions = 256;
    options.variants = static_cast<int>(seed);
    options.softmax = seed == 2 ? 0 : 1;
    const SyntheticTasks tasks = synthesise(options);
    sides[SyntheticSplit::kTrain].merge(compositions(tasks.train));
    sides[SyntheticSplit::kDevelopment].merge(compositions(tasks.development));
    sides[SyntheticSplit::kTest].merge(compositions(tasks.test));
  }
  CHECK(sides[SyntheticSplit::kTrain].size() > 1200);
  CHECK(sides[SyntheticSplit::kDevelopment].size() > 500);
  CHECK(sides[SyntheticSplit::kTest].size() > 500);
  for (const auto& [side, found] : sides) {
    INFO(to_string(side));
    CHECK(std::ranges::all_of(found, [&](const auto& composition) { return split_of(composition) == side; }));
  }
}

TEST_CASE("what is held out is how two operators meet: training sees none of those pairs") {
  using Pairs = std::set<std::pair<std::string, std::string>>;
  const auto pairs_of = [](const std::vector<std::string>& composition) {
    Pairs pairs;
    for (size_t i = 0; i + 1 < composition.size(); ++i) pairs.insert({composition[i], composition[i + 1]});
    return pairs;
  };
  SynthesisOptions options;
  options.train_compositions = 2400;
  options.test_compositions = 256;
  const SyntheticTasks tasks = synthesise(options);
  Pairs trained;
  for (const Task& task : tasks.train) trained.merge(pairs_of(task.composition));
  CHECK(trained.size() > 300);
  for (const auto* side : {&tasks.development, &tasks.test})
    for (const Task& task : *side)
      CHECK(std::ranges::any_of(pairs_of(task.composition),
                                [&](const auto& pair) { return !trained.contains(pair); }));
  // Both of a chain's pairs held out, each for another purpose: the chain is on no side.
  const auto& all = synthetic_operators();
  size_t nowhere = 0, chains = 0;
  for (const auto& a : all)
    for (const auto& b : all)
      for (const auto& c : all) {
        const std::string first(a.name), second(b.name), third(c.name);
        const auto left = split_of({first, second}), right = split_of({second, third});
        const auto whole = split_of({first, second, third});
        ++chains, nowhere += !whole;
        if (left == right || right == SyntheticSplit::kTrain) CHECK(whole == left);
        if (left == SyntheticSplit::kTrain) CHECK(whole == right);
      }
  CHECK(nowhere > 0);
  CHECK(nowhere < chains / 20);
}

TEST_CASE("chains that compute the same are known to be equal, and others to be not") {
  const auto key = [](const std::vector<ChainStep>& chain) { return function_key(chain); };
  CHECK(key({step("relu"), step("abs")}) == key({step("relu")}));
  CHECK(key({step("add", {"1.0"}), step("sub", {"2.0"})}) == key({step("sub", {"1.0"})}));
  CHECK(key({step("mul", {"0.5"}), step("mul", {"3.0"})}) ==
        key({step("mul", {"3.0"}), step("mul", {"0.5"})}));
  CHECK(key({step("add", {"0.5"}), step("softmax")}) == key({step("softmax")}));
  CHECK(key({step("sub", {"1.0"}), step("add", {"1.0"}), step("relu")}) == key({step("relu")}));
  CHECK(key({step("relu")}) != key({step("leaky_relu", {"0.1"})}));
  CHECK(key({step("add_row")}) != key({step("mul_row")}));
  CHECK(key({step("sum")}) != key({step("mean")}));
  CHECK(key({step("avg3")}) != key({step("max3")}));
  std::set<uint64_t> keys;
  size_t tasks_count = 0;
  for (const auto* side : {&default_tasks().train, &default_tasks().development, &default_tasks().test})
    for (const Task& task : *side) {
      keys.insert(function_key(chain_of(task)));
      ++tasks_count;
    }
  CHECK(keys.size() == tasks_count);
}

TEST_CASE("tasks are a function of the options") {
  SynthesisOptions options;
  options.train_compositions = 60;
  options.development_compositions = options.test_compositions = 20;
  const SyntheticTasks first = synthesise(options);
  const SyntheticTasks again = synthesise(options);
  CHECK(first.train == again.train);
  CHECK(first.development == again.development);
  CHECK(first.test == again.test);
  options.seed = 2;
  CHECK(synthesise(options).train != first.train);
}

TEST_CASE("a step's worth of training tasks is spread over compositions and lengths") {
  SynthesisOptions options;
  options.train_compositions = 300;
  options.development_compositions = options.test_compositions = 0;
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
  options.test_compositions = 256;
  options.variants = 3;
  const SyntheticTasks tasks = synthesise(options);
  CHECK(tasks.development == default_tasks().development);
  CHECK(tasks.test == default_tasks().test);
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

TEST_CASE("one line of PyTorch for each operator") {
  const Task task = write_module({step("clamp", {"0.5"}), step("sum"), step("tanh")}, {32, 8});
  CHECK_THAT(task.pytorch_code, ContainsSubstring("        x = torch.clamp(x, -0.5, 0.5)\n"
                                                  "        x = torch.sum(x, dim=-1)\n"
                                                  "        x = torch.tanh(x)\n"
                                                  "        return x\n"));
  CHECK_THAT(task.pytorch_code, ContainsSubstring("return [torch.randn(32, 8)]"));
  CHECK(task.composition == std::vector<std::string>{"clamp", "sum", "tanh"});
  CHECK(task.cuda_code.empty());
  CHECK_THROWS_AS(write_module({step("sum"), step("softmax")}, {32, 8}), Error);
}

TEST_CASE("tasks name larger inputs for costing if they are asked to, and are otherwise as they were") {
  SynthesisOptions options;
  options.train_compositions = 60;
  options.development_compositions = options.test_compositions = 0;
  const std::vector<Task> plain = synthesise(options).train;
  options.costing_bytes = 8 << 20;
  const std::vector<Task> costed = synthesise(options).train;
  REQUIRE(costed.size() == plain.size());
  const std::string head = "\n\ndef get_costing_inputs():\n    return [torch.randn(";
  for (size_t i = 0; i < costed.size(); ++i) {
    CHECK(plain[i].pytorch_code.find("costing") == std::string::npos);
    CHECK(costed[i].cuda_code == plain[i].cuda_code);  // the plain form; others have to fit both shapes
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

TEST_CASE("tasks may name a part of the rows for costing, and how many times it is taken") {
  SynthesisOptions options;
  options.train_compositions = 20;
  options.development_compositions = 0;
  options.costing_bytes = 8 << 20;
  options.costing_repeats = 8;
  const auto tasks = synthesise(options).train;
  options.costing_bytes = 1 << 20;
  options.costing_repeats = 1;
  const auto smaller = synthesise(options).train;
  const std::string repeats = "\n\ndef get_costing_repeats():\n    return 8\n";
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::string code = tasks[i].pytorch_code;
    const size_t at = code.find(repeats);
    REQUIRE(at != code.npos);
    CHECK(code.erase(at, repeats.size()) == smaller[i].pytorch_code);
  }
}

TEST_CASE("variants of a composition differ in constants or shapes") {
  SynthesisOptions options;
  options.train_compositions = 40;
  options.development_compositions = 10;
  options.variants = 4;
  const SyntheticTasks tasks = synthesise(options);
  CHECK(compositions(tasks.train).size() == 40);
  CHECK(tasks.train.size() > 120);
  CHECK(tasks.development.size() == 10);
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
  CHECK(options.development_compositions == 256);
  CHECK(options.max_length == 2);
  CHECK(options.softmax == 0);
  CHECK(options.stencil == 2.5);
  CHECK_THROWS_AS(parse("max_length: 6"), InputError);
  CHECK(parse("known_interior_operators: 0.1").known_interior_operators == 0.1);
  CHECK_THROWS_AS(parse("known_interior_operators: 2"), InputError);
  CHECK_THROWS_WITH(parse("known_middles: 0.1"),
                    Catch::Matchers::ContainsSubstring("it is called known_interior_operators now"));
  CHECK(parse("alternatives: 20").alternatives == 20);
  CHECK_THROWS_AS(parse("alternatives: -1"), InputError);
  CHECK(parse("costing_bytes: 1000000\ncosting_repeats: 8").costing_repeats == 8);
  CHECK_THROWS_AS(parse("costing_repeats: 8"), InputError);
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
  const auto& [train, development, test] = default_tasks();
  std::vector<Task> sample(train.begin(), train.begin() + 100);
  sample.insert(sample.end(), development.begin(), development.begin() + 50);
  const bicrl::testing::TemporaryFolder folder;
  save_tasks(folder.path() / "sample.jsonl", sample);
  bicrl::testing::run_python(bicrl::testing::source_path("tests/tasks/oracle_synthetic.py"),
                             {(folder.path() / "sample.jsonl").string()});
}

TEST_CASE("chains of five operators have modules and programs like shorter ones") {
  SynthesisOptions options;
  options.max_length = 5;
  options.train_compositions = 60;
  options.development_compositions = options.test_compositions = 10;
  const SyntheticTasks tasks = synthesise(options);
  std::set<size_t> lengths;
  for (const Task& task : tasks.train) {
    lengths.insert(task.composition.size());
    CHECK(read_technique(task.cuda_code));
  }
  CHECK(lengths == std::set<size_t>{2, 3, 4, 5});
  const bicrl::testing::TemporaryFolder folder;
  save_tasks(folder.path() / "sample.jsonl", tasks.train);
  bicrl::testing::run_python(bicrl::testing::source_path("tests/tasks/oracle_synthetic.py"),
                             {(folder.path() / "sample.jsonl").string()});
}
