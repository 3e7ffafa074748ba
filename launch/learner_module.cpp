// Entry of the learner module: turns whatever a command throws into a message and an exit code.
#include <ATen/Parallel.h>

#include <iostream>

#include "common/log.h"
#include "launch/learner.h"
#include "launch/learner_commands.h"
#include "trainer/mpi_communicator.h"

namespace {

int run(const bicrl::LearnerCommand& command) {
  if (command.name == "rescore") return bicrl::run_rescore_command(command);
  if (command.name == "generate") return bicrl::run_generate_command(command);
  if (command.name == "eval") return bicrl::run_eval_command(command);
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
    std::cerr << "bicrl: " << error.what() << std::endl;
  }
  return static_cast<int>(code);
}
