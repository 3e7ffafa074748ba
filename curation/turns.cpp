#include "curation/turns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "common/error.h"
#include "common/json.h"

namespace bicrl::curation {
namespace {

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};  // as ChatRole has them

// Takes `opening` and what follows up to `closing` from the text's beginning; nothing if it has another form.
std::optional<std::string_view> taken_between(std::string_view& text, std::string_view opening,
                                              std::string_view closing) {
  if (!text.starts_with(opening)) return std::nullopt;
  const size_t end = text.find(closing, opening.size());
  if (end == text.npos) return std::nullopt;
  const std::string_view between = text.substr(opening.size(), end - opening.size());
  text.remove_prefix(end + closing.size());
  return between;
}

}  // namespace

std::vector<ChatMessage> turns_of_prompt(const std::string& prompt) {
  std::vector<ChatMessage> turns;
  std::string_view rest = prompt;
  while (const auto role_name = taken_between(rest, kTurnOpening, "\n")) {
    const auto role = std::ranges::find(kRoles, *role_name);
    const bool is_answer_next = *role_name == "assistant" && rest.find_first_not_of('\n') == rest.npos;
    if (is_answer_next && !turns.empty()) return turns;
    const auto content = taken_between(rest, "", kTurnClosing);
    if (role == std::end(kRoles) || !content || !rest.starts_with('\n')) break;
    rest.remove_prefix(1);
    turns.push_back({static_cast<ChatRole>(role - std::begin(kRoles)), std::string(*content)});
  }
  return {{ChatRole::kUser, prompt}};
}

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
