#include "launch/subcommands/subcommand.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

std::vector<SubcommandEntry>& registered() {
  static std::vector<SubcommandEntry> entries;
  return entries;
}

}  // namespace

const std::vector<SubcommandEntry>& subcommands() {
  std::ranges::sort(registered(), {}, &SubcommandEntry::place);
  return registered();
}

SubcommandRegistration::SubcommandRegistration(int place, const char* name, const char* help,
                                               std::unique_ptr<Subcommand> subcommand) {
  registered().push_back({.place = place, .name = name, .help = help, .subcommand = std::move(subcommand)});
}

void ConfigArguments::add_to(CLI::App& app) {
  app.add_option("config", words, "YAML file, and any number of key.path=value overrides")
      ->type_name("CONFIG");
}

std::string ConfigArguments::path() const {
  std::string found;
  for (const auto& word : words) {
    if (word.find('=') != std::string::npos) continue;
    if (!found.empty()) throw InputError("two configuration files given: " + found + " and " + word);
    found = word;
  }
  return found;
}

std::vector<std::string> ConfigArguments::overrides() const {
  std::vector<std::string> found;
  for (const auto& word : words)
    if (word.find('=') != std::string::npos) found.push_back(word);
  return found;
}

void LearnerSubcommand::add_policy_flags(CLI::App& app) {
  app.add_flag("!--no-verify", command_.verify,
               "do not compare policy.checkpoint with the hashes in its manifest.json");
  app.add_flag("--dry-run", command_.dry_run,
               "print the resolved configuration and derived numbers, and stop");
}

void LearnerSubcommand::add_key_flag(CLI::App& app, const char* flag, const char* key, const char* help) {
  key_flags_.push_back(std::make_unique<KeyFlag>(KeyFlag{.key = key, .value = {}}));
  app.add_option(flag, key_flags_.back()->value, help);
}

int LearnerSubcommand::run(const CommandLine& given) {
  command_.name = given.name;
  command_.line = given.line;
  if (config_ != Config::kNone) words_.take(command_);
  if (config_ == Config::kRequired && command_.config_path.empty())
    throw InputError("bicrl " + given.name + " needs a configuration file");
  for (const auto& flag : key_flags_)
    if (!flag->value.empty()) command_.overrides.push_back(concat(flag->key, "=", flag->value));
  return run_learner(command_);
}

}  // namespace bicrl
