#include "tasks/prompt.h"

#include <string_view>

#include "common/error.h"
#include "tasks/fault_class.h"
#include "tasks/prompt_example.h"

namespace bicrl {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>user\n";
constexpr std::string_view kAnswerStart = "<|im_end|>\n<|im_start|>assistant\n";
constexpr std::string_view kTurnEnd = "<|im_end|>";
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

std::string fenced(std::string_view text) {
  return concat(kFence, "python\n", text, text.ends_with('\n') ? "" : "\n", kFence, "\n\n");
}

// `attempt` stands between the task and the request; empty where nothing was tried.
std::string published_end_to_end(const Task& task, const std::string& attempt) {
  const WorkedExample& example = worked_example();
  return concat(kTurnStart, kRole, "Here is an example. The given architecture is:\n\n",
                fenced(example.pytorch_code), "The architecture with custom CUDA kernels is:\n\n",
                fenced(example.program()), "Now you are given this architecture:\n\n",
                fenced(task.pytorch_code), attempt, "Optimize it with custom CUDA kernels. ", kRules,
                kAnswerStart);
}

std::string published_infilling(const Task& task, const std::string& attempt) {
  const WorkedExample& example = worked_example();
  return concat(kTurnStart, kRole,
                "The beginning (prefix) and the end (suffix) of the program are given. You write what stands "
                "between them: the CUDA source with its kernels and the function that launches them.\n\n",
                "Here is an example. The given architecture is:\n\n", fenced(example.pytorch_code),
                "The given prefix is:\n\n", fenced(example.prefix), "The given suffix is:\n\n",
                fenced(example.suffix), "The combined program is:\n\n", fenced(example.program()),
                "Now you are given this architecture:\n\n", fenced(task.pytorch_code), "The prefix is:\n\n",
                fenced(task.prefix), "The suffix is:\n\n", fenced(task.suffix), attempt,
                "Complete the program. Keep prefix and suffix exactly as they are. ", kRules, kAnswerStart);
}

// Both stages end in the same words, so that what is learnt in one carries over to the other. The prefix is
// left out where the response is made to begin with it.
std::string compact(const Task& task, Stage stage, Scaffold scaffold) {
  const std::string end_to_end = concat("<|program|>", task.pytorch_code, "<|answer|>");
  if (stage == Stage::kEndToEnd) return end_to_end;
  return concat("<|infill|>", scaffold == Scaffold::kPrompt ? task.prefix : "", "<|gap|>", task.suffix,
                end_to_end);
}

// Splits the middle at its first and last triple quote. The newline after the opening quotes belongs to the
// opening: with it the seam lies at a line's end, where tokenizers have a boundary anyway.
void set_clamp(const Task& task, Prompt& prompt) {
  const size_t opening = task.middle.find(kQuotes);
  if (opening == std::string::npos)
    throw InputError(concat("task '", task.id, "': the middle has no opening ", kQuotes, " to clamp at"));
  size_t body = opening + kQuotes.size();
  const size_t closing = task.middle.find(kQuotes, body);
  if (closing == std::string::npos)
    throw InputError(concat("task '", task.id, "': the middle has no closing ", kQuotes, " to clamp at"));
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

AttemptText shown(const Task& task, Stage stage, const FailedAttempt& attempt) {
  AttemptText text;
  text.is_middle = stage == Stage::kInfilling && kept_scaffold(task, attempt.program);
  const size_t begin = text.is_middle ? task.prefix.size() : 0;
  const size_t end = attempt.program.size() - (text.is_middle ? task.suffix.size() : 0);
  text.code = defused(attempt.program.substr(begin, end - begin));
  text.fault_class = defused(attempt.fault_class);
  text.diagnostics = defused(attempt.diagnostics);
  return text;
}

std::string published_attempt(const AttemptText& text) {
  std::string_view meaning;
  for (const FaultClass& known : fault_classes())
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
      fenced(text.code), reason, "Write it again without the fault. ");
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
    if (attempt) prompt.text = compact_attempt(shown(task, stage, *attempt));
    prompt.text += compact(task, stage, scaffold);
  } else {
    const std::string tried = attempt ? published_attempt(shown(task, stage, *attempt)) : "";
    prompt.text =
        stage == Stage::kInfilling ? published_infilling(task, tried) : published_end_to_end(task, tried);
    // A clamped response is the bare program; opening the code block here keeps the answer's usual shape.
    if (clamped) prompt.text += concat(kFence, "python\n");
    prompt.answer_end = kTurnEnd;
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

PromptStyle parse_prompt_style(const std::string& text) {
  if (text == "published") return PromptStyle::kPublished;
  if (text == "compact") return PromptStyle::kCompact;
  throw InputError(concat("prompt style: '", text, "' is neither 'published' nor 'compact'"));
}

Scaffold parse_scaffold(const std::string& text) {
  if (text == "clamp") return Scaffold::kClamp;
  if (text == "prompt") return Scaffold::kPrompt;
  throw InputError(concat("scaffold: '", text, "' is neither 'clamp' nor 'prompt'"));
}

Prompt make_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold) {
  return build_prompt(task, stage, style, scaffold, nullptr);
}

Prompt make_repair_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold,
                          const FailedAttempt& attempt) {
  return build_prompt(task, stage, style, scaffold, &attempt);
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
