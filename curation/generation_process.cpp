#include "curation/generation_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "common/config/config.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/files/last_lines.h"
#include "common/files/unique_fd.h"
#include "common/hash.h"
#include "common/json.h"
#include "curation/input_path.h"
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

// Regular files of a folder whose names begin so, in a fixed order; a file is the only one of itself.
std::vector<fs::path> files_in(const fs::path& path, const std::string& beginning) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(beginning))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Hash of their names and bytes, wherever they lie.
std::string content_of(const std::vector<fs::path>& files) {
  std::string hashes;
  for (const fs::path& file : files) hashes += hash_hex({file.filename().string(), hash_file(file).hex});
  return hash_hex(hashes);
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
  std::string files;
  const ConfigSection policy = ConfigDocument::from_file(configuration, overrides).root().section("policy");
  for (const char* key : {"checkpoint", "config", "tokenizer"}) {
    const std::string named = policy.text(key, "");
    // What is not there `bicrl generate` refuses.
    const auto path = named.empty() ? std::nullopt : find_input(named, configuration.parent_path());
    if (path) files += hash_hex({key, content_of(files_in(*path, ""))});
  }
  std::string words;
  for (const std::string& text : overrides) words += hash_hex(text);
  return hash_hex({read_file(configuration), words, files});
}

std::string program_hash(const fs::path& program) {
  std::vector<fs::path> files = {program};
  const fs::path libraries = program.parent_path().parent_path() / "lib";
  if (fs::is_directory(libraries))
    for (const fs::path& library : files_in(libraries, "libbicrl")) files.push_back(library);
  return content_of(files);
}

}  // namespace bicrl::curation
