#include "tasks/prompt.h"

#include <algorithm>
#include <string_view>

#include "common/error.h"
#include "tasks/chat_template.h"
#include "tasks/prompt_example.h"
#include "verdict/fault/fault_class.h"

namespace bicrl {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>user\n";
constexpr std::string_view kFence = "```";
constexpr std::string_view kQuotes = "\"\"\"";

constexpr std::string_view kRole =
    "You write custom CUDA kernels that replace the PyTorch operators of a given architecture. You may "
    "replace "
    "all operators or several, fuse neighbouring operators into one kernel, and change the algorithm as long "
    "as "
    "the results stay the same. The kernels are embedded in Python with load_inline.\n\n";

constexpr std::string_view kRules =
    "Name the optimized architecture ModelNew. Answer with the whole program in one code block: real code "
    "that "
    "compiles and runs, no pseudocode, no test code, nothing besides the code.\n";

// A task may name larger inputs beside those that programs are judged on.
std::string_view note_of_costing(const Task& task) {
  constexpr std::string_view kNote =
      "It is run on what get_inputs() gives and on what get_costing_inputs() gives, and timed on the "
      "latter.\n\n";
  return task.pytorch_code.find("def get_costing_inputs") == std::string::npos ? "" : kNote;
}

// How a chat style spells its turn and its code blocks.
struct ChatForm {
  std::string_view language;        // behind a fence that opens
  std::string_view turn_end;        // of the user's turn, up to where the answer begins
  std::string_view answer_opening;  // what an answer has before the program

