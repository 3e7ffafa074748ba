// Entry of the learner module: turns whatever a command throws into a message and an exit code.
#include <ATen/Context.h>
#include <torch/version.h>

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/log.h"
#include "launch/launcher_check.h"
#include "launch/learner.h"
#include "launch/learner_commands.h"
#include "trainer/ranks/mpi/mpi_session.h"
#include "trainer/ranks/torch_error.h"

namespace bicrl {
namespace {

std::map<std::string, LearnerCommandEntry>& registered() {
  static std::map<std::string, LearnerCommandEntry> entries;
  return entries;
}

}  // namespace

LearnerCommandRegistration::LearnerCommandRegistration(const char* name, RunLearnerCommand run,
                                                       bool has_ranks) {
  registered()[name] = {.run = run, .has_ranks = has_ranks};
}

LearnerCommandEntry learner_command(const std::string& name) {
  const auto found = registered().find(name);
  if (found == registered().end()) throw Error(concat("the learner module has no subcommand ", name));
  return found->second;
}

}  // namespace bicrl

namespace {

int run(const bicrl::LearnerCommand& command) {
  const bicrl::LearnerCommandEntry entry = bicrl::learner_command(command.name);
  if (!entry.has_ranks)
    bicrl::expect_announced_ranks(bicrl::concat("`bicrl ", command.name, "` is one process"), 1);
  return entry.run(command);
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
