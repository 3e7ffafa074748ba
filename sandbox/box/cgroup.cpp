#include "sandbox/box/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "common/error.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

bool write_text(const fs::path& file, const std::string& text) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int code = errno;
  close(fd);
  errno = code;
  return written;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The number that a file holds; 0 if it is absent.
int64_t read_number(const fs::path& file) { return std::strtoll(read_text(file).c_str(), nullptr, 10); }

// The number behind `key` in a file of "key number" lines; 0 if absent.
int64_t read_counter(const fs::path& file, const std::string& key) {
  std::istringstream in(read_text(file));
  std::string name;
  int64_t value = 0;
  while (in >> name >> value)
    if (name == key) return value;
  return 0;
}

// What to do where there are no groups.
const char* remedy() {
  return geteuid() == 0
             ? "Root needs a mounted hierarchy (mount -t cgroup2 none /sys/fs/cgroup) that hands down its "
               "controllers"
             : "Run as root, or inside a delegated group (systemd-run --scope -p Delegate=yes)";
}

// This process's group in each hierarchy, by controller name; "" is version 2.
std::map<std::string, std::string> own_groups() {
  std::map<std::string, std::string> groups;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (second == first + 1) groups[""] = path;
    for (std::string name; std::getline(names, name, ',');) groups[name] = path;
  }
  return groups;
}

struct Mount {
  std::string type, where, options;
};

std::vector<Mount> cgroup_mounts() {
  std::vector<Mount> found;
  std::ifstream in("/proc/mounts");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string source;
    Mount mount;
    fields >> source >> mount.where >> mount.type >> mount.options;
    if (mount.type == "cgroup" || mount.type == "cgroup2") found.push_back(mount);
  }
  return found;
}

void remove_groups(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_directory(ignored)) rmdir(entry.path().c_str());
  rmdir(folder.c_str());
}

// Held as long as the folder's server lives: in another pid namespace its number says nothing.
UniqueFd lock_folder(const fs::path& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return {};
}

// Folders of servers that were killed are removed by the next one.
void remove_dead_groups(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind("bicrl-", 0) != 0) continue;
    const int pid = atoi(name.c_str() + 6);
    const bool dead = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    if (dead && lock_folder(entry.path())) remove_groups(entry.path());
  }
}

// A new group under `parent`, or an empty path with errno set.
fs::path make_folder(const fs::path& parent, std::vector<UniqueFd>& locks) {
  remove_dead_groups(parent);
  constexpr int kNames = 16;  // a server of another pid namespace may have the same number
  for (int i = 0; i < kNames; ++i) {
    const fs::path folder = parent / concat("bicrl-", getpid(), i == 0 ? "" : concat("-", i));
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return {};
    UniqueFd lock = lock_folder(folder);
    if (!lock || !fs::is_directory(folder)) continue;
    locks.push_back(std::move(lock));
    return folder;
  }
  errno = EBUSY;
  return {};
}

bool mentions(const std::string& options, const std::string& controller) {
  return ("," + options + ",").find("," + controller + ",") != std::string::npos;
}

}  // namespace

MemoryEnd memory_end(const CgroupEvents& before, const CgroupEvents& after) {
  if (after.memory_kills <= before.memory_kills) return MemoryEnd::kNone;
  return after.limit_hits > before.limit_hits ? MemoryEnd::kLimit : MemoryEnd::kMachine;
}

CgroupTree::CgroupTree() {
  const auto mounts = cgroup_mounts();
  const auto groups = own_groups();
  std::string reason;
  const auto open_v1 = [&](const std::string& controller) -> fs::path {
    for (const auto& mount : mounts) {
      if (mount.type != "cgroup" || !mentions(mount.options, controller)) continue;
      const auto own = groups.find(controller);
      for (const std::string& below :
           {own == groups.end() ? std::string("/") : own->second, std::string("/")}) {
        const fs::path parent = mount.where + below;
        if (!fs::is_directory(parent)) continue;
        fs::path made = make_folder(parent, locks_);
        if (!made.empty()) return made;
        reason = concat("cannot create a group in ", mount.where, ": ", strerror(errno));
      }
    }
    return {};
  };
  memory_ = open_v1("memory");
  pids_ = open_v1("pids");
  if (has_memory() || has_pids()) {
    version_ = 1;
  } else {
    for (const auto& mount : mounts)
      if (mount.type == "cgroup2" && !version_) open_version2(mount.where);
  }
  if (has_memory() && has_pids()) return;
  if (missing_.empty())
    missing_ =
        concat("control groups for ", has_memory() ? "" : "memory", has_memory() || has_pids() ? "" : " and ",
               has_pids() ? "" : "processes", ": ", reason.empty() ? "no such hierarchy is mounted" : reason,
               "; rlimits hold instead. ", remedy());
}

