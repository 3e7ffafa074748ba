#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "tasks/prompt.h"
#include "tasks/prompt_example.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

Task scaffolded() {
  Task task;
  task.id = "t";
  task.pytorch_code = "THE MODULE\n";
  task.prefix = "THE PREFIX\n";
  task.middle = "source = \"\"\"\nkernel\n\"\"\"";
  task.suffix = "\n\nTHE SUFFIX \"\"\"decl\"\"\"\n";
  task.cuda_code = task.prefix + task.middle + task.suffix;
  return task;
}

// What the decoder makes of a clamped prompt and a generated text: all up to the delimiter, then the suffix.
std::string respond(const Prompt& prompt, const std::string& generated) {
  const size_t end = generated.find(prompt.clamp_delimiter);
  REQUIRE(end != std::string::npos);
  return prompt.clamp_prefix + generated.substr(0, end) + prompt.clamp_delimiter + prompt.clamp_suffix;
}

size_t position(const std::string& text, const std::string& part) {
  INFO(part);
  const size_t found = text.find(part);
  REQUIRE(found != std::string::npos);
  return found;
}

}  // namespace

TEST_CASE("names of styles and scaffolds") {
  CHECK(parse_prompt_style("published") == PromptStyle::kPublished);
  CHECK(parse_prompt_style("compact") == PromptStyle::kCompact);
  CHECK(parse_prompt_style("dice") == PromptStyle::kDice);
  for (const std::string& name : prompt_style_names()) CHECK_NOTHROW(parse_prompt_style(name));
  CHECK_THROWS_AS(parse_prompt_style("short"), InputError);
  CHECK(parse_scaffold("clamp") == Scaffold::kClamp);
  CHECK(parse_scaffold("prompt") == Scaffold::kPrompt);
  CHECK_THROWS_AS(parse_scaffold(""), InputError);
}

TEST_CASE("published end-to-end prompt: role, example, task, rules, in one chat turn") {
  const Prompt prompt =
      make_prompt(scaffolded(), Stage::kEndToEnd, PromptStyle::kPublished, Scaffold::kPrompt);
  CHECK_THAT(prompt.text, StartsWith("<|im_start|>user\n"));
  CHECK_THAT(prompt.text, EndsWith("<|im_end|>\n<|im_start|>assistant\n"));
  const WorkedExample& example = worked_example();
  const size_t module = position(prompt.text, std::string(example.pytorch_code));
  const size_t program = position(prompt.text, example.program());
  const size_t task = position(prompt.text, "THE MODULE\n```");
  CHECK(module < program);
  CHECK(program < task);
  CHECK(task < position(prompt.text, "ModelNew. Answer with the whole program"));
  CHECK_THAT(prompt.text, !ContainsSubstring("THE PREFIX"));
  CHECK(prompt.clamp_prefix.empty());
  CHECK(prompt.clamp_delimiter.empty());
  CHECK(prompt.clamp_suffix.empty());
  CHECK(prompt.task_id == "t");
}

TEST_CASE("published infilling prompt shows example and task as architecture, prefix and suffix") {
  const Prompt prompt =
      make_prompt(scaffolded(), Stage::kInfilling, PromptStyle::kPublished, Scaffold::kPrompt);
  const WorkedExample& example = worked_example();
  const size_t places[] = {position(prompt.text, std::string(example.pytorch_code)),
                           position(prompt.text, "The given prefix is:"),
                           position(prompt.text, "The given suffix is:"),
                           position(prompt.text, example.program()),
                           position(prompt.text, "THE MODULE"),
                           position(prompt.text, "THE PREFIX"),
                           position(prompt.text, "THE SUFFIX"),
                           position(prompt.text, "<|im_end|>")};
  for (size_t i = 1; i < std::size(places); ++i) CHECK(places[i - 1] < places[i]);
  CHECK_THAT(prompt.text, !ContainsSubstring("kernel\n\"\"\"\n\n```"));
  CHECK(prompt.clamp_prefix.empty());
}

