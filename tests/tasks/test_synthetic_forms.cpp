#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "common/config/config.h"
#include "common/error.h"
#include "tasks/prompt.h"
#include "tasks/synthetic/known_programs.h"
#include "tasks/synthetic/synthesiser.h"
#include "tasks/synthetic/synthetic_forms.h"
#include "tasks/synthetic/synthetic_operators.h"
#include "tasks/synthetic/technique.h"
#include "tasks/task_set.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

// The first `from` of the text as `to`.
std::string first_replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

constexpr int64_t kCostingBytes = 1 << 20;

ChainStep form_step(std::string_view name, std::vector<std::string_view> constants = {}) {
  return {&synthetic_operator(name), std::move(constants)};
}

struct Example {
  std::vector<ChainStep> chain;
  Shape shape;

  Shape costed() const { return costed_shape(chain, shape, kCostingBytes); }
  std::vector<Form> forms() const { return all_forms(chain, shape, costed()); }
  std::vector<std::string> composition() const {
    std::vector<std::string> names;
    for (const ChainStep& s : chain) names.emplace_back(s.op->name);
    return names;
  }
};

// Of each family, with the structural operator at each place.
std::vector<Example> examples() {
  return {{{form_step("relu"), form_step("sub", {"1.0"}), form_step("tanh")}, {64, 64}},
          {{form_step("sigmoid"), form_step("mul", {"3.0"})}, {50, 100}},
          {{form_step("cos"), form_step("abs")}, {100, 77}},
          {{form_step("tanh"), form_step("mul_row"), form_step("abs")}, {16, 16}},
          {{form_step("add_row"), form_step("relu")}, {8, 33}},
          {{form_step("sum"), form_step("tanh")}, {64, 16}},
          {{form_step("square"), form_step("mean"), form_step("add", {"0.5"})}, {32, 8}},
          {{form_step("abs"), form_step("max")}, {48, 24}},
          {{form_step("sin"), form_step("sum")}, {100, 7}},
          {{form_step("mul", {"2.0"}), form_step("softmax")}, {32, 8}},
          {{form_step("relu"), form_step("softmax"), form_step("sqrt_abs")}, {64, 7}},
          {{form_step("softmax"), form_step("sqrt_abs")}, {500, 16}},
          {{form_step("avg3"), form_step("relu")}, {128, 128}},
          {{form_step("tanh"), form_step("max3")}, {24, 48}},
          {{form_step("abs"), form_step("diff"), form_step("silu")}, {200, 30}}};
}

SynthesisOptions many() {
  SynthesisOptions options;
  options.costing_bytes = kCostingBytes;
  options.train_compositions = 300;
  options.development_compositions = 60;
  options.test_compositions = 0;
  return options;
}

const SyntheticTasks& many_tasks() {
  static const SyntheticTasks tasks = synthesise(many());
  return tasks;
}

std::string signature(const std::string& program) {
  const auto technique = read_technique(program);
  return technique ? technique->text() : "none";
}

}  // namespace

TEST_CASE("a chain has several forms, each with a text and a technique of its own", "[forms]") {
  for (const Example& example : examples()) {
    const auto forms = example.forms();
    INFO(example.composition().front() << " " << example.composition().back() << ": " << forms.size());
    CHECK(forms.size() >= 5);
    CHECK(forms.size() <= 60);
    CHECK(forms.front() == plain_form(example.chain));
    std::set<std::string> texts, techniques;
    for (const Form& form : forms) {
      const KnownProgram program = write_form(example.chain, form);
      texts.insert(program.cuda_code);
      techniques.insert(program.technique);
      CHECK(program.prefix + program.middle + program.suffix == program.cuda_code);
      CHECK(guessed_cost(example.chain, form) > 0);
    }
    CHECK(texts.size() == forms.size());
    CHECK(techniques.size() == forms.size());
  }
}

