#include "sandbox/box/zygote.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "common/files/files.h"
#include "common/files/last_lines.h"
#include "common/log.h"
#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/box/process/spawn.h"
#include "sandbox/box/seccomp_filter.h"

namespace bicrl {
namespace {

constexpr int kControlFd = 3, kFilterFd = 4;
constexpr const char* kRuntimeTarget = "/box";
constexpr const char* kRoot = "/root-of-children";
constexpr const char* kScratch = "/scratch";
constexpr double kStartPatience_s = 120;
// After so many failed starts in a row nobody waits for the next one any more.
constexpr int kHopelessStarts = 2;

// The number on this host of a process that has a pidfd from another namespace; 0 if it is gone.
int host_pid(int pidfd) {
  FILE* info = fopen(concat("/proc/self/fdinfo/", pidfd).c_str(), "re");
  int pid = 0;
  char line[256];
  while (info && fgets(line, sizeof line, info))
    if (sscanf(line, "Pid: %d", &pid) == 1) break;
  if (info) fclose(info);
  return std::max(pid, 0);
}

void append_root(const std::vector<BoxMount>& mounts, std::vector<std::string>& command) {
  const std::string root = kRoot;
  command.insert(command.end(), {"--perms", "0755", "--tmpfs", root});
  for (const BoxMount& mount : mounts)
    command.insert(command.end(), {"--ro-bind", mount.source, root + mount.target.string()});
  append_folder(root + "/dev", command);
  command.insert(command.end(),
                 {"--dev-bind", "/dev/null", root + "/dev/null", "--perms", "0755", "--tmpfs", root + "/keep",
                  "--perms", "1777", "--tmpfs", root + "/scratch", "--remount-ro", root});
}

// The last of the mounts.
void append_scratch(std::vector<std::string>& command) {
  command.insert(command.end(),
                 {"--proc", "/proc", "--perms", "1777", "--tmpfs", kScratch, "--remount-ro", "/"});
}

}  // namespace

Zygote::Zygote(BoxHost& host, const PythonInstall& python, ZygoteSpec spec)
    : host_(host),
      python_(python),
      spec_(std::move(spec)),
      reaper_([this](std::stop_token stop) { reap_dismissed(stop); }),
      keeper_([this](std::stop_token stop) { keep_running(stop); }) {}

Zygote::~Zygote() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    control_.reset();
  }
  changed_.notify_all();
  reaper_.request_stop();
  reaper_.join();
  spare_.reset();  // while there is an interpreter to reap it
  keeper_.request_stop();
  keeper_.join();
}

void Zygote::dismiss(std::unique_ptr<ZygoteChild> child) {
  child->kill_child();
  {
    const std::lock_guard lock(mutex_);
    dismissed_.push_back(std::move(child));
  }
  dismissed_changed_.notify_one();
}

// An interpreter that does not answer is ended, so that the next fork waits for a new one instead of failing
// too.
void Zygote::give_up_on(const std::shared_ptr<UniqueFd>& control) {
  const std::lock_guard lock(mutex_);
  if (control_ != control) return;
  control_.reset();
  if (pid_ > 0) kill(pid_, SIGKILL);
}

void Zygote::reap_dismissed(std::stop_token stop) {
  while (true) {
    std::vector<std::unique_ptr<ZygoteChild>> children;
    std::unique_lock lock(mutex_);
    if (!dismissed_changed_.wait(lock, stop, [&] { return !dismissed_.empty(); })) return;
    children.swap(dismissed_);
    lock.unlock();
    const ChildLimits limits = children.back()->limits_;
    children.clear();
    // Only now: while the request is served, the processors have better work.
    keep_spare(limits, stop);
  }
}

void Zygote::keep_spare(const ChildLimits& limits, std::stop_token stop) {
  {
    const std::lock_guard lock(mutex_);
    if (spare_ && spare_->limits_ == limits) return;
  }
  auto child = fork_anew(limits, stop, 0, {});
  if (!child) return;                // whoever asks for a child hears the reason
  std::unique_ptr<ZygoteChild> old;  // of other limits; it ends outside of the lock
  const std::lock_guard lock(mutex_);
  old = std::exchange(spare_, std::move(child.value()));
}

std::unique_ptr<ZygoteChild> Zygote::take_spare(const ChildLimits& limits) {
  std::unique_ptr<ZygoteChild> child;
  {
    const std::lock_guard lock(mutex_);
    if (!control_ || !spare_ || spare_->limits_ != limits) return nullptr;
    child = std::move(spare_);
  }
  if (!child->waits()) return nullptr;  // it died with its interpreter
  child->begin();
  return child;
}