TEST_CASE("dice prompts say what published ones say, in DICE's own spelling of turn and code blocks") {
  const Task task = scaffolded();
  const auto as_dice = [](std::string text) {
    const std::string usual = "<|im_end|>\n<|im_start|>assistant\n";
    const size_t end = position(text, usual);
    text.replace(end, usual.size(), " <|im_end|>\n<|im_start|>assistant\n\n");
    for (size_t at = text.find("```python\n"); at < end; at = text.find("```python\n", at))
      text.erase(at + 3, 6);
    return text;
  };
  for (const Stage stage : {Stage::kInfilling, Stage::kEndToEnd}) {
    const Prompt dice = make_prompt(task, stage, PromptStyle::kDice, Scaffold::kPrompt);
    CHECK(dice.text == as_dice(make_prompt(task, stage, PromptStyle::kPublished, Scaffold::kPrompt).text));
    CHECK(dice.answer_opening == "<think>\n\n</think>\n\n```python\n");
  }
  const Prompt clamped = make_prompt(task, Stage::kInfilling, PromptStyle::kDice, Scaffold::kClamp);
  CHECK_THAT(clamped.text, EndsWith("<|im_start|>assistant\n\n<think>\n\n</think>\n\n```python\n"));
}

TEST_CASE("the expected answer has the form that the prompt asks for, and reads back as its program") {
  Task task = scaffolded();
  const auto answer = [&](Stage stage, PromptStyle style, Scaffold scaffold) {
    return expected_answer(make_prompt(task, stage, style, scaffold), task.cuda_code);
  };
  CHECK(answer(Stage::kEndToEnd, PromptStyle::kCompact, Scaffold::kClamp) == task.cuda_code);
  CHECK(answer(Stage::kEndToEnd, PromptStyle::kPublished, Scaffold::kClamp) ==
        "```python\n" + task.cuda_code + "```");
  CHECK(answer(Stage::kEndToEnd, PromptStyle::kDice, Scaffold::kClamp) ==
        "<think>\n\n</think>\n\n```python\n" + task.cuda_code + "```");
  for (const std::string& name : prompt_style_names()) {
    INFO(name);
    const PromptStyle style = parse_prompt_style(name);
    for (const Stage stage : {Stage::kInfilling, Stage::kEndToEnd})
      CHECK(extract_program(answer(stage, style, Scaffold::kPrompt)) == task.cuda_code);
    const Prompt clamped = make_prompt(task, Stage::kInfilling, style, Scaffold::kClamp);
    CHECK(expected_answer(clamped, task.cuda_code) == "kernel\n\"\"\"");
    CHECK(extract_program(respond(clamped, expected_answer(clamped, task.cuda_code))) == task.cuda_code);
    CHECK_THROWS_AS(expected_answer(clamped, "import torch\n"), InputError);
    const std::string fence = "THE PREFIX\n# ```\n";
    CHECK_THROWS_AS(expected_answer(make_prompt(task, Stage::kEndToEnd, style, Scaffold::kClamp), fence),
                    InputError);
  }
  // A program without a newline at its end gets one in a code block.
  CHECK(extract_program(expected_answer(
            make_prompt(task, Stage::kEndToEnd, PromptStyle::kPublished, Scaffold::kClamp), "x = 1")) ==
        "x = 1\n");
}

TEST_CASE("compact prompts hold the task between markers and end alike in both stages") {
  const Task task = scaffolded();
  const auto text = [&](Stage stage, Scaffold scaffold) {
    return make_prompt(task, stage, PromptStyle::kCompact, scaffold).text;
  };
  const std::string program = "<|program|>THE MODULE\n<|answer|>";
  CHECK(text(Stage::kEndToEnd, Scaffold::kClamp) == program);
  CHECK(text(Stage::kInfilling, Scaffold::kClamp) == "<|infill|><|gap|>" + task.suffix + program);
  CHECK(text(Stage::kInfilling, Scaffold::kPrompt) ==
        "<|infill|>THE PREFIX\n<|gap|>" + task.suffix + program);
}

