// What of the machine is this process's to use. Thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace bicrl {

// CPUs that it may use: by affinity, and by the quota of its control group (a container's limit).
double usable_cpus();

// Memory that is free for it: the machine's, and what its control groups have left.
uint64_t available_memory_bytes();

// What a control group (its folder, of version 1 or 2) allows beyond what it holds: files that are only
// cached give way. Nothing if it has no limit.
std::optional<uint64_t> memory_left_in_group(const std::filesystem::path& group);

}  // namespace bicrl
