// CPUs and memory that this process may use, within its control groups. Thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bicrl {

// CPUs that it may use: by affinity, and by the quotas of its control groups (a container's limit).
double usable_cpus();

// Memory that is free for it: the machine's, and what its control groups have left.
uint64_t available_memory_bytes();

// Memory that it may hold: the machine's, or the least limit of its control groups.
uint64_t usable_memory_bytes();

// Folders of the control groups of a process, its own first and then those above it, to the root where they
// are mounted: of version 2, and of version 1 with the controller's name. `groups` is its /proc/PID/cgroup.
std::vector<std::filesystem::path> group_folders(const std::string& groups, const std::string& controller,
                                                 const std::filesystem::path& mount);

// The least limit among groups; nothing if none has one.
std::optional<uint64_t> memory_limit_of_groups(const std::vector<std::filesystem::path>& groups);

// What a control group (its folder, of version 1 or 2) allows beyond what it holds: files that are only
// cached give way. Nothing if it has no limit.
std::optional<uint64_t> memory_left_in_group(const std::filesystem::path& group);

}  // namespace bicrl
