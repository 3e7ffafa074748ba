// One response of an evaluation with what was found of it: a line of RUN/evaluations/NAME.jsonl. Nothing in
// it differs between equal runs. Plain values; pure functions.
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "episode/episode.h"

namespace bicrl {

struct EvaluatedResponse {
  std::string task_id;
  std::vector<std::string> composition;  // operators of a synthesised task; else empty
  int64_t sample = 0;
  std::string verdict;  // "correct", a fault's class, "infrastructure", "invalid_task" or "undecided"
  bool compiled = false;
  bool correct = false;
  std::string graded_at;  // sizes of the inputs, as in a verdict; empty if it was not compared
  bool truncated = false;
  int64_t tokens = 0;  // up to its end
  // Of a correct program; 0 and empty where there are no times. A speed-up that cannot be trusted is 0.
  double speedup = 0;  // over eager PyTorch
  double candidate_ms = 0, eager_ms = 0;
  std::string clock;      // of the times: kModelClock if they are modelled
  std::string costed_at;  // sizes that they are of, as in a verdict
  std::string bound_by;   // of modelled times: "memory", "issue", "latency", "launch"
  // Of a correct program of a synthesised task (known_programs.h); empty if it is not of that grammar, and
  // novel if no known program of these operators may use it.
  std::string technique;
  bool novel = false;
  std::string program;

  bool operator==(const EvaluatedResponse&) const = default;
};

EvaluatedResponse evaluated_response(const Episode& episode);  // which has a verdict

nlohmann::ordered_json to_json(const EvaluatedResponse& response);
EvaluatedResponse evaluated_response_from_json(
    const nlohmann::json& json);  // throws nlohmann::json::exception

// The lines of such a file. Throws InputError that names the file, and the line if one is none.
std::vector<EvaluatedResponse> read_evaluated_responses(const std::filesystem::path& file);

}  // namespace bicrl
