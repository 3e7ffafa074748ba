// Subcommands of the learner module: each registers its code from its own file, by the name under which the
// program knows its flags (subcommands/subcommand.h).
#pragma once
#include <filesystem>
#include <string>

#include "common/config/config.h"
#include "launch/learner.h"

namespace bicrl {

using RunLearnerCommand = int (*)(const LearnerCommand& command);

struct LearnerCommandEntry {
  RunLearnerCommand run = nullptr;
  bool has_ranks = false;  // else it is one process
};
// Throws Error if nothing is registered by the name.
LearnerCommandEntry learner_command(const std::string& name);

// A namespace-scope constant of a command's file.
class LearnerCommandRegistration {
 public:
  LearnerCommandRegistration(const char* name, RunLearnerCommand run, bool has_ranks = false);
};

// Reads every key of a configuration of `generate`.
void read_generate_config(const ConfigSection& root, const std::filesystem::path& folder);

}  // namespace bicrl