void CgroupTree::open_version2(const fs::path& mount) {
  const auto groups = own_groups();
  const auto own = groups.find("");
  for (const std::string& below : {own == groups.end() ? std::string("/") : own->second, std::string("/")}) {
    const fs::path parent = mount.string() + below;
    const std::string offered = " " + read_text(parent / "cgroup.controllers");
    if (offered.find(" memory") == std::string::npos) continue;
    // A group with processes of its own cannot hand controllers down, except the machine's root group.
    if (!write_text(parent / "cgroup.subtree_control", "+memory +pids")) {
      missing_ = concat("control groups: ", parent.string(),
                        " does not hand down its controllers: ", strerror(errno), "; rlimits hold instead. ",
                        remedy());
      continue;
    }
    const fs::path made = make_folder(parent, locks_);
    if (made.empty() || !write_text(made / "cgroup.subtree_control", "+memory +pids")) continue;
    memory_ = pids_ = made;
    version_ = 2;
    missing_.clear();
    return;
  }
}

CgroupTree::~CgroupTree() {
  if (has_memory()) remove_groups(memory_);
  if (has_pids()) remove_groups(pids_);
}

std::unique_ptr<CgroupSlot> CgroupTree::make_slot(int index) const {
  std::unique_ptr<CgroupSlot> slot(new CgroupSlot());
  slot->version_ = version_;
  const auto make = [&](const fs::path& parent) -> fs::path {
    if (parent.empty()) return {};
    const fs::path folder = parent / concat("box-", index);
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
      throw Error(concat("cannot create control group ", folder.string(), ": ", strerror(errno)));
    slot->join_files_.push_back(folder / "cgroup.procs");
    return folder;
  };
  slot->memory_ = make(memory_);
  slot->pids_ = version_ == 2 ? slot->memory_ : make(pids_);
  return slot;
}

CgroupSlot::~CgroupSlot() {
  if (!memory_.empty()) rmdir(memory_.c_str());
  if (!pids_.empty() && pids_ != memory_) rmdir(pids_.c_str());
}

void CgroupSlot::set_limits(const CgroupLimits& limits) {
  if (!memory_.empty()) {
    const bool old = version_ == 1;
    const std::string value =
        limits.memory_bytes ? std::to_string(limits.memory_bytes) : std::string(old ? "-1" : "max");
    const fs::path file = memory_ / (old ? "memory.limit_in_bytes" : "memory.max");
    const fs::path with_swap = memory_ / (old ? "memory.memsw.limit_in_bytes" : "memory.swap.max");
    // Version 1 wants memory <= memory+swap at all times: open the outer limit first, close it last.
    if (old) write_text(with_swap, "-1");
    // A slot is lent empty, but for pages that the kernel can take back.
    constexpr int kMoments = 500;
    for (int moment = 0; !write_text(file, value); ++moment) {
      BICRL_CHECK(moment < kMoments, file.string(), " = ", value, ": ", strerror(errno));
      write_text(memory_ / "memory.force_empty", "0");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    write_text(with_swap, old ? value : "0");
    if (old) write_text(memory_ / "memory.max_usage_in_bytes", "0");
  }
  if (!pids_.empty())
    write_text(pids_ / "pids.max", limits.processes ? std::to_string(limits.processes) : std::string("max"));
}

bool CgroupSlot::is_empty() const {
  if (memory_.empty()) return true;
  constexpr int64_t kLeftoverBytes = 16 << 20;
  const fs::path file = memory_ / "memory.stat";
  return read_counter(file, version_ == 1 ? "rss" : "anon") + read_counter(file, "shmem") <= kLeftoverBytes;
}

// Version 1 counts failed charges on some kernels only; the peak is right on all. The last charge before a
// kill may have been a large page, which did not fit.
bool CgroupSlot::peak_is_at_limit() const {
  constexpr int64_t kLargestCharge = 2 << 20;
  return read_number(memory_ / "memory.max_usage_in_bytes") >=
         read_number(memory_ / "memory.limit_in_bytes") - kLargestCharge;
}

void CgroupSlot::add(int pid) const {
  for (const auto& file : join_files_)
    if (!write_text(file, std::to_string(pid)) && errno != ESRCH)
      throw Error(concat("cannot move a process into ", file, ": ", strerror(errno)));
}

CgroupEvents CgroupSlot::events() const {
  CgroupEvents events;
  if (!memory_.empty()) {
    const bool old = version_ == 1;
    events.memory_kills = read_counter(memory_ / (old ? "memory.oom_control" : "memory.events"), "oom_kill");
    events.limit_hits = old ? peak_is_at_limit() : read_counter(memory_ / "memory.events", "max");
  }
  if (!pids_.empty()) events.refused_processes = read_counter(pids_ / "pids.events", "max");
  return events;
}

// A process is listed no more once its first thread has left: its others are.
bool CgroupSlot::has_processes() const {
  const auto holds = [this](const fs::path& group) {
    return !group.empty() && !read_text(group / (version_ == 2 ? "cgroup.threads" : "tasks")).empty();
  };
  return holds(memory_) || holds(pids_);
}

void CgroupSlot::kill_all() const {
  if (version_ == 2 && write_text(memory_ / "cgroup.kill", "1")) return;
  for (const auto& file : join_files_) {
    std::istringstream pids(read_text(file));
    for (int pid = 0; pids >> pid;) kill(pid, SIGKILL);
  }
}

}  // namespace bicrl