TEST_CASE("every form reads back as its technique", "[forms]") {
  for (const Example& example : examples()) {
    for (const Form& form : example.forms()) {
      const KnownProgram program = write_form(example.chain, form);
      INFO(program.cuda_code);
      const auto technique = read_technique(program.cuda_code);
      REQUIRE(technique);
      CHECK(*technique == technique_of(example.chain, form));
      CHECK(technique->text() == program.technique);
      CHECK(read_technique(program.middle) == technique);
    }
  }
}

TEST_CASE("programs stay short: few pieces, which the grammar's text falls into again", "[forms]") {
  for (const Example& example : examples()) {
    for (const Form& form : example.forms()) {
      const std::string text = write_form(example.chain, form).cuda_code;
      const auto split = split_into_pieces(text);
      REQUIRE(split);
      CHECK(split->size() <= 56);
      CHECK(text.size() < 5000);
      std::string again;
      for (const std::string_view piece : *split) again += piece;
      CHECK(again == text);
    }
  }
}

TEST_CASE("techniques by example", "[forms]") {
  const auto of = [](const std::vector<ChainStep>& chain, const Form& form) {
    return signature(write_form(chain, form).cuda_code);
  };
  const std::vector<ChainStep> maximum = {form_step("abs"), form_step("max"), form_step("tanh")};
  CHECK(of(maximum, plain_form(maximum)) == "kernels=3 map=if+row:1+if width=1 reduce=none threads=128");
  CHECK(of(maximum, {.fused = true,
                     .width = 4,
                     .threads = 128,
                     .lanes = Lanes::kWarp,
                     .reduction = RowReduction::kShuffle}) ==
        "kernels=1 map=row:32 width=4 reduce=shuffle threads=128");
  const std::vector<ChainStep> softmax = {form_step("abs"), form_step("softmax")};
  CHECK(of(softmax, {.fused = true,
                     .threads = 64,
                     .lanes = Lanes::kBlock,
                     .reduction = RowReduction::kWarps,
                     .passes = SoftmaxPasses::kKeep}) ==
        "kernels=1 map=row:T-unchecked width=1 reduce=warps passes=1 threads=64");
  const std::vector<ChainStep> elements = {form_step("relu"), form_step("cos")};
  CHECK(of(elements, plain_form(elements)) == "kernels=2 map=if width=1 threads=256");
  const std::vector<ChainStep> stencil = {form_step("avg3"), form_step("cos")};
  CHECK(of(stencil, {.fused = true, .width = 2, .threads = 64, .tiled = true}) ==
        "kernels=1 map=tile-if width=2 threads=64");
}

TEST_CASE("recombinations that no form gives are read as well", "[forms]") {
  const std::vector<ChainStep> chain = {form_step("relu"), form_step("cos")};
  const std::string two = write_form(chain, plain_form(chain)).cuda_code;
  const std::string strided =
      first_replaced(first_replaced(two, "    if (i < rows * cols / W) {\n",
                                    "    for (; i < rows * cols / W; i += gridDim.x * T) {\n"),
                     "constexpr int T = 256;", "constexpr int T = 32;");
  CHECK(signature(strided) == "kernels=2 map=stride+if width=1 threads=32");
  const std::vector<ChainStep> rows = {form_step("abs"), form_step("sum")};
  const std::string tree =
      write_form(rows,
                 {.fused = true, .threads = 128, .lanes = Lanes::kEight, .reduction = RowReduction::kTree})
          .cuda_code;
  CHECK(signature(first_replaced(tree, "r < rows;", "true;")) ==
        "kernels=1 map=row:8-unchecked width=1 reduce=tree threads=128");
  CHECK(signature(first_replaced(tree, "float after(float v) {\n",
                                 "float after(float v) {\n    v = v + 9.0f;\n")) ==
        "kernels=1 map=row:8 width=1 reduce=tree threads=128");
  CHECK(signature(tree + "\n\n") == "kernels=1 map=row:8 width=1 reduce=tree threads=128");
}

