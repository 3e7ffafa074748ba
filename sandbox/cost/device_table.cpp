#include "sandbox/cost/device_table.h"

#include <algorithm>
#include <iterator>

namespace bicrl {
namespace {

// Sources, by the letters in the tables:
//   W  NVIDIA's whitepapers: "H100 Tensor Core GPU Architecture", "A100 Tensor Core GPU Architecture", "Ada
//   GPU
//      Architecture" (GeForce RTX 4090), and the H200's data sheet.
//   D  NVIDIA's data sheet "L4 Tensor Core GPU".
//   G  "CUDA C++ Programming Guide": technical specifications by compute capability, and the throughput of
//      arithmetic instructions (results per cycle and multiprocessor).
//   L  Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking",
//      arXiv 2402.13499: latencies.
//   M  measured by us on an H200 or an H100 (bench/cost_model.md, bench/measured_times.md); E where another
//      device has that figure.
//   E  our estimate, where nothing is published: to be fitted to measurements.
// Lanes per cycle, by InstructionKind: fp32, fp64, half (of one or two values), integer, convert, special,
// global, local, shared, exchange, control, barrier, tensor. Where a table names no limit, the schedulers
// are.

constexpr DeviceTable hopper(std::string_view name, double dram_gb_per_s) {
  return {
      .name = name,
      .architecture = "sm_90",
      .clock_ghz = 1.83,       // W: the clock of its figures for matrices
      .multiprocessors = 132,  // W: SXM
      .max_warps = 64,         // G, and all below
      .max_blocks = 32,
      .registers = 65536,
      .shared_bytes = 228 * 1024,
      .reserved_shared_bytes = 1024,
      .shared_unit_bytes = 128,
      .register_unit = 256,
      .schedulers = 4,
      .lanes_per_cycle = {128, 64, 128, 64, 64, 16, 32, 32, 32, 32, 0, 0, 0},  // G
      .tensor_flops_per_cycle = {4096, 2048, 8192, 512},                       // W
      .l1_wavefronts_per_cycle = 1,                                            // W: 128 bytes
      .shared_wavefronts_per_cycle = 1,                                        // G: 32 banks
      .dram_gb_per_s = dram_gb_per_s,
      .l2_bytes = uint64_t{50} << 20,          // W
      .l2_bytes_per_cycle = 3072,              // W says 5120 for its predecessor; E: three fifths can be had
      .block_starts_per_cycle = 0.9,           // M, on an H100
      .global_atomics_per_cycle = 1024,        // E: one for each 4 bytes of the L2's width, at four fifths
      .same_address_atomics_per_cycle = 0.31,  // M
      .host_link_gb_per_s = 64,                // W: PCIe 5, one direction
      .l1_cycles = 41,                         // L
      .l2_cycles = 263,                        // L
      .dram_cycles = 479,                      // L
      .launch_us = 2.5,                        // M: 2.2 between launches of one stream
  };
}

constexpr DeviceTable kTables[] = {
    hopper("h100", 2750),  // M: what reads reach of W's 3350 (HBM3); times of an H100 are compared with this
    hopper("h200", 4800),  // W: HBM3e
    {
        .name = "a100",
        .architecture = "sm_80",
        .clock_ghz = 1.41,  // W
        .multiprocessors = 108,
        .max_warps = 64,
        .max_blocks = 32,
        .registers = 65536,
        .shared_bytes = 164 * 1024,
        .reserved_shared_bytes = 1024,
        .shared_unit_bytes = 128,
        .register_unit = 256,
        .schedulers = 4,
        .lanes_per_cycle = {64, 32, 128, 64, 16, 16, 32, 32, 32, 32, 0, 0, 0},  // G
        .tensor_flops_per_cycle = {2048, 1024, 4096, 128},                      // W
        .l1_wavefronts_per_cycle = 1,                                           // W: 128 bytes
        .shared_wavefronts_per_cycle = 1,
        .dram_gb_per_s = 2039,           // W: 80 GB, SXM
        .l2_bytes = uint64_t{40} << 20,  // W
        .l2_bytes_per_cycle = 3072,      // W: 5120; E: three fifths can be had
        .block_starts_per_cycle = 0.9,   // E
        .global_atomics_per_cycle = 1024,
        .same_address_atomics_per_cycle = 0.31,
        .host_link_gb_per_s = 32,  // W: PCIe 4
        .l1_cycles = 38,           // L
        .l2_cycles = 262,
        .dram_cycles = 466,
        .launch_us = 2.5,
    },
    {
        .name = "rtx4090",
        .architecture = "sm_89",
        .clock_ghz = 2.52,  // W
        .multiprocessors = 128,
        .max_warps = 48,
        .max_blocks = 24,
        .registers = 65536,
        .shared_bytes = 100 * 1024,
        .reserved_shared_bytes = 1024,
        .shared_unit_bytes = 128,
        .register_unit = 256,
        .schedulers = 4,
        .lanes_per_cycle = {128, 2, 64, 64, 64, 16, 32, 32, 32, 32, 0, 0, 0},  // G
        .tensor_flops_per_cycle = {512, 256, 2048, 0},                         // W
        .l1_wavefronts_per_cycle = 1,                                          // W: 128 bytes
        .shared_wavefronts_per_cycle = 1,
        .dram_gb_per_s = 1008,           // W
        .l2_bytes = uint64_t{72} << 20,  // W
        .l2_bytes_per_cycle = 1622,      // L
        .block_starts_per_cycle = 0.9,   // E
        .global_atomics_per_cycle = 512,
        .same_address_atomics_per_cycle = 0.31,
        .host_link_gb_per_s = 32,
        .l1_cycles = 43,  // L
        .l2_cycles = 273,
        .dram_cycles = 542,
        .launch_us = 2.5,
    },
    {
        // Slow memory: a few MiB take longer than their launch there, so that kernels are told apart at sizes
        // that a CPU counts in a moment. A multiprocessor is the RTX 4090's.
        .name = "l4",
        .architecture = "sm_89",
        .clock_ghz = 2.04,      // D
        .multiprocessors = 58,  // D: 7424 lanes, 128 each
        .max_warps = 48,        // G, and all below
        .max_blocks = 24,
        .registers = 65536,
        .shared_bytes = 100 * 1024,
        .reserved_shared_bytes = 1024,
        .shared_unit_bytes = 128,
        .register_unit = 256,
        .schedulers = 4,
        .lanes_per_cycle = {128, 2, 64, 64, 64, 16, 32, 32, 32, 32, 0, 0, 0},  // G
        .tensor_flops_per_cycle = {512, 256, 2048, 0},                         // W
        .l1_wavefronts_per_cycle = 1,                                          // W: 128 bytes
        .shared_wavefronts_per_cycle = 1,
        .dram_gb_per_s = 300,            // D: GDDR6
        .l2_bytes = uint64_t{48} << 20,  // D
        .l2_bytes_per_cycle = 811,  // E: half of the RTX 4090's, as it has half its memory controllers (W)
        .block_starts_per_cycle = 0.9,  // E
        .global_atomics_per_cycle = 256,
        .same_address_atomics_per_cycle = 0.31,
        .host_link_gb_per_s = 32,  // D: PCIe 4
        .l1_cycles = 43,           // L, of the RTX 4090
        .l2_cycles = 273,
        .dram_cycles = 542,
        .launch_us = 2.5,
    },
};

}  // namespace

std::span<const DeviceTable> device_tables() { return kTables; }

const DeviceTable* find_device_table(std::string_view name) {
  const auto found = std::find_if(std::begin(kTables), std::end(kTables),
                                  [name](const DeviceTable& table) { return table.name == name; });
  return found == std::end(kTables) ? nullptr : found;
}

}  // namespace bicrl
