// Prompts: what the policy reads for a task in a stage.
#pragma once
#include <string>

#include "tasks/task.h"

namespace bicrl {

enum class PromptStyle {
  kPublished,  // ChatML turn with the one-shot example, as DICE uses with SDAR
  kCompact     // the task's text between short markers, for small policies
};

PromptStyle parse_prompt_style(const std::string& text);  // "published", "compact"; throws InputError

// What a policy is asked. Text only: tokens are made where the tokenizer is.
struct Prompt {
  std::string task_id;
  Stage stage = Stage::kEndToEnd;
  std::string text;
  // Text of the token that ends the answer's turn; empty if the style has no turns.
  std::string answer_end;
  // Infilling with a clamped scaffold: the response starts with clamp_prefix, the policy generates until
  // clamp_delimiter closes the middle, and clamp_suffix is appended. Empty for a free response.
  std::string clamp_prefix;
  std::string clamp_delimiter;
  std::string clamp_suffix;
};

enum class Scaffold { kClamp, kPrompt };
Scaffold parse_scaffold(const std::string& text);  // "clamp", "prompt"; throws InputError

// Throws InputError (naming the task) where the stage needs a scaffold that the task lacks.
Prompt make_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold);

// A program for a task that failed, and what the verifier said of it.
struct FailedAttempt {
  std::string program;
  std::string fault_class;
  std::string diagnostics;
  bool operator==(const FailedAttempt&) const = default;
};

// The prompt of make_prompt() with the failed attempt before the words that ask for an answer; the response
// has the same form (a clamped scaffold stays clamped), so that the same program is expected of it. Where the
// stage is infilling only the attempt's middle is shown, if it kept the scaffold. Markers of turns, of code
// blocks and of compact prompts lose their meaning in the attempt's text: a policy wrote it.
Prompt make_repair_prompt(const Task& task, Stage stage, PromptStyle style, Scaffold scaffold,
                          const FailedAttempt& attempt);

// The program in a response: the first fenced block where there is one (language word stripped), else the
// whole text. Empty if a fence is opened and never closed.
std::string extract_program(const std::string& response);

}  // namespace bicrl
