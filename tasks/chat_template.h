// Conversations as the text that SDAR's policies are trained on: the published chat_template.jinja without
// tools. Pure functions.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

// Open and close a turn; single tokens of a chat policy's tokenizer.
inline constexpr std::string_view kTurnOpening = "<|im_start|>";
inline constexpr std::string_view kTurnClosing = "<|im_end|>";

enum class ChatRole { kSystem, kUser, kAssistant };

struct ChatMessage {
  ChatRole role = ChatRole::kUser;
  std::string content;
};

// A list of {"role": system | user | assistant, "content": text}, with a turn at least. Throws InputError
// ("messages: 2: role: ...").
std::vector<ChatMessage> chat_messages(const nlohmann::json& list);

// The conversation up to where the answer begins. As published, the reasoning in answers before the last
// question (up to </think>) is left out.
std::string chat_text(const std::vector<ChatMessage>& messages);

}  // namespace bicrl
