// What the programs that run traces are asked and what they report: bicrl-execute and bicrl-gpu-load speak
// alike. Pure functions.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "sandbox/verifier/backend.h"

namespace bicrl {

// A run of the programs' plan.
nlohmann::json to_json(const RunRequest& run);

// A fault as the programs tell it, for a person: with the kernel's name if there is one.
std::string fault_text(const nlohmann::json& fault);

// Adds to `result` what the report `said` says of the runs of `plan`; `outputs`, which the result keeps,
// holds what the runs left one behind the other, as far as there are runs. Throws Error or a JSON exception
// if either is not what the plan asks for.
void read_runs(const nlohmann::json& said, const RunPlan& plan, std::string outputs, RunResult& result);

}  // namespace bicrl
