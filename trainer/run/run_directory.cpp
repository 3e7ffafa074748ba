#include "trainer/run/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/config/config_diff.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/log.h"
#include "common/program_version.h"
#include "episode/run_format.h"
#include "trainer/run/reports/machine_description.h"
#include "verdict/verifier_description.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr double kLockPatience_s = 10;

// Keys that decide where, how safely and how fast a run works, not what comes out. The reward may be swapped
// on purpose.
const std::vector<std::string> kFreeKeys = {"run.directory",
                                            "run.checkpoint_every_s",
                                            "run.checkpoint_in_background",
                                            "run.keep_checkpoints",
                                            "run.keep_best",
                                            "run.max_unverified_share",
                                            "run.straggler_deadline_s",
                                            "run.samples_per_step",
                                            "run.save_rollouts",
                                            "run.keep_texts",
                                            "run.max_loss",
                                            "run.max_skipped_updates",
                                            "trainer.sharding_stage",
                                            "trainer.recompute",
                                            "trainer.deterministic",
                                            "trainer.wait_limit_s",
                                            "trainer.heartbeat_limit_s",
                                            "trainer.placement",
                                            "trainer.generator_ranks",
                                            "reward",
                                            "verifier.addresses",
                                            "verifier.access",
                                            "verifier.max_in_flight",
                                            "verifier.deadline_s",
                                            "verifier.attempt_s",
                                            "verifier.max_attempts",
                                            "verifier.backoff_s",
                                            "verifier.max_backoff_s",
                                            "verifier.memory_verdicts",
                                            "verifier.server.workers",
                                            "verifier.server.listen",
                                            "verifier.server.access",
                                            "verifier.server.queue"};

std::vector<std::string> free_keys(const std::string& config_yaml) {
  std::vector<std::string> keys = kFreeKeys;
  const size_t stages =
      ConfigDocument::from_text(config_yaml, "config.yaml").root().sections("stages").size();
  for (size_t i = 0; i < stages; ++i) keys.push_back(concat("stages.", i, ".reward"));
  return keys;
}

// What a killed process left of a file that it was replacing.
bool is_unfinished(const fs::path& file) {
  return file.filename().string().find(".tmp.") != std::string::npos;
}

bool holds_nothing(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (!is_unfinished(entry.path())) return false;
  return true;
}

void remove_unfinished(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_unfinished(entry.path())) fs::remove(entry.path(), ignored);
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& path) : path_(path) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw Error(concat("cannot create the run directory ", path_.string(), ": ", error.message()));
  const bool empty = holds_nothing(path_);
  if (!empty && !fs::exists(path_ / "run.json"))
    throw InputError(concat("run.directory: ", path_.string(),
                            " holds files but no run (no run.json); name another folder"));
  take_lock();
  remove_unfinished(path_);
  if (!empty) read_run_file();
  if (!has_run_) write_run_file();
}

RunDirectory::Lock::~Lock() {
  if (fd >= 0) close(fd);
}

