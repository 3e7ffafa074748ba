// The border between the program and the module libbicrl_learner.so, which holds the subcommands that link
// LibTorch: all but verifier, verify, doctor, curate, report and watch. The program loads the module on
// demand, so that `bicrl verifier` maps neither LibTorch nor MPI.
#pragma once
#include <string>
#include <vector>

#include "common/error.h"

namespace bicrl {

struct LearnerCommand {
  std::string name;  // of the subcommand
  std::string line;  // the command as it was given, for a person to repeat
  std::string config_path;
  std::vector<std::string> overrides;  // key.path=value
  bool dry_run = false;
  std::string reward_path;            // of `rescore`, whose config_path is a run directory
  bool allow_changed_config = false;  // of a run that goes on
  std::string output_folder;          // tasks: where they are written, empty: nowhere; init: of the policy
  bool check_tasks = false;           // tasks: run every reference and list faults
  bool verify = true;                 // a policy's checkpoint against its manifest
  std::string json_path;              // eval: where its figures go as well; empty: nowhere
  std::string tokenizer_folder;       // init
  std::string dtype;                  // init: of the weights
  uint64_t seed = 1;                  // init
  bool prints_reference = false;      // config: all keys instead of a file's values
  std::string config_kind = "train";  // config: of the file
};

// Loads the module and runs the command in it; returns the exit code. Throws Error if the module is missing.
int run_learner(const LearnerCommand& command);

// The module's description of itself, or why it cannot be loaded. Asked in a fork, so that a library that
// crashes while it is loaded is an answer, too: call while this process has one thread.
Result<std::string> describe_learner();

}  // namespace bicrl

// The module's entry points. Never throw.
extern "C" int bicrl_learner_main(const bicrl::LearnerCommand* command);
// What the module is made of, as JSON: {"libtorch": version, "cuda": whether it was built for GPUs, "gpus":
// visible ones, "mpi": version of the library}. The text belongs to the module.
extern "C" const char* bicrl_learner_description();
