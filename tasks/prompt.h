// Prompts: what the policy reads for a task in a stage, and the form of the answer that they ask for.
#pragma once
#include <string>
#include <vector>

#include "tasks/task.h"

namespace bicrl {

// The sentences of the chat styles are ours; what they say, in which order, and the form around them are as
// published. `published` and `dice` differ in that form alone (tasks/prompt.cpp).
enum class PromptStyle {
  kCompact,    // the task's text between short markers, answered by the bare program; for small policies
  kPublished,  // a turn of SDAR's chat template with a worked example, answered by one code block
  kDice        // the turn as DICE's reinforcement learning spells it, answered as its supervised data are
};

const std::vector<std::string>& prompt_style_names();     // "compact", "published", "dice"
PromptStyle parse_prompt_style(const std::string& text);  // throws InputError

// What a policy is asked. Text only: tokens are made where the tokenizer is.
struct Prompt {
  std::string task_id;
  Stage stage = Stage::kEndToEnd;
  std::string text;
  // What an answer has around the program: both empty if it is the bare program. A clamped prompt's text ends
  // with the opening already.
  std::string answer_opening;
  std::string answer_closing;
  // Text of the token that ends the answer's turn; empty if the style has no turns.
  std::string answer_end;
  // Infilling with a clamped scaffold: the response starts with clamp_prefix, the policy generates until
  // clamp_delimiter closes the middle, and clamp_suffix is appended. Empty for a free response.
  std::string clamp_prefix;
  std::string clamp_delimiter;
  std::string clamp_suffix;
};

// Why an infilling response cannot be clamped to this middle's scaffold, and what to do; empty: it can.
std::string clamp_problem(const std::string& middle);

enum class Scaffold { kClamp, kPrompt };
Scaffold parse_scaffold(const std::string& text);  // "clamp", "prompt"; throws InputError

// Throws InputError (naming the task) if the stage needs a scaffold that the task lacks.
Prompt make_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold);

// What a policy is to write so that its response to the prompt is `program`: of a clamped prompt the middle
// with its delimiter, of any other the whole answer without the token that ends it. extract_program() finds
// the program in the response again (with a newline at its end). Throws InputError (naming the task) if the
// prompt cannot be answered with this program: it does not consist of the clamped scaffold and a middle, or
// it holds what opens and closes code blocks.
std::string expected_answer(const Prompt& prompt, const std::string& program);

// A program for a task that failed, and what the verifier said of it.
struct FailedAttempt {
  std::string program;
  std::string fault_class;
  std::string diagnostics;
  bool operator==(const FailedAttempt&) const = default;
};

// The prompt of make_prompt() with the failed attempt before the words that ask for an answer; the response
// has the same form (a clamped scaffold stays clamped), so that the same program is expected of it. In the
// infilling stage only the attempt's middle is shown, if it kept the scaffold. Markers of turns, of code
// blocks and of compact prompts lose their meaning in the attempt's text: a policy wrote it.
Prompt make_repair_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold,
                          const FailedAttempt& attempt);

// The program in a response: the first fenced block if there is one (language word stripped), else the
// whole text. Empty if a fence is opened and never closed.
std::string extract_program(const std::string& response);

}  // namespace bicrl
