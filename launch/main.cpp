// bicrl: the program. Parses flags, hands over to a subcommand, and turns errors into messages and exit
// codes.
#include <CLI/CLI.hpp>
#include <iostream>

#include "common/error.h"
#include "common/log.h"
#include "launch/commands.h"
#include "launch/learner.h"

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 the work failed; 2 bad flags, configuration or input; 3 something this machine "
    "lacks; "
    "130 interrupted.";

// CONFIG [key.path=value ...] in any order; the first word without '=' is the file.
struct ConfigArguments {
  std::vector<std::string> words;

  void add_to(CLI::App* app) {
    app->add_option("config", words, "YAML file, and any number of key.path=value overrides")
        ->type_name("CONFIG");
  }
  std::string path() const {
    std::string found;
    for (const auto& word : words) {
      if (word.find('=') != std::string::npos) continue;
      if (!found.empty()) throw bicrl::InputError("two configuration files given: " + found + " and " + word);
      found = word;
    }
    return found;
  }
  std::vector<std::string> overrides() const {
    std::vector<std::string> found;
    for (const auto& word : words)
      if (word.find('=') != std::string::npos) found.push_back(word);
    return found;
  }
};

int run(int argc, char** argv) {
  CLI::App app{"BiC-RL: reinforcement learning of a diffusion language model that writes CUDA kernels."};
  app.footer(kExitCodes);
  app.require_subcommand(1);

  bicrl::LearnerCommand learner;
  std::string reward;
  ConfigArguments config;
  const auto add_learner = [&](const char* name, const char* help) {
    CLI::App* command = app.add_subcommand(name, help);
    config.add_to(command);
    command->add_flag("--dry-run", learner.dry_run,
                      "print the resolved configuration and derived numbers, and stop");
    return command;
  };
  CLI::App* train = add_learner("train", "train a policy: warm-up, infilling stage, end-to-end stage");
  train->add_option("--reward", reward, "reward rule file, instead of the configuration's");
  CLI::App* sft = add_learner("sft", "supervised fine-tuning of a policy on task programs");
  for (CLI::App* run : {train, sft})
    run->add_flag("--allow-changed-config", learner.allow_changed_config,
                  "go on with a run although its configuration has changed");
  CLI::App* generate = add_learner("generate", "generate programs for tasks with a policy");
  CLI::App* eval =
      add_learner("eval", "evaluate a policy: pass@k, compile and correct rates per class of task");
  eval->add_option("--json", learner.json_path, "write the figures to this file as well");

  CLI::App* tasks = app.add_subcommand("tasks", "show a run's tasks, or write them in the published form");
  config.add_to(tasks);
  tasks->add_option("--write", learner.output_folder, "folder for train.json and held_out.json");

  CLI::App* rescore = app.add_subcommand("rescore", "recompute a run's rewards from its stored verdicts");
  rescore->add_option("RUN", learner.config_path, "run directory")->required();
  rescore->add_option("--reward", learner.reward_path, "reward rule file")->required();

  bicrl::VerifierCommand verifier;
  CLI::App* serve = app.add_subcommand("verifier", "run a verifier server (no LibTorch in the process)");
  config.add_to(serve);
  serve->add_flag("--of-run", verifier.of_run, "CONFIG is a training run's: read only its verifier section");

  bicrl::VerifyCommand verify;
  CLI::App* check = app.add_subcommand("verify", "verify the programs of a task file, or one candidate");
  config.add_to(check);
  check->add_option("--tasks", verify.tasks_path, "task file (JSON list or JSON lines)")->required();
  check->add_option("--candidate", verify.candidate_path,
                    "a Python program to verify instead of the tasks' own");
  check->add_option("--task", verify.task_id, "id of the task the candidate answers");
  check->add_option("--json", verify.json_path, "write the verdicts to this file");
  check->add_option("--verifier", verify.addresses, "address of a running verifier (host:port), repeatable")
      ->allow_extra_args(false);

  bicrl::DoctorCommand doctor;
  CLI::App* examine = app.add_subcommand("doctor", "check whether training can run here, and what to do");
  config.add_to(examine);
  examine->add_flag("--json", doctor.json, "print the findings as JSON");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help is an "error", too, with code 0.
    return static_cast<int>(app.exit(error) == 0 ? bicrl::ExitCode::kOk : bicrl::ExitCode::kUsage);
  }
  bicrl::init_logging(bicrl::LogLevel::kInfo);

  if (*serve) {
    verifier.config_path = config.path();
    verifier.overrides = config.overrides();
    return bicrl::run_verifier_command(verifier);
  }
  if (*check) {
    verify.config_path = config.path();
    verify.overrides = config.overrides();
    return bicrl::run_verify_command(verify);
  }
  if (*rescore) {
    learner.name = "rescore";
    return bicrl::run_learner(learner);
  }
  if (*examine) {
    doctor.config_path = config.path();
    doctor.overrides = config.overrides();
    return bicrl::run_doctor_command(doctor);
  }
  learner.name = (*train ? train : *sft ? sft : *generate ? generate : *tasks ? tasks : eval)->get_name();
  learner.config_path = config.path();
  if (learner.config_path.empty())
    throw bicrl::InputError("bicrl " + learner.name + " needs a configuration file");
  learner.overrides = config.overrides();
  if (!reward.empty()) learner.overrides.push_back("reward=" + reward);
  return bicrl::run_learner(learner);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const bicrl::Error& error) {
    std::cerr << "bicrl: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::cerr << "bicrl: " << error.what() << "\n";
    return static_cast<int>(bicrl::ExitCode::kFailure);
  }
}