TEST_CASE("what is not of the grammar, or lacks a part, has no technique", "[forms]") {
  const std::vector<ChainStep> chain = {form_step("abs"), form_step("sum")};
  const std::string program = write_form(chain, plain_form(chain)).cuda_code;
  const std::string threads = "constexpr int T = 128;\n", lanes = "constexpr int L = 1;\n";
  REQUIRE(read_technique(program));
  CHECK_FALSE(read_technique(""));
  CHECK_FALSE(read_technique("    v = v + 1.0f;\n"));
  CHECK_FALSE(read_technique(program + "pass\n"));
  CHECK_FALSE(read_technique(program.substr(0, program.size() / 2)));
  CHECK_FALSE(read_technique(first_replaced(program, "float after", "float  after")));
  CHECK_FALSE(read_technique(first_replaced(program, threads, "")));
  CHECK_FALSE(read_technique(first_replaced(program, threads, threads + threads)));
  CHECK_FALSE(read_technique(first_replaced(program, lanes, "")));
  CHECK_FALSE(read_technique(first_replaced(program, "    k2<<<", "    k3<<<")));
  CHECK_FALSE(read_technique(many_tasks().train.front().pytorch_code));
}

TEST_CASE("forms that would read beyond a row or the input, or race, are not correct", "[forms]") {
  const std::vector<ChainStep> elements = {form_step("relu"), form_step("cos")},
                               row = {form_step("relu"), form_step("add_row")},
                               sum = {form_step("relu"), form_step("sum")},
                               reduced = {form_step("sum"), form_step("tanh")},
                               softmax = {form_step("relu"), form_step("softmax")},
                               stencil = {form_step("relu"), form_step("max3")};
  CHECK(is_correct(elements, {.fused = true, .width = 4}, {8, 33}));
  CHECK_FALSE(is_correct(elements, {.fused = true, .width = 4}, {7, 33}));
  CHECK_FALSE(is_correct(elements, {.fused = true, .map = PackMap::kRow, .width = 4}, {8, 33}));
  CHECK_FALSE(is_correct(row, {.fused = true, .width = 4}, {8, 33}));
  CHECK_FALSE(is_correct(stencil, {.fused = true, .width = 4}, {8, 33}));
  CHECK(is_correct(elements, {.map = PackMap::kUnchecked, .width = 4, .threads = 64}, {64, 64}));
  CHECK_FALSE(is_correct(elements, {.map = PackMap::kUnchecked, .width = 4, .threads = 64}, {24, 48 - 1}));
  CHECK_FALSE(is_correct(stencil, {.map = PackMap::kStride, .tiled = true}, {64, 64}));
  CHECK_FALSE(is_correct(elements, {.tiled = true}, {64, 64}));
  const auto rows = [](Lanes lanes, RowReduction reduction, int threads = 128) {
    return Form{.fused = true, .threads = threads, .lanes = lanes, .reduction = reduction};
  };
  CHECK(is_correct(sum, rows(Lanes::kOne, RowReduction::kNone), {64, 16}));
  CHECK_FALSE(is_correct(sum, rows(Lanes::kEight, RowReduction::kNone), {64, 16}));
  CHECK(is_correct(sum, rows(Lanes::kBlock, RowReduction::kShuffle, 32), {64, 16}));
  CHECK_FALSE(is_correct(sum, rows(Lanes::kBlock, RowReduction::kShuffle), {64, 16}));
  CHECK_FALSE(is_correct(sum, rows(Lanes::kWarp, RowReduction::kWarps), {64, 16}));
  CHECK_FALSE(is_correct(sum, {.fused = true, .threads = 128, .passes = SoftmaxPasses::kKeep}, {64, 16}));
  CHECK_FALSE(is_correct(elements, rows(Lanes::kEight, RowReduction::kTree), {64, 64}));
  CHECK_FALSE(is_correct(reduced, {.width = 4}, {50, 8}));
  CHECK(is_correct(reduced, {.fused = true, .width = 4}, {50, 8}));
  Form keep = rows(Lanes::kEight, RowReduction::kTree);
  keep.passes = SoftmaxPasses::kKeep;
  CHECK(is_correct(softmax, keep, {64, 32}));
  CHECK_FALSE(is_correct(softmax, keep, {64, 33}));
}

