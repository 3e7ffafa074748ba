// Subcommands of the learner module.
#pragma once
#include <filesystem>

#include "common/config.h"
#include "launch/learner.h"

namespace bicrl {

// `train`, and `sft` (the same run with its warm-up only).
int run_train_command(const LearnerCommand& command);
int run_tasks_command(const LearnerCommand& command);
int run_rescore_command(const LearnerCommand& command);
int run_generate_command(const LearnerCommand& command);
int run_init_command(const LearnerCommand& command);
int run_eval_command(const LearnerCommand& command);
int run_config_command(const LearnerCommand& command);

// Reads every key of a configuration of `generate`.
void read_generate_config(const ConfigSection& root, const std::filesystem::path& folder);

}  // namespace bicrl
