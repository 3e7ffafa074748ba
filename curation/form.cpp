#include "curation/form.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "common/error.h"
#include "common/json.h"
#include "curation/turns.h"

namespace bicrl::curation {
namespace {

std::map<std::string, std::unique_ptr<Form>>& registry() {
  static std::map<std::string, std::unique_ptr<Form>> forms;
  return forms;
}

std::vector<std::string> missing_fields(const Form& form, const nlohmann::json& entry) {
  std::vector<std::string> missing = form.fields();
  std::erase_if(missing, [&](const std::string& field) { return entry.contains(field); });
  return missing;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> keys_of(const nlohmann::json& entry) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : entry.items()) keys.push_back(key);
  return keys;
}

struct ResponseParts {
  bool has_marks = false;
  std::string reasoning, rest;
};

// What stands up to the closing mark is the reasoning, the opening one left out.
ResponseParts parts_of(const std::string& response) {
  constexpr std::string_view kOpening = "<think>", kClosing = "</think>", kBlanks = "\n ";
  const size_t closing = response.find(kClosing);
  std::string_view reasoning = std::string_view(response).substr(0, closing);
  const size_t opening = reasoning.find(kOpening);
  if (closing == response.npos && opening == reasoning.npos) return {false, "", response};
  if (opening != reasoning.npos) reasoning.remove_prefix(opening + kOpening.size());
  ResponseParts parts{.has_marks = true, .reasoning = "", .rest = ""};
  if (const size_t begin = reasoning.find_first_not_of(kBlanks); begin != reasoning.npos)
    parts.reasoning = reasoning.substr(begin, reasoning.find_last_not_of(kBlanks) - begin + 1);
  if (closing != response.npos) parts.rest = response.substr(closing + kClosing.size());
  return parts;
}

// A loaded conversation whose answers have the reasoning part that is asked for: as it was loaded, between
// other marks, or none.
std::vector<ChatMessage> with_reasoning_as(const WritingOptions& options, std::vector<ChatMessage> turns) {
  const WritingOptions as_loaded;
  if (options.reasoning_opening == as_loaded.reasoning_opening &&
      options.reasoning_closing == as_loaded.reasoning_closing)
    return turns;
  for (ChatMessage& turn : turns) {
    if (turn.role != ChatRole::kAssistant) continue;
    const ResponseParts parts = parts_of(turn.content);
    if (!parts.has_marks) continue;
    const size_t begin = parts.rest.find_first_not_of("\n ");
    turn.content =
        needed(begin == parts.rest.npos ? "" : parts.rest.substr(begin), "an answer behind the reasoning");
    const bool reasons = !options.reasoning_opening.empty() || !options.reasoning_closing.empty();
    if (reasons && !parts.reasoning.empty())
      turn.content =
          concat(options.reasoning_opening, parts.reasoning, options.reasoning_closing, turn.content);
  }
  return turns;
}

}  // namespace

FormRegistration::FormRegistration(const std::string& name, std::unique_ptr<Form> form) {
  const bool added = registry().emplace(name, std::move(form)).second;
  BICRL_CHECK(added, "two forms are named ", name);
}

std::vector<std::string> form_names() {
  std::vector<std::string> names;
  for (const auto& entry : registry()) names.push_back(entry.first);
  return names;
}

const Form& form_named(const std::string& name) {
  const auto found = registry().find(name);
  if (found == registry().end()) throw InputError(concat("there is no form '", name, "'"));
  return *found->second;
}

std::string detect_form(const nlohmann::json& entry, const std::string& file) {
  if (!entry.is_object()) throw InputError(concat(file, ": its entries are no objects"));
  std::string best, nearest;
  size_t most = 0, fewest_missing = SIZE_MAX;
  for (const auto& [name, form] : registry()) {
    const size_t missing = missing_fields(*form, entry).size(), fields = form->fields().size();
    if (missing == 0 && fields > most) {
      most = fields;
      best = name;
    }
    if (missing < fields && missing < fewest_missing) {
      fewest_missing = missing;
      nearest = name;
    }
  }
  if (!best.empty()) return best;
  throw InputError(concat(file, ": its fields (", joined(keys_of(entry)), ") are those of no known form",
                          nearest.empty() ? concat("; there are: ", joined(form_names()))
                                          : concat("; the nearest is ", nearest, ", which also has ",
                                                   joined(missing_fields(form_named(nearest), entry)))));
}

