#include "sandbox/box/box.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "common/files/files.h"
#include "sandbox/box/box_report.h"
#include "sandbox/box/process/bounded_log.h"
#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/process/spawn.h"

namespace bicrl {
namespace {

constexpr const char* kInitTarget = "/box/init";
constexpr int kStatusFd = 3, kFilterFd = 4, kFirstPrivateFd = 5, kFirstProgramFd = 16;

// Descriptors that the server holds as long as the box runs.
struct Plumbing {
  FdPair status = make_pipe();
  FdPair output = make_pipe();
  UniqueFd filter;
  std::vector<UniqueFd> files;
  std::vector<UniqueFd> exports;
};

std::string number(uint64_t value) { return std::to_string(value); }

// Bounds the private memory of one process, behind the control group's bound on all of them. Shared
// libraries' data count, too.
uint64_t data_limit(const BoxLimits& limits) {
  return limits.data_bytes > 0 ? limits.data_bytes : limits.memory_bytes + (64ull << 20);
}

void append_init_arguments(const BoxHost& host, const BoxSpec& spec, const BoxSlot& slot, int next_fd,
                           std::vector<std::string>& command) {
  command.insert(command.end(), {kInitTarget, "--status", number(kStatusFd), "--filter", number(kFilterFd)});
  if (host.features().as_root) command.insert(command.end(), {"--uid", number(slot.uid)});
  if (!spec.work_folder.empty()) command.insert(command.end(), {"--chdir", spec.work_folder});
  const BoxLimits& l = spec.limits;
  command.insert(command.end(),
                 {"--cpu", number(static_cast<uint64_t>(l.cpu_s)), "--file", number(l.file_bytes), "--files",
                  number(static_cast<uint64_t>(l.open_files)), "--processes",
                  number(static_cast<uint64_t>(l.processes)), "--data", number(data_limit(l))});
  for (const auto& item : spec.exports)
    command.insert(command.end(),
                   {"--export", number(static_cast<uint64_t>(next_fd++)), number(item.max_bytes), item.path});
  command.push_back("--");
  command.insert(command.end(), spec.argv.begin(), spec.argv.end());
}

SpawnSpec plan(const BoxHost& host, const BoxSpec& spec, const BoxSlot& slot, Plumbing& plumbing) {
  SpawnSpec process;
  // The first process of a root server's box changes to the box's uid and ends what that uid leaves behind.
  process.argv = host.bwrap_command(host.features().as_root
                                        ? std::vector<std::string>{"CAP_SETUID", "CAP_SETGID", "CAP_KILL"}
                                        : std::vector<std::string>{});
  auto& command = process.argv;
  append_system_root(spec.root, command);
  append_devices(command);
  for (const auto& device : spec.devices) command.insert(command.end(), {"--dev-bind", device, device});
  if (spec.process_folder) command.insert(command.end(), {"--proc", "/proc"});
  append_mounts(spec.mounts, command);
  append_mounts({{share_folder() / "box" / "bicrl-box-init", kInitTarget}}, command);
  for (const auto& pair : spec.env) {
    const size_t equals = pair.find('=');
    command.insert(command.end(), {"--setenv", pair.substr(0, equals), pair.substr(equals + 1)});
  }
  process.fds = {{plumbing.output.theirs.get(), 1},
                 {plumbing.output.theirs.get(), 2},
                 {plumbing.status.theirs.get(), kStatusFd},
                 {plumbing.filter.get(), kFilterFd}};
  int next_fd = kFirstPrivateFd;
  if (!spec.work_folder.empty()) {
    command.insert(command.end(),
                   {"--perms", "0777", "--size", number(spec.work_bytes), "--tmpfs", spec.work_folder});
    for (const auto& [path, bytes] : spec.files) {
      plumbing.files.push_back(make_memfd("box-file", bytes));
      process.fds.emplace_back(plumbing.files.back().get(), next_fd);
      command.insert(command.end(),
                     {"--perms", "0444", "--file", number(static_cast<uint64_t>(next_fd++)), path});
    }
  }
  command.insert(command.end(), {"--remount-ro", "/"});
  const int first_export = next_fd;
  for (size_t i = 0; i < spec.exports.size(); ++i) {
    plumbing.exports.push_back(make_memfd("box-export"));
    process.fds.emplace_back(plumbing.exports.back().get(), next_fd++);
  }
  BICRL_CHECK(next_fd <= kFirstProgramFd, "too many files for one box");
  for (const auto& pair : spec.fds) {
    BICRL_CHECK(pair.second >= kFirstProgramFd, "descriptor ", pair.second, " of a box is reserved");
    process.fds.push_back(pair);
  }
  append_init_arguments(host, spec, slot, first_export, command);
  process.join = slot.cgroup->join_files();
  if (!spec.on_all_cores) process.cores = host.cores().of_boxes();
  return process;
}

const char* step_name(box::SetupStep step) {
  switch (step) {
    case box::SetupStep::kNone:
      return "nothing";
    case box::SetupStep::kArguments:
      return "reading its arguments";
    case box::SetupStep::kFork:
      return "starting a process";
    case box::SetupStep::kLimits:
      return "setting limits";
    case box::SetupStep::kPrivileges:
      return "dropping privileges";
    case box::SetupStep::kFolder:
      return "entering the work folder";
    case box::SetupStep::kFilter:
      return "installing the system call filter";
    case box::SetupStep::kExec:
      return "starting the program";
  }
  return "an unknown step";
}

// Waits for the report, reads the output meanwhile, and says when a limit is reached.
class Watch {
 public:
  Watch(const BoxSpec& spec, Plumbing& plumbing, std::stop_token stop)
      : spec_(spec), plumbing_(plumbing), stop_(std::move(stop)), log_(spec.limits.output_bytes) {}

