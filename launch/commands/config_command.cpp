// `bicrl config`: the values of a configuration with where each comes from, or the reference of all keys.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "common/config/config_keys.h"
#include "common/error.h"
#include "launch/configuration/config_documents.h"
#include "launch/configuration/config_reference.h"
#include "launch/learner_commands.h"

namespace bicrl {
namespace {

const ConfigDocumentKind& kind_named(const std::vector<ConfigDocumentKind>& kinds, const std::string& name) {
  const auto found = std::ranges::find(kinds, name, &ConfigDocumentKind::name);
  if (found == kinds.end()) throw InputError(concat("there is no kind of configuration '", name, "'"));
  return *found;
}

// One line a key, in a form that is an override.
void print_values(const std::vector<ConfigKey>& keys) {
  size_t width = 0;
  for (const ConfigKey& key : keys) width = std::max(width, key.path.size() + key.value.size() + 1);
  for (const ConfigKey& key : keys) {
    std::string line = concat(key.path, "=", key.value);
    line.resize(std::max(line.size(), std::min<size_t>(width, 56)), ' ');
    std::cout << line << "  # " << key.place << "\n";
  }
  std::cout << std::flush;
}

}  // namespace

static int run_config_command(const LearnerCommand& command) {
  if (command.prints_reference) {
    std::cout << config_reference() << std::flush;
    return static_cast<int>(ExitCode::kOk);
  }
  if (command.config_path.empty())
    throw InputError("bicrl config needs a configuration file, or --reference");
  const std::vector<ConfigDocumentKind> kinds = config_document_kinds();
  const ConfigDocumentKind& kind = kind_named(kinds, command.config_kind);
  const ConfigKeyLog log;
  kind.read({.example = {}, .path = command.config_path, .overrides = command.overrides});
  print_values(log.keys());
  return static_cast<int>(ExitCode::kOk);
}

namespace {

const LearnerCommandRegistration kConfigRegistered("config", run_config_command);

}  // namespace
}  // namespace bicrl
