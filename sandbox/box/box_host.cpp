#include "sandbox/box/box_host.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"
#include "sandbox/box/process/command.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> namespace_arguments(const std::string& bwrap, bool as_root) {
  std::vector<std::string> command{
      bwrap,        "--unshare-pid",     "--unshare-net",        "--unshare-ipc", "--unshare-uts",
      "--as-pid-1", "--die-with-parent", "--unshare-cgroup-try", "--clearenv",    "--cap-drop",
      "ALL"};
  if (!as_root) command.insert(command.begin() + 1, "--unshare-user");
  return command;
}

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// Why bubblewrap cannot make namespaces here, and what helps.
std::string namespace_remedy(bool as_root) {
  if (first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && !as_root)
    return "AppArmor restricts user namespaces (Ubuntu 24.04). Give bubblewrap a profile that allows userns, "
           "or run "
           "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or start the verifier as root";
  if (first_line("/proc/sys/kernel/unprivileged_userns_clone") == "0" && !as_root)
    return "user namespaces are off for ordinary users. Run `sudo sysctl kernel.unprivileged_userns_clone=1` "
           "or start "
           "the verifier as root";
  if (first_line("/proc/sys/user/max_user_namespaces") == "0" && !as_root)
    return "user namespaces are off. Run `sudo sysctl user.max_user_namespaces=10000` or start the verifier "
           "as root";
  if (fs::exists("/.dockerenv") || fs::exists("/run/.containerenv"))
    return "a container without the right to make namespaces. Start it with `--privileged`, or with "
           "`--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined`";
  return "the kernel refuses namespaces to this user";
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? fs::absolute(name).string() : "";
  const char* path = getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

SandboxFeatures SandboxFeatures::probe(const std::string& bwrap) {
  SandboxFeatures f;
  f.as_root = geteuid() == 0;
  f.bwrap = find_program(bwrap.empty() ? "bwrap" : bwrap);
  if (f.bwrap.empty()) {
    f.missing.push_back("namespaces: bubblewrap is not installed. Run `apt-get install bubblewrap`");
    return f;
  }
  auto command = namespace_arguments(f.bwrap, f.as_root);
  append_system_root(SystemRoot::kToolchain, command);
  command.push_back(find_program("true").empty() ? "/bin/true"
                                                 : fs::canonical(find_program("true")).string());
  const CommandResult trial = run_command(command);
  if (!trial.succeeded) {
    f.missing.push_back(
        concat("namespaces: ", f.bwrap, " fails (", trial.output, "): ", namespace_remedy(f.as_root)));
    return f;
  }
  f.present.push_back("namespaces");
  // EFAULT on a null program says that filters exist; EINVAL that the kernel has none.
  if (prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, nullptr, 0, 0) != 0 && errno == EINVAL) {
    f.missing.push_back("seccomp: this kernel has no system call filters (CONFIG_SECCOMP_FILTER)");
    return f;
  }
  f.present.push_back("seccomp");
  f.present.push_back("rlimits");
  if (f.as_root)
    f.present.push_back("uid-per-box");
  else
    f.missing.push_back(
        "uid-per-box: needs root; boxes share this user's uid, each in a user namespace of its own");
  f.usable = true;
  return f;
}

BoxHost::BoxHost(const std::string& bwrap, int cores_set_aside)
    : features_(SandboxFeatures::probe(bwrap)),
      cores_(CoreShare::divide(CoreShare::of_this_process(), cores_set_aside)) {
  if (!features_.usable) {
    std::string reasons;
    for (const auto& reason : features_.missing) reasons += "\n  " + reason;
    throw Error("this machine cannot make sandbox boxes:" + reasons, ExitCode::kUnavailable);
  }
  if (cgroups_.version() != 0)
    features_.present.push_back(
        concat("cgroup-v", cgroups_.version(), ":", cgroups_.has_memory() ? "memory" : "",
               cgroups_.has_memory() && cgroups_.has_pids() ? "," : "", cgroups_.has_pids() ? "pids" : ""));
  if (!cgroups_.missing().empty()) features_.missing.push_back(cgroups_.missing());
  if (features_.as_root) uids_.push_back(UidRange::claim());
  if (cores_.set_aside() > 0)
    features_.present.push_back(
        concat("cores: ", cores_.set_aside(), " of ", cores_.total(), " set aside for what feeds GPUs"));
}

std::vector<std::string> BoxHost::bwrap_command(const std::vector<std::string>& capabilities) const {
  auto command = namespace_arguments(features_.bwrap, features_.as_root);
  for (const auto& name : capabilities) command.insert(command.end(), {"--cap-add", name});
  return command;
}

SlotLease BoxHost::take_slot(const CgroupLimits& limits) {
  std::unique_ptr<BoxSlot> slot;
  {
    const std::lock_guard lock(mutex_);
    const auto empty = std::find_if(free_.rbegin(), free_.rend(),
                                    [](const auto& known) { return known->cgroup->is_empty(); });
    if (empty != free_.rend()) {
      slot = std::move(*empty);
      free_.erase(std::prev(empty.base()));
    } else {
      slot = std::make_unique<BoxSlot>();
      slot->index = made_;
      if (features_.as_root) {
        if (static_cast<size_t>(slot->index / UidRange::kUids) == uids_.size())
          uids_.push_back(UidRange::claim());
        slot->uid = uids_.back().first() + static_cast<uid_t>(slot->index % UidRange::kUids);
      }
      slot->cgroup = cgroups_.make_slot(slot->index);
      ++made_;
    }
  }
  slot->cgroup->set_limits(limits);
  return SlotLease(*this, std::move(slot));
}

void BoxHost::give_back(std::unique_ptr<BoxSlot> slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(slot));
}

SlotLease::~SlotLease() {
  if (slot_) host_->give_back(std::move(slot_));
}

void append_folder(const fs::path& folder, std::vector<std::string>& command) {
  if (folder == folder.root_path()) return;
  append_folder(folder.parent_path(), command);
  const std::vector<std::string> made{"--dir", folder};
  if (std::search(command.begin(), command.end(), made.begin(), made.end()) == command.end())
    command.insert(command.end(), {"--perms", "0755", "--dir", folder});
}

void append_mounts(const std::vector<BoxMount>& mounts, std::vector<std::string>& command) {
  for (const auto& mount : mounts) {
    append_folder(mount.target.parent_path(), command);
    command.insert(command.end(), {"--ro-bind", mount.source, mount.target});
  }
}

void append_system_root(SystemRoot root, std::vector<std::string>& command) {
  std::vector<std::string> folders{"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"};
  if (root == SystemRoot::kToolchain)
    folders.insert(folders.end(), {"/usr/bin", "/usr/include", "/usr/libexec", "/usr/x86_64-linux-gnu"});
  for (const auto& folder : folders)
    if (fs::is_directory(folder)) append_mounts({{folder, folder}}, command);
  for (const char* name : {"/lib", "/lib32", "/lib64", "/libx32", "/bin"}) {
    std::error_code none;
    if (name == std::string("/bin") && root != SystemRoot::kToolchain) continue;
    if (fs::is_symlink(name, none))
      command.insert(command.end(), {"--symlink", fs::read_symlink(name), name});
    else if (fs::is_directory(name, none))
      append_mounts({{name, name}}, command);
  }
  for (const char* name : {"/etc/ld.so.cache", "/etc/alternatives"})
    if (fs::exists(name)) append_mounts({{name, name}}, command);
}

void append_devices(std::vector<std::string>& command) {
  append_folder("/dev", command);
  for (const char* name : {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"})
    command.insert(command.end(), {"--dev-bind", name, name});
}

}  // namespace bicrl
