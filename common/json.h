// JSON from outside: parsed with a bound on its depth, quoted in messages with a bound on their length.
// Values within the depth bound can be copied, compared and printed without exhausting the stack. Pure
// functions.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/error.h"

namespace bicrl {

inline constexpr int kMaxJsonDepth = 100;

// Fails with what a person needs of the parser's words, or because lists and objects are nested too deeply.
Result<nlohmann::json> try_parse_json(std::string_view text);

// Throws InputError "NAME: not valid JSON: ...".
nlohmann::json parse_json(std::string_view text, const std::string& name);

// The beginning of a value as JSON text, for messages. Takes values of any size and depth.
std::string json_excerpt(const nlohmann::json& value);

// Whether lists and objects are nested more than kMaxJsonDepth levels deep, for callers that parse by
// themselves. Linear, and never wrong about valid JSON.
bool is_too_deep_json(std::string_view text);

}  // namespace bicrl