TEST_CASE("softmax joins twice through shared memory, with a barrier between; a sum needs none", "[forms]") {
  const auto barriers = [](const std::vector<ChainStep>& chain, RowReduction reduction) {
    const auto split = split_into_pieces(
        write_form(chain, {.fused = true, .threads = 64, .lanes = Lanes::kBlock, .reduction = reduction})
            .cuda_code);
    REQUIRE(split);
    return std::ranges::count(*split, "    __syncthreads();\n");
  };
  for (const RowReduction reduction : {RowReduction::kTree, RowReduction::kWarps}) {
    CHECK(barriers({form_step("abs"), form_step("sum")}, reduction) == 1);
    CHECK(barriers({form_step("abs"), form_step("softmax")}, reduction) == 2);
  }
}

TEST_CASE("the operators' lines stand where the form computes them", "[forms]") {
  const std::vector<ChainStep> chain = {form_step("abs"), form_step("sum"), form_step("clamp", {"0.5"})};
  const Form fused = {.fused = true, .threads = 128};
  CHECK_THAT(write_form(chain, fused).middle,
             ContainsSubstring("float before(float v) {\n    v = fabsf(v);\n    return v;\n}\n"));
  CHECK_THAT(write_form(chain, fused).middle,
             ContainsSubstring("float after(float v) {\n    v = fminf(fmaxf(v, -0.5f), 0.5f);\n"));
  CHECK_THAT(write_form(chain, plain_form(chain)).middle,
             ContainsSubstring("float f3(float v) {\n    v = fminf(fmaxf(v, -0.5f), 0.5f);\n"));
  const std::vector<ChainStep> row = {form_step("abs"), form_step("mul_row")};
  CHECK_THAT(write_form(row, plain_form(row)).middle,
             ContainsSubstring("float f2(float v, float y) {\n    v = v * y;\n"));
}

TEST_CASE("of every family some techniques are shown and some held back, in the parts of which all is shown",
          "[forms]") {
  std::map<std::string, int> shown, held_back;
  std::set<std::string> shown_parts, all_parts;
  const auto family_of = [](const std::vector<std::string>& composition) {
    for (const std::string& name : composition) {
      const auto kind = synthetic_operator(name).kind;
      if (kind == OperatorKind::kReduction) return name;
      if (kind != OperatorKind::kPointwise) return concat("kind ", static_cast<int>(kind));
    }
    return std::string("elementwise");
  };
  const auto add_parts = [](const Technique& technique, std::set<std::string>& parts) {
    for (const std::string& map : technique.maps) parts.insert("map " + map);
    parts.insert(concat("width ", technique.width));
    parts.insert("reduce " + technique.reduction);
    parts.insert(concat("passes ", technique.passes));
  };
  std::vector<ChainStep> pointwise;
  for (const auto& op : synthetic_operators())
    if (op.kind == OperatorKind::kPointwise) pointwise.push_back({&op, op.constants[0]});
  for (const auto& op : synthetic_operators()) {
    if (op.kind == OperatorKind::kPointwise) continue;
    for (const ChainStep& other : pointwise) {
      for (const auto& chain :
           {std::vector<ChainStep>{other, {&op, {}}}, {{&op, {}}, other}, {other, pointwise[3]}}) {
        const Example example{chain, {64, 16}};
        for (const Form& form : example.forms()) {
          const Technique technique = technique_of(chain, form);
          const bool is = is_known_technique(example.composition(), technique);
          ++(is ? shown : held_back)[family_of(example.composition())];
          add_parts(technique, all_parts);
          if (is) add_parts(technique, shown_parts);
        }
        CHECK(is_known_technique(example.composition(), technique_of(chain, plain_form(chain))));
      }
    }
  }
  CHECK(shown.size() == 7);
  CHECK(held_back.size() == 7);
  for (const auto& [family, count] : shown) {
    INFO(family << ": " << count << " shown, " << held_back[family] << " held back");
    CHECK(count >= 40);
    CHECK(held_back[family] >= 40);
  }
  all_parts.erase("map tile-unchecked");  // `tile-` and `unchecked` are shown apart
  CHECK(shown_parts == all_parts);
}

