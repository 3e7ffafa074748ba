#include "trainer/inputs/pair_source.h"

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "common/json_entries.h"
#include "tasks/chat_template.h"
#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr double kLargestWeight = 1e6;
constexpr int64_t kMany = 1'000'000'000;
std::string text_of(const nlohmann::json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end()) throw InputError(concat(field, ": missing"));
  if (!found->is_string()) throw InputError(concat(field, ": must be a text"));
  return found->get<std::string>();
}

// A conversation up to where an answer begins, as chat_text() has it.
bool is_conversation(const std::string& text) {
  const std::string opening = concat(kTurnOpening, "assistant");
  const size_t last = text.rfind(kTurnOpening);
  return text.starts_with(kTurnOpening) && text.compare(last, opening.size(), opening) == 0 &&
         text.find_first_not_of("\n", last + opening.size()) == std::string::npos;
}

void refuse_turns(const std::string& text, const char* field) {
  for (const std::string_view marker : {kTurnOpening, kTurnClosing})
    if (text.find(marker) != std::string::npos)
      throw InputError(concat(field, ": holds ", marker, ", with which only conversations are divided"));
}

// The conversation before the answer, and the answer.
TrainingPair of_messages(const nlohmann::json& messages) {
  std::vector<ChatMessage> turns = chat_messages(messages);
  for (const ChatMessage& turn : turns) refuse_turns(turn.content, "messages");
  if (turns.size() < 2 || turns.back().role != ChatRole::kAssistant)
    throw InputError("messages: must end with an answer of the assistant to what is before it");
  TrainingPair pair;
  pair.answer = std::move(turns.back().content);
  turns.pop_back();
  pair.prompt = chat_text(turns);
  pair.ends_turn = true;
  return pair;
}

// Takes the reasoning from the answer's beginning; a prompt may have opened it already. In DICE's style an
// answer without has an empty one, as LLaMA-Factory's template qwen3 writes it.
void part_reasoning(TrainingPair& pair, const ReasoningMarks& marks, PromptStyle style) {
  if (marks.opening.empty()) return;
  size_t opening = pair.answer.find(marks.opening), closing = pair.answer.find(marks.closing);
  const bool opens = opening != std::string::npos && pair.answer.find_first_not_of(" \t\r\n") == opening;
  if (opens && closing == std::string::npos) throw InputError(concat("response: has no ", marks.closing));
  if (closing == std::string::npos && opening == std::string::npos && style == PromptStyle::kDice) {
    pair.reasoning = concat(marks.opening, "\n\n", marks.closing);
    pair.answer.insert(0, "\n\n");
    return;
  }
  if (closing == std::string::npos || (!opens && opening < closing)) return;
  const size_t end = closing + marks.closing.size();
  pair.reasoning = pair.answer.substr(0, end);
  pair.answer.erase(0, end);
}

TrainingPair of_entry(const nlohmann::json& entry, const ReasoningMarks& marks, PromptStyle style) {
  if (!entry.is_object()) throw InputError("must be a mapping");
  TrainingPair pair;
  if (entry.contains("messages")) {
    pair = of_messages(entry.at("messages"));
  } else {
    pair.prompt = text_of(entry, "prompt");
    pair.answer = text_of(entry, "response");
    const bool has_turns = is_conversation(pair.prompt);
    if (!has_turns) refuse_turns(pair.prompt, "prompt");
    pair.ends_turn = has_turns || style != PromptStyle::kCompact;
    if (pair.ends_turn && !has_turns) pair.prompt = chat_text({{ChatRole::kUser, pair.prompt}});
  }
  refuse_turns(pair.answer, "response");
  const auto is_blank = [](const std::string& text) {
    return text.find_first_not_of(" \t\r\n") == std::string::npos;
  };
  if (is_blank(pair.answer)) throw InputError("the response is empty");
  part_reasoning(pair, marks, style);
  if (is_blank(pair.answer)) throw InputError("response: has nothing behind its reasoning");
  return pair;
}

PairSet load_set(const PairSettings::Source& source, const ReasoningMarks& marks, PromptStyle style) {
  PairSet set{.file = source.file, .weight = source.weight, .pairs = {}};
  std::vector<std::string> errors;
  const auto fail = [&](size_t number, const std::string& reason) {
    errors.push_back(concat(source.file.string(), ": entry ", number, ": ", reason));
  };
  read_json_entries(read_file(source.file), source.file.string(),
                    {.take =
                         [&](size_t number, const nlohmann::json& entry) {
                           try {
                             set.pairs.push_back(of_entry(entry, marks, style));
                           } catch (const InputError& error) {
                             fail(number, error.what());
                           }
                         },
                     .broken = fail});
  if (!errors.empty()) throw InputError(joined_entry_errors(errors));
  if (set.pairs.empty()) throw InputError(concat(source.file.string(), ": has no pairs"));
  return set;
}

}  // namespace

PairSettings PairSettings::from_config(const ConfigSection& section, const fs::path& config_folder) {
  PairSettings settings;
  for (const ConfigSection& source : section.sections("sources"))
    settings.sources.push_back({existing_path(source, "file", source.required_text("file"), config_folder),
                                source.real("weight", 1, 1e-6, kLargestWeight)});
  if (settings.sources.empty()) {
    for (const char* key : {"reasoning", "reasoning_opening", "reasoning_closing", "max_tokens"})
      section.refuse_without_effect(key, "without 'sources'");
    return settings;
  }
  settings.trains_reasoning = section.choice("reasoning", "trained", {"trained", "given"}) == "trained";
  settings.marks.opening = section.text("reasoning_opening", settings.marks.opening);
  settings.marks.closing = section.text("reasoning_closing", settings.marks.closing);
  if (settings.marks.opening.empty() != settings.marks.closing.empty())
    section.reject("reasoning_closing", "both delimiters must be empty, or none");
  if (settings.marks.opening.empty() && !settings.trains_reasoning)
    section.reject("reasoning", "'given' needs delimiters that tell what is reasoning");
  settings.max_tokens = section.integer("max_tokens", 0, 0, kMany);
  return settings;
}

std::vector<PairSet> load_pairs(const PairSettings& settings, PromptStyle style) {
  std::vector<PairSet> sets;
  for (const PairSettings::Source& source : settings.sources)
    sets.push_back(load_set(source, settings.marks, style));
  return sets;
}

std::string hash_of(const std::vector<PairSet>& sets) {
  std::string parts;
  for (const PairSet& set : sets) {
    parts += concat(set.weight, "\n");
    for (const TrainingPair& pair : set.pairs)
      parts += hash_hex({pair.prompt, pair.reasoning, pair.answer, pair.ends_turn ? "1" : ""});
  }
  return hash_hex(parts);
}

}  // namespace bicrl
