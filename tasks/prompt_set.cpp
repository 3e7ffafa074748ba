#include "tasks/prompt_set.h"

#include <unordered_map>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "common/json_entries.h"
#include "tasks/chat_template.h"

namespace bicrl {
namespace {

using nlohmann::json;

template <class... Args>
[[noreturn]] void fail(const Args&... args) {
  throw InputError(concat(args...));
}

std::string text_of(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end()) fail(field, ": is missing");
  if (!found->is_string()) fail(field, ": must be a string, found ", found->type_name());
  return found->get<std::string>();
}

std::string id_of(const json& entry, size_t number) {
  const auto found = entry.find("id");
  if (found == entry.end()) return std::to_string(number);
  if (found->is_number_integer()) return found->dump();
  std::string id = text_of(entry, "id");
  if (id.empty()) fail("id: is empty");
  return id;
}

std::string conversation(const json& list) {
  const std::vector<ChatMessage> messages = chat_messages(list);
  if (messages.back().role != ChatRole::kUser)
    fail("messages: must end with a user's turn, as the response is the assistant's");
  return chat_text(messages);
}

Prompt parse_prompt(size_t number, const json& entry) {
  if (!entry.is_object()) fail("must be an object, found ", entry.type_name());
  Prompt prompt;
  prompt.task_id = id_of(entry, number);
  if (entry.contains("prompt") == entry.contains("messages"))
    fail(entry.contains("prompt") ? "has both a prompt and messages" : "has neither a prompt nor messages");
  if (entry.contains("messages")) {
    prompt.text = conversation(entry["messages"]);
    prompt.answer_end = kTurnClosing;
    return prompt;
  }
  prompt.text = text_of(entry, "prompt");
  if (prompt.text.empty()) fail("prompt: is empty, so that there is nothing to answer");
  return prompt;
}

}  // namespace

std::vector<Prompt> parse_prompts(std::string_view text, const std::string& file) {
  std::vector<Prompt> prompts;
  std::vector<std::string> errors;
  std::unordered_map<std::string, size_t> entry_of_id;
  const auto broken = [&](size_t number, const std::string& reason) {
    errors.push_back(concat(file, ": entry ", number, ": ", reason));
  };
  const auto take = [&](size_t number, const json& entry) {
    try {
      Prompt prompt = parse_prompt(number, entry);
      const auto [first, fresh] = entry_of_id.emplace(prompt.task_id, number);
      if (!fresh) fail("id: '", prompt.task_id, "' is taken by entry ", first->second);
      prompts.push_back(std::move(prompt));
    } catch (const InputError& fault) {
      broken(number, fault.what());
    }
  };
  read_json_entries(text, file, {.take = take, .broken = broken});
  if (!errors.empty()) throw InputError(joined_entry_errors(errors));
  if (prompts.empty()) throw InputError(concat(file, ": holds no prompt"));
  return prompts;
}

std::vector<Prompt> load_prompts(const std::filesystem::path& path) {
  return parse_prompts(read_file(path), path.string());
}

std::string hash_of(const std::vector<Prompt>& prompts) {
  std::string hashes;
  for (const Prompt& p : prompts)
    hashes += hash_hex({p.task_id, p.text, p.clamp_prefix, p.clamp_delimiter, p.clamp_suffix});
  return hash_hex(hashes);
}

}  // namespace bicrl