  std::string fenced(std::string_view text) const {
    return concat(kFence, language, "\n", text, text.ends_with('\n') ? "" : "\n", kFence, "\n\n");
  }
};

// SDAR's chat template (chat_template.jinja without system turn), which DICE uses for supervised training and
// for its evaluation.
constexpr ChatForm kPublishedForm = {
    .language = "python", .turn_end = "<|im_end|>\n<|im_start|>assistant\n", .answer_opening = "```python\n"};

// From DICE's rollout script (training/RL/sample/sdar_rl_rollout_kernel.py): fences without a language, a
// space before the end of the turn, an empty line after "assistant". From its supervised data as
// LLaMA-Factory's template qwen3 writes them: an answer without reasoning begins with an empty think block.
// The language word of the answer's code block is ours; the script takes a block with and without one.
constexpr ChatForm kDiceForm = {.language = "",
                                .turn_end = " <|im_end|>\n<|im_start|>assistant\n\n",
                                .answer_opening = "<think>\n\n</think>\n\n```python\n"};

const ChatForm& chat_form(PromptStyle style) {
  return style == PromptStyle::kDice ? kDiceForm : kPublishedForm;
}

// Role, worked example, task and request follow one another as in KernelBench's one-shot prompt, which DICE
// uses. `attempt` stands between the task and the request; empty if nothing was tried.
std::string chat_end_to_end(const Task& task, const ChatForm& form, const std::string& attempt) {
  const auto fenced = [&](std::string_view text) { return form.fenced(text); };
  const WorkedExample& example = worked_example();
  return concat(kTurnStart, kRole, "Here is an example. The given architecture is:\n\n",
                fenced(example.pytorch_code), "The architecture with custom CUDA kernels is:\n\n",
                fenced(example.program()), "Now you are given this architecture:\n\n",
                fenced(task.pytorch_code), note_of_costing(task), attempt,
                "Optimize it with custom CUDA kernels. ", kRules, form.turn_end);
}

// The same with the scaffold, in the order of DICE's infilling prompt.
std::string chat_infilling(const Task& task, const ChatForm& form, const std::string& attempt) {
  const auto fenced = [&](std::string_view text) { return form.fenced(text); };
  const WorkedExample& example = worked_example();
  return concat(kTurnStart, kRole,
                "The beginning (prefix) and the end (suffix) of the program are given. You write what stands "
                "between them: the CUDA source with its kernels and the function that launches them.\n\n",
                "Here is an example. The given architecture is:\n\n", fenced(example.pytorch_code),
                "The given prefix is:\n\n", fenced(example.prefix), "The given suffix is:\n\n",
                fenced(example.suffix), "The combined program is:\n\n", fenced(example.program()),
                "Now you are given this architecture:\n\n", fenced(task.pytorch_code), note_of_costing(task),
                "The prefix is:\n\n", fenced(task.prefix), "The suffix is:\n\n", fenced(task.suffix), attempt,
                "Complete the program. Keep prefix and suffix exactly as they are. ", kRules, form.turn_end);
}

// Both stages end in the same words, so that what is learnt in one carries over to the other. The prefix is
// left out if the response is made to begin with it.
std::string compact(const Task& task, Stage stage, Scaffold scaffold) {
  const std::string end_to_end = concat("<|program|>", task.pytorch_code, "<|answer|>");
  if (stage == Stage::kEndToEnd) return end_to_end;
  return concat("<|infill|>", scaffold == Scaffold::kPrompt ? task.prefix : "", "<|gap|>", task.suffix,
                end_to_end);
}

// Splits the middle at its first and last triple quote. The newline after the opening quotes belongs to the
// opening: with it the seam lies at a line's end, where tokenizers have a boundary anyway.
void set_clamp(const Task& task, Prompt& prompt) {
  if (const std::string problem = clamp_problem(task.middle); !problem.empty())
    throw InputError(concat("task '", task.id, "': the middle ", problem));
  size_t body = task.middle.find(kQuotes) + kQuotes.size();
  const size_t closing = task.middle.find(kQuotes, body);
  if (task.middle[body] == '\n') ++body;
  prompt.clamp_prefix = task.prefix + task.middle.substr(0, body);
  prompt.clamp_delimiter = kQuotes;
  prompt.clamp_suffix = task.middle.substr(closing + kQuotes.size()) + task.suffix;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Text of a policy or a compiler as mere text: it can neither end the turn nor the code block it stands in.
std::string defused(std::string text) {
  replace_all(text, "<|", "< |");
  replace_all(text, kFence, "'''");
  return text;
}

bool kept_scaffold(const Task& task, const std::string& program) {
  return program.size() >= task.prefix.size() + task.suffix.size() && program.starts_with(task.prefix) &&
         program.ends_with(task.suffix);
}

struct AttemptText {
  bool is_middle = false;
  std::string code, fault_class, diagnostics;
};

AttemptText describe_attempt(const Task& task, Stage stage, const FailedAttempt& attempt) {
  AttemptText text;
  text.is_middle = stage == Stage::kInfilling && kept_scaffold(task, attempt.program);
  const size_t begin = text.is_middle ? task.prefix.size() : 0;
  const size_t end = attempt.program.size() - (text.is_middle ? task.suffix.size() : 0);
  text.code = defused(attempt.program.substr(begin, end - begin));
  text.fault_class = defused(attempt.fault_class);
  text.diagnostics = defused(attempt.diagnostics);
  return text;
}

std::string chat_attempt(const AttemptText& text, const ChatForm& form) {
  std::string_view meaning;
  for (const FaultClassEntry& known : fault_classes())
    if (known.name == text.fault_class) meaning = known.meaning;
  std::string reason = concat("It failed with the fault ", text.fault_class);
  if (!meaning.empty()) reason += concat(" (", meaning, ")");
  if (!text.diagnostics.empty())
    reason += concat(". The diagnostics are:\n\n", kFence, "\n", text.diagnostics,
                     text.diagnostics.ends_with('\n') ? "" : "\n", kFence, "\n\n");
  else
    reason += ".\n\n";
  return concat(
      text.is_middle ? "This was tried between prefix and suffix:\n\n" : "This program was tried:\n\n",
      form.fenced(text.code), reason, "Write it again without the fault. ");
}

// Before the rest, so that the prompt still ends in the words that every compact prompt ends in.
std::string compact_attempt(const AttemptText& text) {
  return concat("<|repair|>", text.code, "<|fault|>", text.fault_class, text.diagnostics.empty() ? "" : ": ",
                text.diagnostics);
}

Prompt build_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold,
                    const FailedAttempt* attempt) {
  if (stage == Stage::kInfilling && !task.has_scaffold())
    throw InputError(concat("task '", task.id, "': the infilling stage needs prefix, middle and suffix"));
  Prompt prompt;
  prompt.task_id = task.id;
  prompt.stage = stage;
  const bool clamped = stage == Stage::kInfilling && scaffold == Scaffold::kClamp;
  if (style == PromptStyle::kCompact) {
    if (attempt) prompt.text = compact_attempt(describe_attempt(task, stage, *attempt));
    prompt.text += compact(task, stage, scaffold);
  } else {
    const ChatForm& form = chat_form(style);
    const std::string tried = attempt ? chat_attempt(describe_attempt(task, stage, *attempt), form) : "";
    prompt.text =
        stage == Stage::kInfilling ? chat_infilling(task, form, tried) : chat_end_to_end(task, form, tried);
    prompt.answer_opening = form.answer_opening;
    prompt.answer_closing = kFence;
    prompt.answer_end = kTurnClosing;
    // A clamped response is the bare program; what an answer opens with is given then, like the prefix.
    if (clamped) prompt.text += form.answer_opening;
  }
  if (clamped) set_clamp(task, prompt);
  return prompt;
}

// Length of a language word at the start of a fenced block that begins on the fence's own line.
size_t language_word_length(std::string_view block) {
  for (std::string_view word : {"python", "py", "cpp", "c++", "cuda", "cu"}) {
    if (block.starts_with(word) && block.size() > word.size() &&
        (block[word.size()] == ' ' || block[word.size()] == '\n' || block[word.size()] == '\r'))
      return word.size();
  }
  return 0;
}

}  // namespace