TEST_CASE("the best form of some families is never shown to them", "[forms]") {
  const auto technique = [](const std::vector<ChainStep>& chain, const Form& form) {
    return is_known_technique(Example{chain, {}}.composition(), technique_of(chain, form));
  };
  const auto warp = [](int width, SoftmaxPasses passes = SoftmaxPasses::kThree) {
    return Form{.fused = true,
                .width = width,
                .threads = 128,
                .lanes = Lanes::kWarp,
                .reduction = RowReduction::kShuffle,
                .passes = passes};
  };
  for (const auto& op : synthetic_operators()) {
    if (op.kind != OperatorKind::kPointwise) continue;
    const ChainStep other{&op, op.constants[0]};
    for (const char* name : {"sum", "mean"}) CHECK_FALSE(technique({other, form_step(name)}, warp(1)));
    for (const char* name : {"sum", "mean", "max"}) CHECK_FALSE(technique({form_step(name), other}, warp(4)));
    CHECK_FALSE(technique({other, form_step("softmax")}, warp(1, SoftmaxPasses::kKeep)));
    CHECK_FALSE(technique({other, form_step("add_row")}, {.fused = true, .width = 4}));
    CHECK_FALSE(technique({other, form_step("avg3")}, {.fused = true, .width = 4, .tiled = true}));
  }
}

TEST_CASE("tasks know the plain program and shown ones from expensive to cheap", "[forms]") {
  const auto& [train, development, test] = many_tasks();
  size_t alternatives = 0, without = 0;
  for (const auto* tasks : {&train, &development}) {
    for (const Task& task : *tasks) {
      INFO(task.id);
      const auto plain = read_technique(task.cuda_code);
      REQUIRE(plain);
      CHECK(plain->kernels == task.level);
      CHECK(plain->width == 1);
      CHECK(task.alternatives.size() <= 8);
      alternatives += task.alternatives.size();
      without += task.alternatives.empty();
      std::set<std::string> texts = {task.cuda_code};
      for (const KnownProgram& known : task.alternatives) {
        texts.insert(known.cuda_code);
        const auto technique = read_technique(known.cuda_code);
        REQUIRE(technique);
        CHECK(technique->text() == known.technique);
        CHECK(is_known_technique(task.composition, *technique));
        CHECK(known.suffix == task.suffix);
        CHECK(known.prefix == task.prefix);
      }
      CHECK(texts.size() == 1 + task.alternatives.size());
      const Prompt prompt = make_prompt(task, Stage::kInfilling, PromptStyle::kCompact, Scaffold::kClamp);
      CHECK(prompt.text.size() < 2200);
      for (const KnownProgram& known : task.alternatives)
        CHECK_NOTHROW(expected_answer(prompt, known.cuda_code));
    }
  }
  CHECK(alternatives > 3 * (train.size() + development.size()));
  CHECK(without < (train.size() + development.size()) / 10);
}

TEST_CASE("with more alternatives a task knows those that it knew, and more", "[forms]") {
  SynthesisOptions options = many();
  options.train_compositions = 100;
  options.development_compositions = 0;
  const auto texts_of = [&](int most) {
    options.alternatives = most;
    std::vector<std::set<std::string>> texts;
    for (const Task& task : synthesise(options).train) {
      texts.emplace_back();
      for (const KnownProgram& known : task.alternatives) texts.back().insert(known.cuda_code);
    }
    return texts;
  };
  const auto none = texts_of(0), few = texts_of(8), all = texts_of(1000);
  size_t more = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    CHECK(none[i].empty());
    CHECK(std::ranges::includes(all[i], few[i]));
    more += all[i].size() > few[i].size();
  }
  CHECK(more > 10);
}

