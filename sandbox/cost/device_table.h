// Figures of the devices that the cost model knows. Plain values, embedded in the program, with a version
// that changes whenever a figure does: modelled times under different versions are not comparable.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sandbox/cost/launch_counters.h"

namespace bicrl {

inline constexpr std::string_view kDeviceTablesVersion = "3";

struct DeviceTable {
  std::string_view name;          // "h100"
  std::string_view architecture;  // of code compiled for it: "sm_90"
  double clock_ghz = 0;           // under load
  uint32_t multiprocessors = 0;

  // ---- What a multiprocessor holds ----
  uint32_t max_warps = 0;
  uint32_t max_blocks = 0;
  uint32_t registers = 0;              // of 32 bits
  uint32_t shared_bytes = 0;           // for blocks, the system's share of each included
  uint32_t reserved_shared_bytes = 0;  // of each block, for the system
  uint32_t shared_unit_bytes = 0;      // shared memory is given out in these,
  uint32_t register_unit = 0;          // and registers of a warp in these
  uint32_t schedulers = 0;             // each issues one instruction of a warp in a cycle

  // ---- What it does in a cycle ----
  std::array<double, kInstructionKinds> lanes_per_cycle{};  // by InstructionKind; 0: no limit of its own
  std::array<double, kTensorTypes> tensor_flops_per_cycle{};
  double l1_wavefronts_per_cycle = 0;
  double shared_wavefronts_per_cycle = 0;

  // ---- The whole device ----
  double dram_gb_per_s = 0;
  uint64_t l2_bytes = 0;
  double l2_bytes_per_cycle = 0;
  double block_starts_per_cycle = 0;
  double global_atomics_per_cycle = 0;        // on addresses far apart
  double same_address_atomics_per_cycle = 0;  //
  double host_link_gb_per_s = 0;

  // ---- Latencies ----
  double l1_cycles = 0, l2_cycles = 0, dram_cycles = 0;
  double launch_us = 0;  // from the end of a kernel to the start of the next in a stream
};

std::span<const DeviceTable> device_tables();
const DeviceTable* find_device_table(std::string_view name);  // null if there is none
// Latencies within a multiprocessor that chains of dependent operations are counted with, in cycles. Hardly
// different between the devices of the tables.
inline constexpr uint64_t kArithmeticCycles = 4, kSharedCycles = 29, kSpecialCycles = 18,
                          kExchangeCycles = 23, kTensorCycles = 33, kBarrierCycles = 20, kDoubleCycles = 8;

}  // namespace bicrl
