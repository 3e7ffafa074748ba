// Requests to the programs that run traces, and their reports: bicrl-execute and bicrl-gpu-load speak alike.
// Pure functions.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "sandbox/verifier/backend.h"

namespace bicrl {

// A run of the programs' plan.
nlohmann::json to_json(const RunRequest& run);

// A fault of the program as the programs that run traces report it; its reason has the kernel's name if there
// is one. Throws Error if it has no class that there is, or a JSON exception.
Fault read_fault(const nlohmann::json& fault);

// What the report `said` says of a sample. Throws a JSON exception if it is none.
void read_sample(const nlohmann::json& said, SampleResult& result);

// Adds to `result` what the report `said` says of the runs of `plan`; `outputs`, which the result keeps,
// holds what the runs left one behind the other, as far as there are runs. Throws Error or a JSON exception
// if either is not what the plan asks for.
void read_runs(const nlohmann::json& said, const RunPlan& plan, std::string outputs, RunResult& result);

}  // namespace bicrl
