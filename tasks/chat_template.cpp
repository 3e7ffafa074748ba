#include "tasks/chat_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json.h"

namespace bicrl {
namespace {

constexpr std::string_view kThinkOpening = "<think>";
constexpr std::string_view kThinkClosing = "</think>";
constexpr std::string_view kToolOpening = "<tool_response>";
constexpr std::string_view kToolClosing = "</tool_response>";

std::string_view without_leading_newlines(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

std::string_view without_trailing_newlines(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);  // npos + 1 is 0
}

struct Answer {
  std::string_view reasoning, spoken;
};

// What stands before the first </think>, from the last <think> on, and what stands behind the last </think>.
Answer split_reasoning(std::string_view content) {
  const size_t closing = content.find(kThinkClosing);
  if (closing == content.npos) return {.reasoning = {}, .spoken = content};
  std::string_view reasoning = without_trailing_newlines(content.substr(0, closing));
  if (const size_t opening = reasoning.rfind(kThinkOpening); opening != reasoning.npos)
    reasoning.remove_prefix(opening + kThinkOpening.size());
  const std::string_view spoken = content.substr(content.rfind(kThinkClosing) + kThinkClosing.size());
  return {.reasoning = without_leading_newlines(reasoning), .spoken = without_leading_newlines(spoken)};
}

// Where the last question of the user stands, as the template finds it: what a tool answered is none.
size_t last_question(const std::vector<ChatMessage>& messages) {
  for (size_t i = messages.size(); i-- > 0;) {
    const ChatMessage& message = messages[i];
    const bool of_tool = message.content.starts_with(kToolOpening) && message.content.ends_with(kToolClosing);
    if (message.role == ChatRole::kUser && !of_tool) return i;
  }
  return messages.size() - 1;
}

std::string answer_text(const Answer& answer, bool with_reasoning) {
  if (!with_reasoning) return std::string(answer.spoken);
  return concat(kThinkOpening, "\n", without_trailing_newlines(answer.reasoning), "\n", kThinkClosing, "\n\n",
                without_leading_newlines(answer.spoken));
}

ChatRole role_of(const std::string& name, const std::string& where) {
  if (name == "system") return ChatRole::kSystem;
  if (name == "user") return ChatRole::kUser;
  if (name == "assistant") return ChatRole::kAssistant;
  throw InputError(concat(where, "role: must be system, user or assistant, found '", name, "'"));
}

std::string text_of(const nlohmann::json& message, const char* field, const std::string& where) {
  const auto found = message.find(field);
  if (found == message.end()) throw InputError(concat(where, field, ": is missing"));
  if (!found->is_string())
    throw InputError(concat(where, field, ": must be a string, found ", found->type_name()));
  return found->get<std::string>();
}

}  // namespace

std::vector<ChatMessage> chat_messages(const nlohmann::json& list) {
  if (!list.is_array() || list.empty())
    throw InputError(concat("messages: must be a list of messages, found ", json_excerpt(list)));
  std::vector<ChatMessage> messages;
  for (const nlohmann::json& item : list) {
    const std::string where = concat("messages: ", messages.size() + 1, ": ");
    if (!item.is_object()) throw InputError(concat(where, "must be an object, found ", item.type_name()));
    if (item.contains("tool_calls")) throw InputError(concat(where, "tool_calls: tools are not supported"));
    messages.push_back({role_of(text_of(item, "role", where), where), text_of(item, "content", where)});
  }
  return messages;
}

std::string chat_text(const std::vector<ChatMessage>& messages) {
  std::string text;
  const auto turn = [&](std::string_view role, std::string_view content) {
    text += concat(kTurnOpening, role, "\n", content, kTurnClosing, "\n");
  };
  const size_t question = messages.empty() ? 0 : last_question(messages);
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (message.role == ChatRole::kSystem) {
      turn("system", message.content);
    } else if (message.role == ChatRole::kUser) {
      turn("user", message.content);
    } else {
      const Answer answer = split_reasoning(message.content);
      const bool last = i + 1 == messages.size();
      turn("assistant", answer_text(answer, i > question && (last || !answer.reasoning.empty())));
    }
  }
  return text + concat(kTurnOpening, "assistant\n");
}

}  // namespace bicrl
