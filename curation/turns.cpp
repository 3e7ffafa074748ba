#include "curation/turns.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json.h"

namespace bicrl::curation {
namespace {

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};  // as ChatRole has them

}  // namespace

std::vector<ChatMessage> turns_of(const nlohmann::json& list, const char* field) {
  if (!list.is_array() || list.empty())
    throw InputError(concat("field '", field, "' must be a list of turns, found ", json_excerpt(list)));
  std::vector<ChatMessage> turns;
  for (const nlohmann::json& turn : list) {
    const bool whole = turn.is_object() && turn.contains("role") && turn["role"].is_string() &&
                       turn.contains("content") && turn["content"].is_string();
    if (!whole) throw InputError(concat("field '", field, "' holds what is no turn: ", json_excerpt(turn)));
    const auto role = std::ranges::find(kRoles, turn["role"].get<std::string>());
    if (role == std::end(kRoles))
      throw InputError(concat("field '", field, "' has a turn of the role '", turn["role"].get<std::string>(),
                              "', which is neither system, user nor assistant"));
    turns.push_back({static_cast<ChatRole>(role - std::begin(kRoles)), turn["content"].get<std::string>()});
  }
  return turns;
}

nlohmann::ordered_json turns_to_json(const std::vector<ChatMessage>& turns) {
  auto list = nlohmann::ordered_json::array();
  for (const ChatMessage& turn : turns)
    list.push_back({{"role", kRoles[static_cast<size_t>(turn.role)]}, {"content", turn.content}});
  return list;
}

}  // namespace bicrl::curation
