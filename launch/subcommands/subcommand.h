// Subcommands of the program: each registers itself from a file of its own with its flags, and main.cpp names
// none. One that needs a policy runs in the learner module, where its code registers itself by the same name
// (learner_commands.h).
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "launch/learner.h"

namespace bicrl {

// The command line, as far as it is the same for all.
struct CommandLine {
  std::string name;  // of the subcommand
  std::string line;  // as it was given, for a person to repeat
};

class Subcommand {
 public:
  virtual ~Subcommand() = default;
  virtual void add_flags(CLI::App& app) = 0;
  virtual int run(const CommandLine& given) = 0;  // returns the exit code
};

struct SubcommandEntry {
  int place = 0;  // in the program's help
  std::string name;
  std::string help;
  std::unique_ptr<Subcommand> subcommand;
};

// In the order of their places.
const std::vector<SubcommandEntry>& subcommands();

// A namespace-scope constant of a subcommand's file.
class SubcommandRegistration {
 public:
  SubcommandRegistration(int place, const char* name, const char* help,
                         std::unique_ptr<Subcommand> subcommand);
};

// CONFIG [key.path=value ...] in any order; the first word without '=' is the file.
struct ConfigArguments {
  std::vector<std::string> words;

  void add_to(CLI::App& app);
  std::string path() const;  // throws InputError if two files are given
  std::vector<std::string> overrides() const;
  template <class Command>
  void take(Command& command) const {
    command.config_path = path();
    command.overrides = overrides();
  }
};

// One that runs in the learner module.
class LearnerSubcommand : public Subcommand {
 public:
  enum class Config { kRequired, kOptional, kNone };
  explicit LearnerSubcommand(Config config = Config::kRequired) : config_(config) {}

  void add_flags(CLI::App& app) override {
    if (config_ != Config::kNone) words_.add_to(app);
  }
  int run(const CommandLine& given) override;

 protected:
  // Flags of what makes or reads a policy.
  void add_policy_flags(CLI::App& app);
  // A flag that is short for a key of the configuration.
  void add_key_flag(CLI::App& app, const char* flag, const char* key, const char* help);

  LearnerCommand command_;

 private:
  struct KeyFlag {
    const char* key;
    std::string value;
  };
  Config config_;
  ConfigArguments words_;
  std::vector<std::unique_ptr<KeyFlag>> key_flags_;
};

}  // namespace bicrl