const nlohmann::json& field_of(const nlohmann::json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end()) throw InputError(concat("field '", field, "' is missing"));
  return *found;
}

std::string text_of(const nlohmann::json& entry, const char* field) {
  const nlohmann::json& found = field_of(entry, field);
  if (!found.is_string())
    throw InputError(concat("field '", field, "' must be a text, found ", json_excerpt(found)));
  std::string text = found.get<std::string>();
  if (text.find('\0') != text.npos) throw InputError(concat("field '", field, "' holds a NUL character"));
  return text;
}

std::string text_or(const nlohmann::json& entry, const char* field, const std::string& fallback) {
  const auto found = entry.find(field);
  return found == entry.end() || found->is_null() ? fallback : text_of(entry, field);
}

std::optional<double> number_of(const nlohmann::json& entry, const char* field) {
  const auto found = entry.find(field);
  if (found == entry.end() || found->is_null()) return std::nullopt;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  if (found->is_string()) {
    const std::string text = found->get<std::string>();
    char* end = nullptr;
    const double value = strtod(text.c_str(), &end);
    if (!text.empty() && end == text.c_str() + text.size() && std::isfinite(value)) return value;
  }
  throw InputError(concat("field '", field, "' must be a finite number, found ", json_excerpt(*found)));
}

void keep_labels(const nlohmann::json& entry, const std::vector<std::string>& fields, Record& record) {
  for (const std::string& field : fields) {
    const auto found = entry.find(field);
    if (found == entry.end() || found->is_null()) continue;
    record.labels[field] = found->is_string() ? found->get<std::string>() : found->dump();
  }
}

void keep_figures(const nlohmann::json& entry, const std::vector<std::string>& fields, Record& record) {
  for (const std::string& field : fields)
    if (const auto value = number_of(entry, field.c_str())) record.figures[field] = *value;
}

std::string label_of(const Record& record, const std::string& name) {
  const auto found = record.labels.find(name);
  return found == record.labels.end() ? "" : found->second;
}

int64_t integer_label(const Record& record, const std::string& name) {
  const std::string text = label_of(record, name);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw InputError(concat("the label '", name, "' must be an integer, found '", text, "'"));
  return number;
}

const std::string& needed(const std::string& text, const char* what) {
  if (text.empty()) throw InputError(concat("needs ", what, ", and the record has none"));
  return text;
}

Prompt prompt_of_task(const Record& record, const WritingOptions& options) {
  needed(record.pytorch_code, "a task's code");
  return make_prompt(record.task(), options.stage, options.style, Scaffold::kPrompt);
}

std::string prompt_of(const Record& record, const WritingOptions& options) {
  return record.answer.prompt.empty() ? prompt_of_task(record, options).text : record.answer.prompt;
}

std::vector<ChatMessage> conversation_of(const Record& record, const WritingOptions& options) {
  const Answer& answer = record.answer;
  if (!answer.messages.empty()) {
    if (answer.messages.back().role != ChatRole::kAssistant)
      throw InputError("needs an answer, and the record's conversation ends without one");
    return with_reasoning_as(options, answer.messages);
  }
  if (!answer.prompt.empty()) {
    std::vector<ChatMessage> turns = turns_of_prompt(answer.prompt);
    turns.push_back({ChatRole::kAssistant, needed(answer.response, "a response")});
    return with_reasoning_as(options, std::move(turns));
  }
  const Prompt prompt = prompt_of_task(record, options);
  needed(answer.program, "a program");
  std::vector<ChatMessage> turns = turns_of_prompt(prompt.text);
  std::string response = expected_answer(prompt, answer.program);
  const bool reasons = !options.reasoning_opening.empty() || !options.reasoning_closing.empty();
  if (reasons && !answer.reasoning.empty()) {
    // DICE's answers without reasoning begin with an empty part.
    const std::string rest = parts_of(response).rest;
    response = concat(options.reasoning_opening, answer.reasoning, options.reasoning_closing,
                      rest.substr(rest.find_first_not_of('\n')));
  }
  turns.push_back({ChatRole::kAssistant, std::move(response)});
  return turns;
}

void read_response(const std::string& response, Answer& answer) {
  answer.response = response;
  ResponseParts parts = parts_of(response);
  if (!parts.reasoning.empty()) answer.reasoning = std::move(parts.reasoning);
  // A response that is no code has no program.
  const std::string program = extract_program(parts.rest);
  if (program.find("ModelNew") != program.npos) answer.program = program;
}

}  // namespace bicrl::curation