void RunDirectory::take_lock() {
  // The folder itself is locked: there is no file that a killed run could leave behind.
  lock_.fd = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_.fd < 0) throw Error(concat("cannot open ", path_.string(), ": ", strerror(errno)));
  // Ranks of a run whose launcher was killed take some seconds to end.
  const Stopwatch patience;
  while (flock(lock_.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
         patience.seconds() < kLockPatience_s)
    usleep(100'000);
  if (flock(lock_.fd, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw Error(concat("cannot lock ", path_.string(), ": ", strerror(errno)));
  throw InputError(concat("run.directory: another run is at work in ", path_.string(),
                          "; wait for its end, or name another folder"));
}

void RunDirectory::read_run_file() {
  const fs::path file = path_ / "run.json";
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  if (!json.is_object() || !json.value("format", nlohmann::json()).is_number_integer())
    throw InputError(concat(file.string(), ": not the description of a run"));
  if (json["format"] != kRunDirectoryFormat)
    throw InputError(concat(file.string(), ": the run was made by another version of this program (format ",
                            json["format"].dump(), ", this one reads ", kRunDirectoryFormat,
                            "); name another folder"));
  // Runs did not say so before protocol 3. Verdicts under two protocols do not mean the same.
  const auto protocol = json.value("protocol", nlohmann::json("2 or earlier"));
  if (protocol != kProtocolVersion)
    throw InputError(
        concat(file.string(), ": the run's verdicts were given under another protocol of the verifier (",
               protocol.is_string() ? protocol.get<std::string>() : protocol.dump(), ", this program speaks ",
               kProtocolVersion, "); name another folder, or go on with the version that started it"));
  has_run_ = fs::exists(path_ / "config.yaml");
  finished_ = json.value("finished", false);
  is_bench_ = json.value("bench", false);
}

void RunDirectory::write_run_file() const {
  nlohmann::json json = {
      {"format", kRunDirectoryFormat}, {"protocol", kProtocolVersion}, {"finished", finished_}};
  if (is_bench_) json["bench"] = true;
  for (const auto& [name, value] : machine_description()) json["machine"][name] = value;
  json["program"]["version"] = kProgramVersion.version;
  if (!kProgramVersion.commit.empty()) json["program"]["commit"] = kProgramVersion.commit;
  write("run.json", json.dump() + "\n");
}

void RunDirectory::check_config(const std::string& config_yaml, bool allow_changes) const {
  if (has_run_) {
    const auto changes =
        config_changes(read_file(path_ / "config.yaml"), config_yaml, free_keys(config_yaml));
    std::string text;
    for (const auto& change : changes)
      text += concat("\n  ", change.key, ": ", change.before, " -> ", change.after);
    if (!changes.empty() && !allow_changes)
      throw InputError(concat("the run in ", path_.string(), finished_ ? " has finished and" : "",
                              " was started with another configuration:", text,
                              "\nName another run.directory",
                              finished_ ? "" : ", or go on with --allow-changed-config"));
    if (!changes.empty()) log_warning("going on with a changed configuration:", text);
  }
}

bool RunDirectory::is_extended_by(const std::string& config_yaml) const {
  const std::string before = read_file(path_ / "config.yaml");
  const size_t stages = ConfigDocument::from_text(before, "config.yaml").root().sections("stages").size();
  const std::string last = stages == 0 ? "warm_up." : concat("stages.", stages - 1, ".");
  const auto extends = [&](const ConfigChange& change) {
    if (change.key == last + "steps" || change.key == last + "epochs")
      return std::strtoll(change.after.c_str(), nullptr, 10) >
             std::strtoll(change.before.c_str(), nullptr, 10);
    constexpr std::string_view kStages = "stages.";
    return change.key.starts_with(kStages) &&
           std::strtoull(change.key.c_str() + kStages.size(), nullptr, 10) >= stages;
  };
  const auto changes = config_changes(before, config_yaml, free_keys(config_yaml));
  return !changes.empty() && std::ranges::all_of(changes, extends);
}

void RunDirectory::adopt(const std::string& config_yaml, const std::string& reward_yaml, bool allow_changes) {
  check_config(config_yaml, allow_changes);
  changes_allowed_ = allow_changes;
  const fs::path reward = path_ / "reward.yaml";
  if (has_run_ && fs::exists(reward) && read_file(reward) != reward_yaml)
    log_info("going on with another reward");
  write("reward.yaml", reward_yaml);
  write("config.yaml", config_yaml);  // last: from here on there is a run
  if (!finished_) return;
  finished_ = false;
  write_run_file();
}

void RunDirectory::adopt_inputs(const std::map<std::string, std::string>& hashes) const {
  const fs::path file = path_ / "inputs.json";
  if (fs::exists(file)) {
    const auto before = nlohmann::json::parse(read_file(file), nullptr, false);
    if (!before.is_object()) throw InputError(concat(file.string(), ": is damaged"));
    std::string changed;
    for (const auto& [name, hash] : hashes)
      if (before.value(name, nlohmann::json()) != hash) changed += (changed.empty() ? "" : ", ") + name;
    if (!changed.empty() && !changes_allowed_)
      throw InputError(concat("the run in ", path_.string(), " was started with another content of: ",
                              changed, "\nName another run.directory, or go on with --allow-changed-config"));
    if (!changed.empty()) log_warning("going on with another content of: ", changed);
  }
  write("inputs.json", nlohmann::json(hashes).dump(2) + "\n");
}

void RunDirectory::write(const std::string& file, const std::string& text) const {
  write_file_atomically(path_ / file, text);
}

void RunDirectory::mark_finished() {
  finished_ = true;
  write_run_file();
}

void RunDirectory::mark_bench() {
  if (is_bench_) return;
  is_bench_ = true;
  write_run_file();
}

}  // namespace bicrl
