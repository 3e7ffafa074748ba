// A program's modelled cost as text for a person: what bounds it, its counters, and the lines of its device
// text that cost most. Pure functions.
#pragma once
#include <string>
#include <vector>

#include "sandbox/cost/cost_model.h"
#include "sandbox/cost/launch_counters.h"

namespace bicrl {

// `names`: of the launches, as a person knows them.
std::string cost_report(const std::vector<LaunchCounters>& launches, const std::vector<std::string>& names,
                        const DeviceTable& device);

}  // namespace bicrl
