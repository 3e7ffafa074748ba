// Control groups, version 1 or 2: memory and process limits over whole process trees.
//
// A CgroupTree is one folder of this server per hierarchy; it owns slots, one for each box that runs at a
// time, which are reused because making and removing groups costs more than a box does.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {

struct CgroupLimits {
  uint64_t memory_bytes = 0;  // 0: no limit
  int processes = 0;          // 0: no limit; threads count
};

// Counts since the group was made.
struct CgroupEvents {
  int64_t memory_kills = 0;  // processes killed for want of memory: the group's own or the machine's
  int64_t limit_hits = 0;  // times that the group reached its memory limit (version 1: 1 since set_limits())
  int64_t refused_processes = 0;  // forks refused because the limit was reached
};

// What ended a group's processes between two looks at its events.
enum class MemoryEnd {
  kNone,
  kLimit,   // its own limit
  kMachine  // the machine ran out of memory, whoever took it
};
inline constexpr const char* kMachineOutOfMemory = "the machine ran out of memory";
MemoryEnd memory_end(const CgroupEvents& before, const CgroupEvents& after);

// Not thread-safe; one box uses a slot at a time.
class CgroupSlot {
 public:
  // False while memory of an earlier tenant counts: the files that a box has made are taken back some time
  // after its last process, or live on in the verifier. A small box would be killed for it.
  bool is_empty() const;
  void set_limits(const CgroupLimits& limits);
  const std::vector<std::string>& join_files() const {
    return join_files_;
  }                         // cgroup.procs of each hierarchy
  void add(int pid) const;  // moves a process in; throws Error
  CgroupEvents events() const;
  void kill_all() const;
  // One that was killed leaves only when the kernel has ended what it does, such as a GPU's context. False
  // also where there is no group.
  bool has_processes() const;
  ~CgroupSlot();

 private:
  friend class CgroupTree;
  CgroupSlot() = default;
  bool peak_is_at_limit() const;
  std::filesystem::path memory_, pids_;  // empty if the controller is missing; equal in version 2
  int version_ = 0;
  std::vector<std::string> join_files_;
};

// make_slot() is thread-safe.
class CgroupTree {
 public:
  // Makes the folders. What is missing is in missing(), never an error: boxes still have rlimits.
  CgroupTree();
  ~CgroupTree();
  CgroupTree(const CgroupTree&) = delete;
  CgroupTree& operator=(const CgroupTree&) = delete;

  int version() const { return version_; }  // 0: none
  bool has_memory() const { return !memory_.empty(); }
  bool has_pids() const { return !pids_.empty(); }
  const std::string& missing() const { return missing_; }  // reason and remedy; empty if nothing is
  std::unique_ptr<CgroupSlot> make_slot(int index) const;

 private:
  void open_version2(const std::filesystem::path& mount);
  int version_ = 0;
  std::vector<UniqueFd> locks_;  // of the folders
  std::filesystem::path memory_, pids_;
  std::string missing_;
};

}  // namespace bicrl
