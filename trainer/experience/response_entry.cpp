#include "trainer/experience/response_entry.h"

#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl {

nlohmann::json to_json(const ResponseEntry& e) {
  return {{"group", e.group},   {"task", e.task_id},  {"verdict", e.verdict_key}, {"truncated", e.truncated},
          {"reward", e.reward}, {"masked", e.masked}, {"advantage", e.advantage}};
}

ResponseEntry response_entry_from_json(const nlohmann::json& json) {
  try {
    ResponseEntry e;
    e.group = json.at("group").get<int64_t>();
    e.task_id = json.at("task").get<std::string>();
    e.verdict_key = json.at("verdict").get<std::string>();
    e.truncated = json.at("truncated").get<bool>();
    e.reward = json.at("reward").get<double>();
    e.masked = json.at("masked").get<bool>();
    e.advantage = json.at("advantage").get<double>();
    return e;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat("not the entry of a response: ", error.what()));
  }
}

}  // namespace bicrl
