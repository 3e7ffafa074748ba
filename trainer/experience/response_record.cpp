#include "trainer/experience/response_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl {

nlohmann::json to_json(const ResponseRecord& r) {
  return {{"group", r.group},   {"task", r.task_id},  {"verdict", r.verdict_key}, {"truncated", r.truncated},
          {"reward", r.reward}, {"masked", r.masked}, {"advantage", r.advantage}};
}

ResponseRecord response_record_from_json(const nlohmann::json& json) {
  try {
    ResponseRecord r;
    r.group = json.at("group").get<int64_t>();
    r.task_id = json.at("task").get<std::string>();
    r.verdict_key = json.at("verdict").get<std::string>();
    r.truncated = json.at("truncated").get<bool>();
    r.reward = json.at("reward").get<double>();
    r.masked = json.at("masked").get<bool>();
    r.advantage = json.at("advantage").get<double>();
    return r;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat("not a record of a response: ", error.what()));
  }
}

std::vector<ResponseRecord> gather_responses(const std::vector<ResponseRecord>& mine,
                                             Communicator& communicator) {
  nlohmann::json lean = nlohmann::json::array();
  for (const ResponseRecord& record : mine) lean.push_back(to_json(record));
  const std::vector<std::string> parts = communicator.gather(communicator.rank() == 0 ? "" : lean.dump());
  if (communicator.rank() != 0) return {};
  std::vector<ResponseRecord> all = mine;
  for (size_t rank = 1; rank < parts.size(); ++rank)
    for (const auto& json : nlohmann::json::parse(parts[rank]))
      all.push_back(response_record_from_json(json));
  std::stable_sort(all.begin(), all.end(),
                   [](const ResponseRecord& a, const ResponseRecord& b) { return a.group < b.group; });
  return all;
}

}  // namespace bicrl
