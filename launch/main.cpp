// bicrl: the program. Parses flags, hands over to a subcommand, and turns errors into messages and exit
// codes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/config/spelling.h"
#include "common/error.h"
#include "common/log.h"
#include "common/program_version.h"
#include "launch/subcommands/subcommand.h"

namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done; 1 the work failed; 2 bad flags, configuration or input; 3 something this machine "
    "lacks; "
    "130 interrupted.";

// The library's own words are about an unexpected argument.
void expect_known_subcommand(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  std::string list;
  for (const bicrl::SubcommandEntry& entry : bicrl::subcommands()) {
    names.push_back(entry.name);
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

std::string version_text() {
  const auto& [version, commit] = bicrl::kProgramVersion;
  return bicrl::concat("bicrl ", version, commit.empty() ? "" : bicrl::concat(" (commit ", commit, ")"));
}

int run(int argc, char** argv) {
  CLI::App app{"BiC-RL: reinforcement learning of a diffusion language model that writes CUDA kernels."};
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  expect_known_subcommand(argc, argv);
  for (const bicrl::SubcommandEntry& entry : bicrl::subcommands())
    entry.subcommand->add_flags(*app.add_subcommand(entry.name, entry.help));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help is an "error", too, with code 0.
    return static_cast<int>(app.exit(error) == 0 ? bicrl::ExitCode::kOk : bicrl::ExitCode::kUsage);
  }
  bicrl::init_logging(bicrl::LogLevel::kInfo);
  const std::string chosen = app.get_subcommands().front()->get_name();
  return std::ranges::find(bicrl::subcommands(), chosen, &bicrl::SubcommandEntry::name)
      ->subcommand->run({.name = chosen, .line = line_of(argc, argv)});
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