const std::vector<std::string>& prompt_style_names() {
  static const std::vector<std::string> kNames = {"compact", "published", "dice"};  // as PromptStyle has them
  return kNames;
}

PromptStyle parse_prompt_style(const std::string& text) {
  const auto& names = prompt_style_names();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    throw InputError(concat("prompt style: '", text, "' is neither 'compact', 'published' nor 'dice'"));
  return static_cast<PromptStyle>(found - names.begin());
}

Scaffold parse_scaffold(const std::string& text) {
  if (text == "clamp") return Scaffold::kClamp;
  if (text == "prompt") return Scaffold::kPrompt;
  throw InputError(concat("scaffold: '", text, "' is neither 'clamp' nor 'prompt'"));
}

std::string clamp_problem(const std::string& middle) {
  const size_t opening = middle.find(kQuotes);
  const bool closed =
      opening != std::string::npos && middle.find(kQuotes, opening + kQuotes.size()) != std::string::npos;
  if (closed) return "";
  return concat(
      "has no ", opening == std::string::npos ? "opening " : "closing ", kQuotes,
      ", which a clamped response begins behind and ends at: put the CUDA text of the middle between ",
      kQuotes, ", or ask with `rollout.scaffold: prompt`");
}

Prompt make_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold) {
  return build_prompt(task, stage, style, scaffold, nullptr);
}

Prompt make_repair_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold,
                          const FailedAttempt& attempt) {
  return build_prompt(task, stage, style, scaffold, &attempt);
}

std::string expected_answer(const Prompt& prompt, const std::string& program) {
  if (program.find(kFence) != program.npos)
    throw InputError(concat("task '", prompt.task_id, "': the program holds ", kFence,
                            ", so that no response with it could be read"));
  if (!prompt.clamp_delimiter.empty()) {
    const std::string ending = prompt.clamp_delimiter + prompt.clamp_suffix;
    const bool fits = program.size() >= prompt.clamp_prefix.size() + ending.size() &&
                      program.starts_with(prompt.clamp_prefix) && program.ends_with(ending);
    if (!fits)
      throw InputError(concat("task '", prompt.task_id,
                              "': the program does not consist of the clamped prefix, a middle, '",
                              prompt.clamp_delimiter, "' and the clamped suffix"));
    return program.substr(prompt.clamp_prefix.size(),
                          program.size() - prompt.clamp_prefix.size() - prompt.clamp_suffix.size());
  }
  if (prompt.answer_closing.empty()) return program;
  return concat(prompt.answer_opening, program, program.ends_with('\n') ? "" : "\n", prompt.answer_closing);
}

std::string extract_program(const std::string& response) {
  const size_t opening = response.find(kFence);
  if (opening == std::string::npos) return response;
  const size_t start = opening + kFence.size();
  const size_t closing = response.find(kFence, start);
  if (closing == std::string::npos) return {};
  std::string_view block = std::string_view(response).substr(start, closing - start);
  block.remove_prefix(language_word_length(block));
  const size_t text = block.find_first_not_of(" \t\r\n");
  return text == block.npos ? std::string() : std::string(block.substr(text));
}

}  // namespace bicrl