TEST_CASE("a clamped response is the verbatim scaffold around what was generated") {
  const Task task = scaffolded();
  for (PromptStyle style : {PromptStyle::kPublished, PromptStyle::kDice, PromptStyle::kCompact}) {
    const Prompt prompt = make_prompt(task, Stage::kInfilling, style, Scaffold::kClamp);
    CHECK(prompt.clamp_prefix == "THE PREFIX\nsource = \"\"\"\n");
    CHECK(prompt.clamp_delimiter == "\"\"\"");
    CHECK(prompt.clamp_suffix == task.suffix);
    CHECK(respond(prompt, "kernel\n\"\"\"\n\nanything") == task.cuda_code);
    CHECK(extract_program(respond(prompt, "kernel\n\"\"\"")) == task.cuda_code);
  }
}

TEST_CASE("the clamp keeps what follows the closing quotes and splits at the first opening ones") {
  Task task = scaffolded();
  task.middle = "# \"note\"\nsource = r\"\"\"kernel\"\"\" + '\\n'\n";
  task.cuda_code = task.prefix + task.middle + task.suffix;
  const Prompt prompt = make_prompt(task, Stage::kInfilling, PromptStyle::kCompact, Scaffold::kClamp);
  CHECK(prompt.clamp_prefix == "THE PREFIX\n# \"note\"\nsource = r\"\"\"");
  CHECK(respond(prompt, "kernel\"\"\"") == task.cuda_code);
}

TEST_CASE("a task without the scaffold that the stage needs is refused by name") {
  Task bare = scaffolded();
  bare.prefix = bare.middle = bare.suffix = "";
  CHECK_NOTHROW(make_prompt(bare, Stage::kEndToEnd, PromptStyle::kCompact, Scaffold::kClamp));
  for (Scaffold scaffold : {Scaffold::kClamp, Scaffold::kPrompt})
    CHECK_THROWS_AS(make_prompt(bare, Stage::kInfilling, PromptStyle::kCompact, scaffold), InputError);
  Task open = scaffolded();
  open.middle = "source = \"\"\"\nkernel";
  CHECK_THROWS_AS(make_prompt(open, Stage::kInfilling, PromptStyle::kCompact, Scaffold::kClamp), InputError);
  open.middle = "kernel";
  CHECK_THROWS_AS(make_prompt(open, Stage::kInfilling, PromptStyle::kCompact, Scaffold::kClamp), InputError);
  CHECK_NOTHROW(make_prompt(open, Stage::kInfilling, PromptStyle::kCompact, Scaffold::kPrompt));
}

TEST_CASE("every infilling task can be clamped and put together again") {
  for (const auto& path : bicrl::testing::task_files("infilling_tasks.json")) {
    for (const Task& task : load_tasks(path)) {
      INFO(path << ": " << task.id);
      const Prompt prompt = make_prompt(task, Stage::kInfilling, PromptStyle::kPublished, Scaffold::kClamp);
      const std::string body = task.cuda_code.substr(prompt.clamp_prefix.size());
      CHECK(task.cuda_code.starts_with(prompt.clamp_prefix));
      CHECK(respond(prompt, body) == task.cuda_code);
    }
  }
}

TEST_CASE("stage is read back by its name") {
  for (Stage stage : {Stage::kInfilling, Stage::kEndToEnd}) CHECK(parse_stage(to_string(stage)) == stage);
  CHECK_THROWS_AS(parse_stage("warm_up"), InputError);
}

TEST_CASE("the program in a response") {
  CHECK(extract_program("import torch\n") == "import torch\n");
  CHECK(extract_program("") == "");
  CHECK(extract_program("Sure:\n```python\nimport torch\n```\nand\n```\nother\n```") == "import torch\n");
  CHECK(extract_program("```cpp\ncode\n```") == "code\n");
  CHECK(extract_program("```\ncode\n```") == "code\n");
  CHECK(extract_program("```python import torch\n```") == "import torch\n");
  CHECK(extract_program("```\npython_like = 1\n```") == "python_like = 1\n");
  CHECK(extract_program("```cudart = 1\n```") == "cudart = 1\n");
  CHECK(extract_program("```python\nimport torch\n") == "");
  CHECK(extract_program("``````") == "");
  CHECK(extract_program("```python\n```") == "");
}
