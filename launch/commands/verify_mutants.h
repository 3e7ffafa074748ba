// `bicrl verify --mutate`: verifies mutants of correct programs by the episode pipeline, and reports which
// stay correct. Used by one thread.
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

// Verifies all their mutants, prints those that stay correct as they are found and a table by kind, and
// returns an entry for each, in the order of mutants_of(). Mutants that do not compile are counted apart.
nlohmann::json verify_mutants(VerifierClient& client, const std::vector<SoundProgram>& programs);

}  // namespace bicrl
