// Pairs of a prompt and its response, for supervised training on what any pipeline or publisher wrote: where
// they come from, and how their texts become turns. Loading reads files; the rest are plain values.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "tasks/prompt.h"

namespace bicrl {

// What the policy reads, and what it is to write: reasoning, if there is any, up to its closing delimiter,
// and the rest. Texts with all markers of turns and reasoning in them.
struct TrainingPair {
  std::string prompt;
  std::string reasoning;
  std::string answer;
  bool ends_turn = false;  // with the token that closes a turn, else with the policy's first end token
};

// The delimiters of a reasoning part, with which a response begins. Both empty: responses have none.
struct ReasoningMarks {
  std::string opening = "<think>";
  std::string closing = "</think>";
};

struct PairSettings {
  struct Source {
    std::filesystem::path file;
    double weight = 1;  // how often each of its pairs is drawn, relative to those of other files
  };
  std::vector<Source> sources;  // none: the warm-up takes the known programs of tasks
  ReasoningMarks marks;
  bool trains_reasoning = true;  // else it is given, as the prompt is
  int64_t max_tokens = 0;        // of prompt and response; longer pairs are left out. 0: the policy's longest

  static PairSettings from_config(const ConfigSection& section, const std::filesystem::path& config_folder);
};

// The pairs of a source's file.
struct PairSet {
  std::filesystem::path file;
  double weight = 1;
  std::vector<TrainingPair> pairs;
};

// JSON, or JSON lines: entries with `prompt` and `response`, or with `messages` that end with the answer. A
// prompt is a question of the chat template, unless tasks are asked in the compact style: then it is what the
// policy reads as it is. A prompt that is a conversation of the template up to where the answer begins is
// taken as it is, too. In DICE's style a response without reasoning begins with an empty reasoning part.
// Throws InputError naming file and entry, also for markers of turns inside a turn.
std::vector<PairSet> load_pairs(const PairSettings& settings, PromptStyle style);

// Of all texts and weights.
std::string hash_of(const std::vector<PairSet>& sets);

}  // namespace bicrl
