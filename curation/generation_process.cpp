#include "curation/generation_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "common/config.h"
#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"
#include "common/json.h"
#include "common/last_lines.h"
#include "common/unique_fd.h"
#include "curation/record_pipeline.h"
#include "sandbox/box/process/spawn.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

constexpr auto kPoll = std::chrono::milliseconds(50);

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  return variables;
}

// Waits for the end; false if it was asked to stop before.
bool ends_well(pid_t child, const std::function<bool()>& stop_requested, int& status) {
  bool stopped = false;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (!stopped && stop_requested()) {
      stopped = true;
      kill(child, SIGTERM);
    }
    std::this_thread::sleep_for(kPoll);
  }
  return !stopped;
}

}  // namespace

std::vector<nlohmann::json> generate_responses(const GenerationJob& job,
                                               const std::function<bool()>& stop_requested) {
  SpawnSpec spec;
  const fs::path program =
      job.program.empty() ? fs::read_symlink("/proc/self/exe") : fs::absolute(job.program);
  spec.argv = {program.string(), "generate", job.configuration.string()};
  spec.argv.insert(spec.argv.end(), job.overrides.begin(), job.overrides.end());
  spec.argv.push_back("output=" + job.output.string());
  spec.env = own_environment();
  const UniqueFd log(open(job.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!log) throw Error(concat("cannot write ", job.log.string()));
  spec.fds = {{log.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}};
  int status = 0;
  if (!ends_well(spawn(spec), stop_requested, status))
    throw Interrupted("interrupted while samples were generated; the same command goes on");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string said = last_lines(read_file(job.log));
    const bool is_input = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kUsage);
    if (is_input) throw InputError(concat("bicrl generate ", job.configuration.string(), ": ", said));
    throw Error(
        concat("bicrl generate ", job.configuration.string(), " failed (status ", status, "): ", said));
  }
  std::vector<nlohmann::json> responses;
  std::ifstream lines(job.output);
  for (std::string line; std::getline(lines, line);)
    responses.push_back(parse_json(line, job.output.string()));
  return responses;
}

std::string generation_basis(const fs::path& configuration, const std::vector<std::string>& overrides) {
  Hasher hasher;
  hasher.update(read_file(configuration));
  for (const std::string& text : overrides) hasher.update("\n" + text);
  const ConfigSection policy = ConfigDocument::from_file(configuration, overrides).root().section("policy");
  for (const char* key : {"checkpoint", "config", "tokenizer"}) {
    fs::path path = policy.text(key, "");
    if (path.empty()) continue;
    if (!fs::exists(path) && path.is_relative()) path = configuration.parent_path() / path;
    std::vector<fs::path> files;
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::directory_iterator(path))
        if (entry.is_regular_file()) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
    } else if (fs::exists(path)) {
      files = {path};
    }
    for (const fs::path& file : files) hasher.update(file.filename().string() + hash_file(file).hex);
  }
  return hasher.hex();
}

}  // namespace bicrl::curation
