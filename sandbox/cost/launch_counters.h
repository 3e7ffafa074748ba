// Performance counters of a launch: the same figures on every machine, whatever the order of blocks and
// addresses. Plain values. A host part's fills, copies and uploads are counted as launches of their own,
// because a GPU has to do them, too.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

// Which part of a multiprocessor executes a warp's instruction.
enum class InstructionKind : uint8_t {
  kFloat32,   // additions, products, fused ones
  kFloat64,   //
  kHalf,      // fp16 and bf16, one or two at a time
  kInteger,   // additions, shifts, logic, comparisons, selections
  kConvert,   //
  kSpecial,   // reciprocals, roots, exponentials, logarithms, sines
  kGlobal,    // loads and stores of global memory, atomics included
  kLocal,     // of a thread's own memory: arrays and spilled values
  kShared,    //
  kExchange,  // shuffles, votes, matches, reductions of a warp
  kControl,   // branches, calls
  kBarrier,   //
  kTensor     // products of matrices
};
constexpr size_t kInstructionKinds = 13;
std::string_view to_string(InstructionKind kind);  // "fp32"

enum class TensorType : uint8_t { kHalf, kTF32, kByte, kFloat64 };  // byte: int8 and fp8
constexpr size_t kTensorTypes = 4;

constexpr uint64_t kSectorBytes = 32;  // the unit in which global memory is moved
// Distances of reuse between launches, in classes: up to 1 MiB, up to 2 MiB, and so on; the last: beyond.
constexpr size_t kReuseClasses = 9;
constexpr uint64_t kLeastReuseBytes = uint64_t{1} << 20;

// The longest way through a warp's dependent operations, in accesses to global memory that it has to wait
// for, and in cycles for all else.
struct DependenceChain {
  uint64_t accesses = 0;
  uint64_t cycles = 0;
  bool operator==(const DependenceChain&) const = default;
};

// Where a line of the program's device text has its share of the launch.
struct LineCounters {
  uint32_t line = 0;               // 0: not known, and code of headers
  uint64_t instructions = 0;       // of warps
  uint64_t global_sectors = 0;     // with repetitions
  uint64_t shared_wavefronts = 0;  //
  bool operator==(const LineCounters&) const = default;
};

struct LaunchCounters {
  enum class Kind : uint8_t { kKernel, kFill, kCopy, kUpload };
  Kind kind = Kind::kKernel;
  std::string name;  // of the kernel, as g++ spells it
  uint64_t blocks = 0;
  uint64_t threads_per_block = 0;
  uint64_t shared_bytes_per_block = 0;  // static and dynamic
  uint64_t registers_per_thread = 0;    // 0: not known

  std::array<uint64_t, kInstructionKinds> instructions{};  // of warps: issue slots
  uint64_t executed = 0;                                   // of warps, whatever slots they take
  uint64_t executed_lanes = 0;  // lanes that were active in them; 32 of each are if nothing diverges
  uint64_t diverged = 0;        // of `executed`, those without all lanes that their warp has left
  std::array<uint64_t, kTensorTypes> tensor_flops{};

  uint64_t load_requests = 0, store_requests = 0;  // of warps, to global memory
  uint64_t load_sectors = 0, store_sectors = 0;    // that these touch, request by request
  uint64_t l2_load_sectors = 0;                    // of those loaded, what a block's share of L1 did not hold
  uint64_t atomic_sectors = 0;                     // request by request; L1 holds none of them, and no stores
  // Requests that bring something back, by where the farthest of their sectors is found: in L1, in L2 because
  // the launch has touched it before, or farther out.
  uint64_t served_by_l1 = 0, served_by_l2 = 0, served_by_memory = 0;
  uint64_t cold_sectors = 0;  // distinct ones read that no launch has touched before
  std::array<uint64_t, kReuseClasses> reused_sectors{};  // distinct ones read that a launch has, by distance
  uint64_t written_sectors = 0;                          // distinct
  uint64_t l1_wavefronts =
      0;  // lines of 128 bytes that requests touch, request by request; L1 looks up one a cycle
  uint64_t local_sectors = 0;
  uint64_t shared_requests = 0,
           shared_wavefronts = 0;     // without conflicts a request is one, of 16 bytes four
  uint64_t global_atomics = 0;        // of lanes
  uint64_t hottest_atomics = 0;       // of them, on the address that has most
  uint64_t shared_atomic_passes = 0;  // lanes that meet at an address go one after another
  uint64_t uploaded_bytes = 0;        // from the host

  uint64_t waits = 0;             // accesses in the chains of all warps together
  DependenceChain chains;         // of the slowest warp of each block, summed over blocks
  DependenceChain longest_chain;  // of the slowest block

  std::vector<LineCounters> lines;  // those with most instructions, descending; a bounded number

  uint64_t distinct_read_sectors() const;
  bool operator==(const LaunchCounters&) const = default;
};

std::string_view to_string(LaunchCounters::Kind kind);  // "kernel"
nlohmann::json to_json(const LaunchCounters& counters);
LaunchCounters launch_counters_from_json(const nlohmann::json& json);  // throws InputError

// The counters of a launch on so many times as many rows: with a grid that grows with them, or with blocks
// that do so much more each. What was read before lies farther back then (its class is rounded up), and the
// hottest address is taken to be that of all rows.
enum class Growth { kBlocks, kWorkOfBlocks };
LaunchCounters repeated(const LaunchCounters& counters, uint64_t times, Growth growth = Growth::kBlocks);

// A launch whose kernel does nothing but move so many bytes once, each touched by one thread, as a device's
// runtime or a framework does for fills, copies and elementwise operators.
LaunchCounters streaming_launch(LaunchCounters::Kind kind, uint64_t read_bytes, uint64_t written_bytes);

}  // namespace bicrl
