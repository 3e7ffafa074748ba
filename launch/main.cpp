// bicrl: the program. Parses flags, hands over to a subcommand, and turns errors into messages and exit
// codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/error.h"
#include "common/log.h"
#include "common/spelling.h"
#include "launch/commands.h"
#include "launch/curate/curate_command.h"
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

// What the flags of all subcommands set; a command line is of one of them.
struct Arguments {
  ConfigArguments config;
  std::string reward;                  // of `train`
  std::string suite, level, programs;  // of `eval`
  bicrl::LearnerCommand learner;
  bicrl::VerifierCommand verifier;
  bicrl::VerifyCommand verify;
  bicrl::DoctorCommand doctor;
  bicrl::CurateCommand curate;
};

// ---- Flags ----

void add_learner_flags(CLI::App& app, Arguments& arguments) {
  arguments.config.add_to(&app);
  app.add_flag("!--no-verify", arguments.learner.verify,
               "do not compare policy.checkpoint with the hashes in its manifest.json");
  app.add_flag("--dry-run", arguments.learner.dry_run,
               "print the resolved configuration and derived numbers, and stop");
}

void add_sft_flags(CLI::App& app, Arguments& arguments) {
  add_learner_flags(app, arguments);
  app.add_flag("--allow-changed-config", arguments.learner.allow_changed_config,
               "go on with a run although its configuration has changed");
}

void add_train_flags(CLI::App& app, Arguments& arguments) {
  add_sft_flags(app, arguments);
  app.add_option("--reward", arguments.reward, "reward rule file, instead of the configuration's");
}

void add_eval_flags(CLI::App& app, Arguments& arguments) {
  add_learner_flags(app, arguments);
  app.add_option("--json", arguments.learner.json_path, "write the figures to this file as well");
  app.add_option("--suite", arguments.suite, "the published suite that the tasks are of: kernelbench");
  app.add_option("--level", arguments.level, "of the suite");
  app.add_option("--programs", arguments.programs,
                 "grade these instead of a policy's: a folder, or JSON lines");
}

void add_tasks_flags(CLI::App& app, Arguments& arguments) {
  arguments.config.add_to(&app);
  app.add_flag("--check", arguments.learner.check_tasks,
               "run every task's reference in a box and list the tasks whose verdicts would say little");
  app.add_option("--write", arguments.learner.output_folder,
                 "folder for a file of each split (train.json...)");
}

void add_config_flags(CLI::App& app, Arguments& arguments) {
  arguments.config.add_to(&app);
  app.add_flag("--reference", arguments.learner.prints_reference,
               "print the reference of all keys as Markdown (docs/configuration.md)");
  app.add_option("--of", arguments.learner.config_kind, "what the file is for")
      ->capture_default_str()
      ->check(CLI::IsMember({"train", "eval", "generate", "verifier", "reward"}));
}

void add_init_flags(CLI::App& app, Arguments& arguments) {
  bicrl::LearnerCommand& learner = arguments.learner;
  app.add_option("CONFIG", learner.config_path, "the policy's shape: a config.json")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("DIR", learner.output_folder, "folder to write, new or empty")->required();
  app.add_option("--tokenizer", learner.tokenizer_folder, "folder with the tokenizer's files")->required();
  app.add_option("--seed", learner.seed, "of the weights")->capture_default_str();
  app.add_option("--dtype", learner.dtype, "of the weights")
      ->default_val("bfloat16")
      ->check(CLI::IsMember({"bfloat16", "float32"}));
}

void add_rescore_flags(CLI::App& app, Arguments& arguments) {
  app.add_option("RUN", arguments.learner.config_path, "run directory")->required();
  app.add_option("--reward", arguments.learner.reward_path, "reward rule file")->required();
}

void add_verifier_flags(CLI::App& app, Arguments& arguments) {
  arguments.config.add_to(&app);
  app.add_flag("--of-run", arguments.verifier.of_run,
               "CONFIG is a training run's: read only its verifier section");
}

void add_verify_flags(CLI::App& app, Arguments& arguments) {
  bicrl::VerifyCommand& verify = arguments.verify;
  arguments.config.add_to(&app);
  app.add_option("--tasks", verify.tasks_path, "task file (JSON list or JSON lines)")->required();
  app.add_option("--candidate", verify.candidate_path,
                 "a Python program to verify instead of the tasks' own");
  app.add_option("--task", verify.task_id, "id of the task the candidate answers");
  app.add_option("--json", verify.json_path, "write the verdicts to this file");
  app.add_flag("--mutate", verify.mutate,
               "verify small changes to each correct program, too, and list those that stay correct");
  app.add_flag("--profile", verify.profile,
               "print each correct program's modelled time, what bounds it, and what it does");
  app.add_option("--verifier", verify.addresses, "address of a running verifier (host:port), repeatable")
      ->allow_extra_args(false);
}

void add_doctor_flags(CLI::App& app, Arguments& arguments) {
  arguments.config.add_to(&app);
  app.add_flag("--json", arguments.doctor.json, "print the findings as JSON");
}