bool Zygote::has_spare() const {
  const std::lock_guard lock(mutex_);
  return spare_ != nullptr;
}

int Zygote::starts() const {
  const std::lock_guard lock(mutex_);
  return starts_;
}

pid_t Zygote::box_pid() const {
  const std::lock_guard lock(mutex_);
  return pid_;
}

void Zygote::append_interpreter(std::vector<std::string>& command) const {
  append_mounts(python_.mounts, command);
  // Torch picks its vector code by what it finds here; the interpreter unmounts it, and /proc, before any
  // fork.
  append_mounts({{"/sys/devices/system/cpu", "/sys/devices/system/cpu"}}, command);
  std::vector<std::string> folders;
  for (const auto& folder : spec_.module_folders) {
    folders.push_back(concat("/modules/", folders.size()));
    append_mounts({{folder, folders.back()}}, command);
  }
  if (!spec_.root.empty()) append_root(spec_.root, command);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"PATH", "/usr/bin"},
                                                        {"HOME", kScratch},
                                                        {"TMPDIR", kScratch},
                                                        {"USER", "box"},
                                                        {"LANG", "C.UTF-8"},
                                                        {"OMP_NUM_THREADS", "1"},
                                                        {"MKL_NUM_THREADS", "1"},
                                                        {"PYTHONDONTWRITEBYTECODE", "1"}})
    command.insert(command.end(), {"--setenv", name, value});
  append_scratch(command);
  command.insert(command.end(), {python_.interpreter, "-I", "-B", concat(kRuntimeTarget, "/zygote.py"),
                                 std::to_string(kControlFd), std::to_string(kFilterFd),
                                 concat(kRuntimeTarget, "/libbicrl_confine.so"),
                                 spec_.root.empty() ? "" : kRoot, spec_.module, spec_.function});
  command.insert(command.end(), folders.begin(), folders.end());
}

std::vector<std::string> Zygote::command() const {
  auto command = host_.bwrap_command({"CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID"});
  append_system_root(spec_.starts_processes ? SystemRoot::kToolchain : SystemRoot::kLibraries, command);
  append_devices(command);
  append_mounts({{share_folder() / "box", kRuntimeTarget}}, command);
  append_mounts(spec_.mounts, command);
  if (!spec_.program) {
    append_interpreter(command);
    return command;
  }
  command.insert(command.end(), {"--setenv", "BICRL_CONTROL_FD", std::to_string(kControlFd), "--setenv",
                                 "BICRL_FILTER_FD", std::to_string(kFilterFd)});
  for (const std::string& variable : spec_.program->env) {
    const size_t equals = variable.find('=');
    command.insert(command.end(), {"--setenv", variable.substr(0, equals), variable.substr(equals + 1)});
  }
  append_scratch(command);
  command.insert(command.end(), spec_.program->argv.begin(), spec_.program->argv.end());
  return command;
}

void Zygote::keep_running(std::stop_token stop) {
  double pause_s = 0.2;
  while (!stop.stop_requested()) {
    const Stopwatch lived;
    try {
      run_once(stop);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      failure_ = error.what();
    }
    changed_.notify_all();
    if (stop.stop_requested()) return;
    {
      const std::lock_guard lock(mutex_);
      log_warning("the ", spec_.name, " interpreter ended", failure_.empty() ? "" : ": " + failure_,
                  "; starting another");
    }
    // One that dies at once again and again must not become a busy loop.
    pause_s = lived.seconds() > 10 ? 0.05 : std::min(5.0, pause_s * 2);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, std::chrono::duration<double>(pause_s), [&] { return stopping_; });
  }
}