TEST_CASE("tasks with many programs are a function of the options, and survive a file", "[forms]") {
  SynthesisOptions options = many();
  options.train_compositions = 60;
  options.development_compositions = 20;
  const SyntheticTasks first = synthesise(options), again = synthesise(options);
  CHECK(hash_of(first.train) == hash_of(again.train));
  CHECK(first.development == again.development);
  const TaskSet set = parse_task_set(tasks_to_json_lines(first.train), "train.jsonl");
  CHECK(set.errors.empty());
  CHECK(set.tasks == first.train);
}

TEST_CASE("of chains with a reduction, softmax or stencil in the middle no program need be known",
          "[forms]") {
  struct InteriorOperators {
    std::set<std::vector<std::string>> known, unknown;  // compositions
  };
  const auto interior_operators = [](double known_interior_operators) {
    SynthesisOptions options = many();
    options.variants = 2;
    options.known_interior_operators = known_interior_operators;
    const SyntheticTasks tasks = synthesise(options);
    CHECK(std::ranges::none_of(tasks.development, [](const Task& task) { return task.cuda_code.empty(); }));
    InteriorOperators found;
    for (const Task& task : tasks.train) {
      const auto kind = [&](size_t place) { return synthetic_operator(task.composition[place]).kind; };
      const bool middle =
          task.level == 3 && kind(1) != OperatorKind::kPointwise && kind(1) != OperatorKind::kRowVector;
      if (middle) (task.cuda_code.empty() ? found.unknown : found.known).insert(task.composition);
      if (!task.cuda_code.empty()) continue;
      CHECK(middle);
      CHECK_FALSE(task.has_scaffold());
      CHECK(task.alternatives.empty());
      CHECK_THAT(task.pytorch_code, ContainsSubstring("class Model("));
    }
    return found;
  };
  const InteriorOperators all = interior_operators(1), some = interior_operators(0.3),
                          none = interior_operators(0);
  CHECK(all.unknown.empty());
  CHECK(none.known.empty());
  CHECK(none.unknown.size() > 10);
  CHECK(some.known.size() + some.unknown.size() == none.unknown.size());
  CHECK(some.known.size() > none.unknown.size() / 10);
  CHECK(some.known.size() < none.unknown.size() / 2);
  for (const auto& composition : some.known) CHECK_FALSE(some.unknown.contains(composition));
}

// Run by hand: `BICRL_FORMS_FILE=forms.jsonl test_tasks "[forms-file]"` (BICRL_FORMS_BYTES,
// BICRL_FORMS_REPEATS: see below), then `bicrl verify --tasks
// forms.jsonl
// --json verdicts.json`, which finds every one correct.
TEST_CASE("every form of the examples as a task of its own, for the verifier", "[.][forms-file]") {
  const char* file = std::getenv("BICRL_FORMS_FILE");
  if (!file) SKIP("BICRL_FORMS_FILE names the file to write");
  const auto number_of = [](const char* name, int64_t otherwise) {
    const char* value = std::getenv(name);
    return value ? std::stoll(value) : otherwise;
  };
  // Inputs and outputs that are costed or timed, and how many times they are taken for modelled times.
  const int64_t bytes = number_of("BICRL_FORMS_BYTES", 1 << 17);
  const int repeats = static_cast<int>(number_of("BICRL_FORMS_REPEATS", 1));
  std::vector<Task> tasks;
  for (const Example& example : examples()) {
    const Shape costed = costed_shape(example.chain, example.shape, bytes);
    for (const Form& form : all_forms(example.chain, example.shape, costed)) {
      const KnownProgram program = write_form(example.chain, form);
      Task task = write_module(example.chain, example.shape, CostedInputs{costed, repeats});
      task.id = example.chain[0].op->name;
      for (size_t i = 1; i < example.chain.size(); ++i) task.id += concat("-", example.chain[i].op->name);
      task.id += concat(" ", program.technique);
      task.cuda_code = program.cuda_code;
      tasks.push_back(std::move(task));
    }
  }
  save_tasks(file, tasks);
}
