// Turns of a conversation in JSON: a list of {"role": system | user | assistant, "content": text}. Pure
// functions.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tasks/chat_template.h"

namespace bicrl::curation {

// At least one turn. Throws InputError naming `field`.
std::vector<ChatMessage> turns_of(const nlohmann::json& list, const char* field);
nlohmann::ordered_json turns_to_json(const std::vector<ChatMessage>& turns);

}  // namespace bicrl::curation
