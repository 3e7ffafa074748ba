// Entry of the learner module: turns whatever a command throws into a message and an exit code.
#include <ATen/Context.h>
#include <torch/version.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "common/log.h"
#include "launch/launcher_check.h"
#include "launch/learner.h"
#include "launch/learner_commands.h"
#include "trainer/ranks/mpi_session.h"
#include "trainer/ranks/torch_error.h"

namespace {

int run(const bicrl::LearnerCommand& command) {
  const bool has_ranks = command.name == "train" || command.name == "sft" || command.name == "eval";
  if (!has_ranks)
    bicrl::expect_announced_ranks(bicrl::concat("`bicrl ", command.name, "` is one process"), 1);
  if (command.name == "rescore") return bicrl::run_rescore_command(command);
  if (command.name == "tasks") return bicrl::run_tasks_command(command);
  if (command.name == "generate") return bicrl::run_generate_command(command);
  if (command.name == "init") return bicrl::run_init_command(command);
  if (command.name == "eval") return bicrl::run_eval_command(command);
  if (command.name == "config") return bicrl::run_config_command(command);
  return bicrl::run_train_command(command);
}

}  // namespace

extern "C" int bicrl_learner_main(const bicrl::LearnerCommand* command) {
  bicrl::ExitCode code = bicrl::ExitCode::kFailure;
  try {
    return run(*command);
  } catch (const bicrl::Error& error) {
    std::cerr << "bicrl: " << error.what() << std::endl;
    code = error.code();
  } catch (const std::exception& error) {
    std::cerr << "bicrl: " << bicrl::words_of(error) << std::endl;
  }
  return static_cast<int>(code);
}

extern "C" const char* bicrl_learner_description() {
  static std::string text;
  try {
    const int gpus = at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
    text = nlohmann::json{{"libtorch", TORCH_VERSION},
                          {"cuda", BICRL_BUILT_FOR_CUDA == 1},
                          {"gpus", gpus},
                          {"mpi", bicrl::MpiSession::library_version()}}
               .dump();
  } catch (const std::exception& error) {
    text = nlohmann::json{{"error", error.what()}}.dump();
  }
  return text.c_str();
}
