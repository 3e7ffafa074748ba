// Host of boxes: the features of this machine that boxes need, and the resources that they share, which are
// uids and control groups.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sandbox/box/cgroup.h"
#include "sandbox/box/core_share.h"
#include "sandbox/box/uid_range.h"

namespace bicrl {

struct SandboxFeatures {
  std::vector<std::string> present;  // e.g. "namespaces", "seccomp", "uid-per-box", "cgroup-v1:memory,pids"
  std::vector<std::string> missing;  // each with the reason and what a user can do about it
  std::string bwrap;                 // path of bubblewrap; empty if it is missing
  bool usable = false;               // boxes can be made; otherwise missing says why not
  bool as_root = false;              // each box runs under an unprivileged uid of its own

  // Tries to make a box. `bwrap` names the program; empty: the one on PATH.
  static SandboxFeatures probe(const std::string& bwrap = "");
};

// What a box has while it runs: a uid that no other box on this host has, and a control group.
struct BoxSlot {
  int index = 0;
  uid_t uid = 0;  // meaningful as root only
  std::unique_ptr<CgroupSlot> cgroup;
};

class BoxHost;

// Gives the slot back when it is destroyed; the box must have ended by then.
class SlotLease {
 public:
  SlotLease(BoxHost& host, std::unique_ptr<BoxSlot> slot) : host_(&host), slot_(std::move(slot)) {}
  SlotLease(SlotLease&&) = default;
  ~SlotLease();
  const BoxSlot& operator*() const { return *slot_; }
  const BoxSlot* operator->() const { return slot_.get(); }

 private:
  BoxHost* host_;
  std::unique_ptr<BoxSlot> slot_;
};

// Thread-safe. Lives longer than every box made with it.
class BoxHost {
 public:
  // Throws Error(kUnavailable) with reasons and remedies if no boxes can be made. `cores_set_aside`: that
  // boxes leave alone, but for those that say otherwise.
  explicit BoxHost(const std::string& bwrap = "", int cores_set_aside = 0);
  const SandboxFeatures& features() const { return features_; }
  const CoreShare& cores() const { return cores_; }
  SlotLease take_slot(const CgroupLimits& limits);

  // bubblewrap with fresh namespaces, an empty environment and no capabilities but `capabilities`, nothing
  // mounted.
  std::vector<std::string> bwrap_command(const std::vector<std::string>& capabilities) const;

 private:
  friend class SlotLease;
  void give_back(std::unique_ptr<BoxSlot> slot);
  SandboxFeatures features_;
  const CoreShare cores_;
  CgroupTree cgroups_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<BoxSlot>> free_;
  int made_ = 0;
  std::vector<UidRange> uids_;
};

// A read-only view of the host's file or folder in a box.
struct BoxMount {
  std::filesystem::path source;
  std::filesystem::path target;
};

// The parts of a distribution's root that programs need, with /lib and the like as links if the host has
// them as links.
enum class SystemRoot { kLibraries, kToolchain };
void append_system_root(SystemRoot root, std::vector<std::string>& command);
// Makes a folder and its parents such that every uid may enter them. (Those that bubblewrap makes by itself
// only its own uid may enter.)
void append_folder(const std::filesystem::path& folder, std::vector<std::string>& command);
void append_mounts(const std::vector<BoxMount>& mounts, std::vector<std::string>& command);
void append_devices(std::vector<std::string>& command);  // null, zero, random; nothing writable

// Absolute path of a program on PATH (or of an absolute name); empty if there is none.
std::string find_program(const std::string& name);

}  // namespace bicrl
