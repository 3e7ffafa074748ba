// Turns of a conversation: in JSON a list of {"role": system | user | assistant, "content": text}, in a
// prompt what the chat template stands around. Pure functions.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tasks/chat_template.h"

namespace bicrl::curation {

// At least one turn. Throws InputError naming `field`.
std::vector<ChatMessage> turns_of(const nlohmann::json& list, const char* field);
// What is asked in a prompt, without the chat template: the turns that chat_text() makes it of, or, of a
// prompt that is no conversation, one turn of the user that holds it. Newlines behind the last marker are no
// part of a turn.
std::vector<ChatMessage> turns_of_prompt(const std::string& prompt);
nlohmann::ordered_json turns_to_json(const std::vector<ChatMessage>& turns);

}  // namespace bicrl::curation
