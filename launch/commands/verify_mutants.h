// `bicrl verify --mutate`: small changes to programs that are correct, each of which should be found out.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reward/client/verifier_client.h"
#include "tasks/task_set.h"

namespace bicrl {

struct SoundProgram {
  const Task* task;
  std::string program;
};

// Verifies all their mutants, prints the ones that stay correct and a table by kind, and returns both for a
// report. Mutants that do not compile are no programs, and counted apart.
nlohmann::json verify_mutants(VerifierClient& client, const std::vector<SoundProgram>& programs);

}  // namespace bicrl
