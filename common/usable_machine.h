// What of the machine is this process's to use. Thread-safe.
#pragma once
#include <cstdint>

namespace bicrl {

// CPUs that it may use: by affinity, and by the quota of its control group (a container's limit).
double usable_cpus();

// Memory that is free for it: the machine's, and what its control group allows.
uint64_t available_memory_bytes();

}  // namespace bicrl