void add_curate_flags(CLI::App& app, Arguments& arguments) {
  arguments.config.add_to(&app);
  app.add_option("--step", arguments.curate.only,
                 "take this step alone (name or number), on the output of the one before");
  app.add_flag("--dry-run", arguments.curate.dry_run, "print the resolved pipeline, and stop");
  app.add_flag("--list-steps", arguments.curate.list_steps, "print the kinds of steps, and stop");
}

// ---- Work ----

template <class Command>
void take_config(const Arguments& arguments, Command& command) {
  command.config_path = arguments.config.path();
  command.overrides = arguments.config.overrides();
}

int run_configured(Arguments& arguments) {
  bicrl::LearnerCommand& learner = arguments.learner;
  take_config(arguments, learner);
  if (learner.config_path.empty())
    throw bicrl::InputError("bicrl " + learner.name + " needs a configuration file");
  // Flags are short for keys.
  for (const auto& [key, value] : {std::pair<const char*, std::string>{"reward", arguments.reward},
                                   {"suite.name", arguments.suite},
                                   {"suite.level", arguments.level},
                                   {"suite.programs", arguments.programs}})
    if (!value.empty()) learner.overrides.push_back(bicrl::concat(key, "=", value));
  return bicrl::run_learner(learner);
}

int run_config(Arguments& arguments) {
  take_config(arguments, arguments.learner);
  return bicrl::run_learner(arguments.learner);
}

int run_init(Arguments& arguments) { return bicrl::run_learner(arguments.learner); }
int run_rescore(Arguments& arguments) { return bicrl::run_learner(arguments.learner); }

int run_verifier(Arguments& arguments) {
  take_config(arguments, arguments.verifier);
  return bicrl::run_verifier_command(arguments.verifier);
}

int run_verify(Arguments& arguments) {
  take_config(arguments, arguments.verify);
  return bicrl::run_verify_command(arguments.verify);
}

int run_doctor(Arguments& arguments) {
  take_config(arguments, arguments.doctor);
  return bicrl::run_doctor_command(arguments.doctor);
}

int run_curate(Arguments& arguments) {
  take_config(arguments, arguments.curate);
  return bicrl::run_curate_command(arguments.curate);
}

struct Subcommand {
  const char* name;
  const char* help;
  void (*add_flags)(CLI::App& app, Arguments& arguments);
  int (*run)(Arguments& arguments);
};

constexpr Subcommand kSubcommands[] = {
    {"train", "train a policy: warm-up, infilling stage, end-to-end stage", add_train_flags, run_configured},
    {"sft", "supervised fine-tuning of a policy on task programs", add_sft_flags, run_configured},
    {"init", "write fresh weights of a given shape as a policy's folder", add_init_flags, run_init},
    {"generate", "generate programs for tasks with a policy", add_learner_flags, run_configured},
    {"eval", "evaluate a policy: pass@k, compile and correct rates per class of task", add_eval_flags,
     run_configured},
    {"tasks", "show a run's tasks, or write them in the published form", add_tasks_flags, run_configured},
    {"curate", "make training data: load, check, verify, filter, decontaminate, write", add_curate_flags,
     run_curate},
    {"rescore", "recompute a run's rewards from its stored verdicts", add_rescore_flags, run_rescore},
    {"verifier", "run a verifier server (no LibTorch in the process)", add_verifier_flags, run_verifier},
    {"verify", "verify the programs of a task file, or one candidate", add_verify_flags, run_verify},
    {"config", "print a configuration's values and where each comes from", add_config_flags, run_config},
    {"doctor", "check whether training can run here, and what to do", add_doctor_flags, run_doctor},
};

// The library's own words are about an unexpected argument.
void expect_known_subcommand(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  std::string list;
  for (const Subcommand& subcommand : kSubcommands) {
    names.emplace_back(subcommand.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  if (std::ranges::find(names, argv[1]) != names.end()) return;
  const auto nearest = bicrl::nearest_spelling(argv[1], names);
  throw bicrl::InputError(
      bicrl::concat("there is no subcommand '", argv[1], "'",
                    nearest ? "; did you mean " + *nearest + "?" : "; there are: " + list));
}

// As a shell reads it again.
std::string line_of(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-./=:,+@%") == word.npos;
    if (!plain) {
      for (size_t at = 0; (at = word.find('\'', at)) != word.npos; at += 4) word.replace(at, 1, "'\\''");
      word = "'" + word + "'";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

int run(int argc, char** argv) {
  CLI::App app{"BiC-RL: reinforcement learning of a diffusion language model that writes CUDA kernels."};
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", "bicrl " BICRL_VERSION);
  expect_known_subcommand(argc, argv);
  Arguments arguments;
  for (const Subcommand& subcommand : kSubcommands)
    subcommand.add_flags(*app.add_subcommand(subcommand.name, subcommand.help), arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help is an "error", too, with code 0.
    return static_cast<int>(app.exit(error) == 0 ? bicrl::ExitCode::kOk : bicrl::ExitCode::kUsage);
  }
  bicrl::init_logging(bicrl::LogLevel::kInfo);
  const std::string chosen = app.get_subcommands().front()->get_name();
  arguments.learner.name = chosen;
  arguments.learner.line = line_of(argc, argv);
  return std::ranges::find(kSubcommands, chosen, &Subcommand::name)->run(arguments);
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
