// Counters of the kernels that libraries launch for a reference's operators, so that the same tables model a
// task's reference and a candidate. Pure functions.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "sandbox/cost/device_table.h"
#include "sandbox/cost/launch_counters.h"

namespace bicrl {

// Launches that are all alike.
struct AlikeLaunches {
  LaunchCounters each;
  uint64_t count = 1;
};

// A reference as eager PyTorch would run it, operator by operator, and as a compiler would that fuses what
// lies between products of matrices. See sandbox/runtimes/oracle_operators.py, whose answer this is.
struct ReferenceLaunches {
  std::vector<AlikeLaunches> eager, fused;
  // That any program must move: inputs and parameters that the reference reads, and its answer.
  uint64_t least_bytes = 0;
};

// Throws InputError or nlohmann::json::exception if it is none.
ReferenceLaunches read_reference_launches(const nlohmann::json& operators);

// How long the launches take, one after the other, on so many times as many rows.
double modelled_ms(const std::vector<AlikeLaunches>& launches, const DeviceTable& device,
                   uint64_t repeats = 1);

}  // namespace bicrl