  // How the box must be ended early, or nothing when the report arrived or the box is gone.
  std::optional<BoxEnd> until_end() {
    while (true) {
      const double left_s = spec_.limits.wall_s - clock_.seconds();
      if (left_s <= 0) return BoxEnd::kTimeout;
      if (stop_.stop_requested()) return BoxEnd::kCancelled;
      pollfd fds[2] = {{plumbing_.status.ours.get(), POLLIN, 0}, {plumbing_.output.ours.get(), POLLIN, 0}};
      const nfds_t count = output_open_ ? 2 : 1;
      poll(fds, count, poll_timeout_ms(left_s));
      if (output_open_ && fds[1].revents) output_open_ = log_.read_from(plumbing_.output.ours.get());
      if (log_.overflowed()) return BoxEnd::kOutputLimit;
      if (fds[0].revents) {
        const ssize_t n = read(plumbing_.status.ours.get(), &report_, sizeof report_);
        have_report_ = n == static_cast<ssize_t>(sizeof report_) && report_.magic == box::kReportMagic;
        if (n >= 0 || (errno != EAGAIN && errno != EINTR)) return std::nullopt;
      }
    }
  }

  void finish(BoxResult& result) {
    log_.read_from(plumbing_.output.ours.get());
    if (log_.overflowed() && result.end != BoxEnd::kBoxFailed) result.end = BoxEnd::kOutputLimit;
    result.output = log_.text();
  }

  bool have_report() const { return have_report_; }
  const box::Report& report() const { return report_; }
  double total_ms() const { return clock_.ms(); }

 private:
  const BoxSpec& spec_;
  Plumbing& plumbing_;
  std::stop_token stop_;
  BoundedLog log_;
  Stopwatch clock_;
  box::Report report_;
  bool have_report_ = false;
  bool output_open_ = true;
};

void name_end(const BoxSpec& spec, const Watch& watch, MemoryEnd memory, BoxResult& result) {
  if (memory == MemoryEnd::kLimit) {
    result.end = BoxEnd::kMemory;
  } else if (memory == MemoryEnd::kMachine) {
    result.end = BoxEnd::kBoxFailed;
    result.reason = kMachineOutOfMemory;
  } else if (!watch.have_report()) {
    result.end = BoxEnd::kBoxFailed;
    result.reason = "the box ended without a report" + (result.output.empty() ? "" : ": " + result.output);
  } else if (watch.report().failed_step != box::SetupStep::kNone) {
    result.end = BoxEnd::kBoxFailed;
    result.reason = concat("the box failed at ", step_name(watch.report().failed_step), ": ",
                           strerror(watch.report().error));
  } else {
    const int status = watch.report().wait_status;
    result.end = WIFSIGNALED(status) ? BoxEnd::kSignalled : BoxEnd::kExited;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    // The CPU limit ends a process with SIGXCPU, or with SIGKILL if it does not heed that. SIGKILL has other
    // causes, too, and the kernel counts the limit in ticks, which on a busy machine can run well ahead of
    // the time that it reports.
    const bool used_up = result.code == SIGKILL && result.cpu_ms >= spec.limits.cpu_s * 700.0;
    if (result.end == BoxEnd::kSignalled && (result.code == SIGXCPU || used_up))
      result.end = BoxEnd::kTimeout;
  }
}

// What was killed may have a kernel on a GPU, which another program gets next.
void wait_until_empty(const CgroupSlot& group) {
  constexpr double kPatience_s = 10;
  constexpr auto kLook = std::chrono::milliseconds(1);
  const Stopwatch clock;
  while (group.has_processes() && clock.seconds() < kPatience_s) std::this_thread::sleep_for(kLook);
}

}  // namespace

BoxResult run_box(BoxHost& host, const BoxSpec& spec, std::stop_token stop) {
  BoxResult result;
  try {
    const SlotLease slot = host.take_slot({spec.limits.memory_bytes, spec.limits.processes + 3});
    const CgroupEvents before = slot->cgroup->events();
    Plumbing plumbing;
    plumbing.filter = make_memfd("filter", syscall_filter(spec.syscalls));
    const pid_t pid = spawn(plan(host, spec, *slot, plumbing));
    plumbing.status.theirs.reset();
    plumbing.output.theirs.reset();
    Watch watch(spec, plumbing, std::move(stop));
    const auto ended_early = watch.until_end();
    if (ended_early) {
      kill(pid, SIGKILL);
      slot->cgroup->kill_all();
    }
    reap(pid);
    if (ended_early) wait_until_empty(*slot->cgroup);
    const CgroupEvents events = slot->cgroup->events();
    result.process_limit_hit = events.refused_processes > before.refused_processes;
    if (watch.have_report()) {
      result.wall_ms = static_cast<double>(watch.report().wall_us) * 1e-3;
      result.cpu_ms = static_cast<double>(watch.report().cpu_us) * 1e-3;
    }
    if (ended_early)
      result.end = *ended_early;
    else
      name_end(spec, watch, memory_end(before, events), result);
    watch.finish(result);
    for (const auto& fd : plumbing.exports) result.exported.push_back(read_whole(fd.get()));
    result.total_ms = watch.total_ms();
  } catch (const Error& error) {
    result.end = BoxEnd::kBoxFailed;
    result.reason = error.what();
  }
  return result;
}

}  // namespace bicrl