void Zygote::run_once(std::stop_token stop) {
  FdPair control = make_packet_pair(), output = make_pipe();
  const UniqueFd filter = make_memfd(
      "filter",
      syscall_filter(spec_.starts_processes ? SyscallProfile::kProgram : SyscallProfile::kSingleProcess));
  const pid_t pid = spawn({command(),
                           {},
                           {{output.theirs.get(), 1},
                            {output.theirs.get(), 2},
                            {control.theirs.get(), kControlFd},
                            {filter.get(), kFilterFd}},
                           {},
                           host_.cores().of_boxes()});
  control.theirs.reset();
  output.theirs.reset();
  {
    const std::lock_guard lock(mutex_);
    ++starts_;
    pid_ = pid;
  }
  BoundedLog log(16u << 10);
  const auto shared = std::make_shared<UniqueFd>(std::move(control.ours));
  const bool ready = wait_readable(shared->get(), kStartPatience_s, stop) &&
                     receive_packet(shared->get()).content.is_object();
  if (ready) {
    {
      const std::lock_guard lock(mutex_);
      control_ = shared;
      failure_.clear();
      failed_starts_ = 0;
    }
    changed_.notify_all();
    // The output pipe closes when the interpreter and all that it started are gone.
    while (!stop.stop_requested()) {
      if (wait_readable(output.ours.get(), 1, stop) && !log.read_from(output.ours.get())) break;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    control_.reset();
    pid_ = 0;
  }
  kill(pid, SIGKILL);
  reap(pid);
  log.read_from(output.ours.get());
  if (stop.stop_requested()) return;
  const std::lock_guard lock(mutex_);
  if (!ready) ++failed_starts_;
  failure_ = last_lines(log.text());
  if (failure_.empty() && !ready) failure_ = "it did not get ready";
}

Zygote::ForkResult Zygote::fork(const ChildLimits& limits, std::stop_token stop, double patience_s,
                                const std::vector<std::string>& wishes) {
  // A spare child knows nothing of what was wished for after its fork.
  if (wishes.empty())
    if (auto spare = take_spare(limits)) return ForkResult(std::move(spare));
  return fork_anew(limits, stop, patience_s, wishes);
}

Zygote::ForkResult Zygote::fork_anew(const ChildLimits& limits, std::stop_token stop, double patience_s,
                                     const std::vector<std::string>& wishes) {
  using Reply = ForkResult;
  std::shared_ptr<UniqueFd> control;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, std::chrono::duration<double>(patience_s),
                      [&] { return control_ || stopping_ || failed_starts_ >= kHopelessStarts; });
    if (!control_)
      return Reply::failure(
          concat("the ", spec_.name, " interpreter is not ready", failure_.empty() ? "" : ": " + failure_));
    control = control_;
  }
  std::unique_ptr<ZygoteChild> child(new ZygoteChild(host_, limits));
  FdPair channel = make_stream_pair(), status = make_packet_pair(), output = make_pipe();
  const nlohmann::json request{{"tmp_bytes", limits.tmp_bytes},
                               {"cpu_s", limits.cpu_s},
                               {"file_bytes", limits.file_bytes},
                               {"open_files", limits.open_files},
                               {"processes", limits.threads},
                               {"data_bytes", limits.memory_bytes},
                               {"wishes", wishes},
                               {"change_uid", host_.features().as_root ? 1 : 0},
                               {"uid", child->slot_->uid}};
  if (!send_packet(control->get(), request.dump(),
                   {channel.theirs.get(), status.theirs.get(), output.theirs.get()})) {
    give_up_on(control);
    return Reply::failure(concat("the ", spec_.name, " interpreter does not listen"));
  }
  for (FdPair* pair : {&channel, &status, &output}) pair->theirs.reset();
  child->channel_ = std::move(channel.ours);
  child->status_ = std::move(status.ours);
  child->output_ = std::move(output.ours);
  Packet started;
  if (wait_readable(child->status_.get(), 20, stop)) started = receive_packet(child->status_.get());
  if (!started.content.is_object() || started.fds.empty()) {
    child->ended_ = ChildEnd::kBoxFailed;
    if (!started.content.is_object() && !stop.stop_requested()) give_up_on(control);
    return Reply::failure(
        concat("the ", spec_.name, " interpreter did not fork: ",
               started.content.is_object() ? started.content.value("error", "") : "it died"));
  }
  child->pidfd_ = std::move(started.fds.front());
  // The child waits for its first frame, so it is in its control group before any candidate code runs.
  child->pid_ = host_pid(child->pidfd_.get());
  if (child->pid_ > 0) child->slot_->cgroup->add(child->pid_);
  const auto ready = child->receive(stop);
  if (!ready || ready->header.value("kind", "") != "ready") {
    const std::string why = ready ? ready->header.value("error", "no reason given") : "it ended early";
    child->ended_ = ChildEnd::kBoxFailed;
    const ChildResult result = child->finish();
    return Reply::failure(concat("a ", spec_.name, " box could not be set up: ", why, " ", result.output));
  }
  child->begin();
  return Reply(std::move(child));
}

}  // namespace bicrl
