// Count of the elements that the host part moves about by the framework's copies. Pure functions of a checked
// trace.
#pragma once
#include <cstdint>

#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// Elements that copies of the first call put at other places than they had: into another order, apart,
// together, or several times. Casts in place do not count, nor runs that stay runs, nor an input that is
// only made contiguous.
uint64_t elements_moved_by_host(const Trace& trace);

}  // namespace bicrl
