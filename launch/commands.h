// Subcommands that the program itself holds (no LibTorch).
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct VerifierCommand {
  std::string config_path;  // may be empty: all defaults
  std::vector<std::string> overrides;
  // The file is a training run's: only its `verifier` section is read, the run has checked the rest.
  bool of_run = false;
};
int run_verifier_command(const VerifierCommand& command);

struct VerifyCommand {
  std::string tasks_path;      // tasks whose cuda_code (or the candidate file's program) is verified
  std::string candidate_path;  // optional: one Python program, checked against the task named by task_id
  std::string task_id;
  std::string json_path;  // where the verdicts go; empty: a table only
  std::string config_path;
  bool mutate = false;                 // verify the mutants of what is correct, too
  bool profile = false;                // print times, and what bounds each correct program
  std::string size = "open";           // SizePolicy: at which sizes programs are judged
  std::vector<std::string> addresses;  // verifiers to use; empty: an embedded one
  std::vector<std::string> overrides;
};
int run_verify_command(const VerifyCommand& command);

struct DoctorCommand {
  std::string config_path;  // of a training run; may be empty
  std::vector<std::string> overrides;
  bool json = false;
};
int run_doctor_command(const DoctorCommand& command);

}  // namespace bicrl
