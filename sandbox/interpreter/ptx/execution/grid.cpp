#include "sandbox/interpreter/ptx/execution/grid.h"

#include <algorithm>
#include <cstring>

#include "common/rng.h"
#include "sandbox/interpreter/ptx/execution/block_order.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"

namespace bicrl::ptx {
namespace {

constexpr uint64_t kTriedLaunches = 3;  // one of so many
constexpr int kMostNested = 3;
constexpr uint64_t kOften = 32;
constexpr uint64_t kCrowd = 32;  // blocks that can disturb each other from the start
// Operations; and how many others go on for how many operations, as powers of two: neither a race of a few
// operations nor one behind a long loop is left out.
constexpr uint64_t kShortTurn = 64;
constexpr uint64_t kCrowdSizes = 6, kTurnSizes = 11;

constexpr uint64_t kLeastLanes = 4 * kWarpLanes;

// Operations of a warp group between two blocks' turns: so many that most blocks end within their first.
constexpr uint64_t kTurn = uint64_t{1} << 18;
// Of a launch: its blocks alone are more work than any limit allows.
constexpr uint64_t kMostBlocks = uint64_t{1} << 40;
// What a block costs before its first operation, in operations of lanes: about as long as it takes. Memory
// that it finds poisoned counts by bytes.
constexpr uint64_t kBlockWork = 1024, kThreadWork = 4, kBytesOfWork = 2;

}  // namespace

std::optional<KernelFault> launch_fault(const Kernel& kernel, const LaunchConfig& config,
                                        const DeviceLimits& device, uint32_t resident_blocks) {
  const auto fault = [&kernel](FaultClass fault_class, const std::string& message) {
    return KernelFault{fault_class, message, kernel.name};
  };
  uint64_t blocks = uint64_t{config.grid[0]} * config.grid[1];
  if (config.grid[2] > 0 && blocks > kMostBlocks / config.grid[2])
    return fault(FaultClass::kTimeout, "more blocks than the limit of work allows");
  blocks *= config.grid[2];
  uint64_t threads = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (config.grid[i] == 0 || config.block[i] == 0)
      return fault(FaultClass::kLaunch, "a dimension of the launch is 0");
    if (config.grid[i] > device.max_grid[i] || config.block[i] > device.max_block[i])
      return fault(FaultClass::kLaunch, "a dimension of the launch is larger than a device allows");
    threads *= config.block[i];
  }
  if (threads > device.max_threads)
    return fault(FaultClass::kLaunch,
                 concat(threads, " threads in a block, at most ", device.max_threads, " can be"));
  const LaunchBounds& bounds = kernel.bounds;
  const uint64_t bound = uint64_t{std::max(bounds.max_threads[0], 1U)} * std::max(bounds.max_threads[1], 1U) *
                         std::max(bounds.max_threads[2], 1U);
  if (bounds.max_threads[0] != 0 && threads > bound)
    return fault(FaultClass::kLaunch,
                 concat(threads, " threads in a block, the kernel's launch bounds allow ", bound));
  if (bounds.required_threads[0] != 0)
    for (size_t i = 0; i < 3; ++i)
      if (config.block[i] != std::max(bounds.required_threads[i], 1U))
        return fault(FaultClass::kLaunch, "the kernel requires other block dimensions");
  const uint64_t shared = uint64_t{kernel.static_shared_bytes} + config.dynamic_shared_bytes;
  const bool extended = config.dynamic_shared_limit > device.max_static_shared_bytes;
  if (kernel.static_shared_bytes > device.max_static_shared_bytes ||
      config.dynamic_shared_bytes > config.dynamic_shared_limit ||
      shared > (extended ? device.max_shared_bytes : device.max_static_shared_bytes))
    return fault(FaultClass::kLaunch, concat(shared, " bytes of shared memory in a block"));
  if (config.parameters.size() != kernel.parameter_bytes)
    return fault(
        FaultClass::kLaunch,
        concat(config.parameters.size(), " bytes of parameters, the kernel has ", kernel.parameter_bytes));
  if (config.cooperative && blocks > resident_blocks)
    return fault(FaultClass::kLaunch, concat("a cooperative launch of ", blocks, " blocks, at most ",
                                             resident_blocks, " can be resident"));
  return std::nullopt;
}

Grid::Grid(const Kernel& kernel, LoadedModule& module, DeviceMemory& memory, const LaunchConfig& config,
           const RunLimits& limits, const DeviceLimits& device, const RunOrder& order, Observer* observer)
    : kernel_(kernel),
      module_(module),
      memory_(memory),
      config_(config),
      limits_(limits),
      device_(device),
      order_(order),
      observer_(observer),
      printer_(limits.printed_bytes),
      parameters_(config.parameters.size() + 64) {
  memcpy(parameters_.data(), config.parameters.data(), config.parameters.size());
  if (memory.has_shadows()) parameter_shadows_.assign(parameters_.size(), 0);
  const bool strong = std::any_of(kernel.operations.begin(), kernel.operations.end(),
                                  [](const Operation& op) { return op.order.strong; });
  // Values that plain accesses pass to another thread are found as races are; of them it is enough to try
  // some launches.
  order_.warps_apart &= strong || (!kernel.shared.empty() && order_.seed % kTriedLaunches == 0);
  disturbs_ = order_.warps_apart && strong;
}

Grid::~Grid() = default;

uint32_t Grid::threads_per_block() const { return config_.block[0] * config_.block[1] * config_.block[2]; }

std::optional<KernelFault> Grid::run() {
  if (auto fault = launch_fault(kernel_, config_, device_, limits_.resident_blocks)) return fault;
  block_count_ = order_.only ? 1 : uint64_t{config_.grid[0]} * config_.grid[1] * config_.grid[2];
  try {
    if (observer_) observer_->launch_begins(*this);
    run_blocks();
    if (observer_) observer_->launch_ends(*this);
  } catch (const FaultError& error) {
    return error.fault();
  }
  return std::nullopt;
}

Dim3 Grid::coordinates(uint64_t number) const {
  const uint64_t x = config_.grid[0], y = config_.grid[1];
  return {static_cast<uint32_t>(number % x), static_cast<uint32_t>(number / x % y),
          static_cast<uint32_t>(number / (x * y))};
}

void Grid::run_blocks() {
  uint64_t begun = 0;
  const uint64_t frame = uint64_t{kernel_.frame_bytes} + kernel_.local_bytes;
  const uint64_t block_bytes =
      std::max<uint64_t>(1, frame * threads_per_block() * (memory_.has_shadows() ? 2 : 1));
  const uint64_t most = std::clamp<uint64_t>(limits_.frame_bytes / block_bytes, 1, limits_.resident_blocks);
  const BlockOrder blocks(block_count_, order_.seed);
  const auto admit = [&] {
    const Dim3 index = coordinates(order_.only.value_or(blocks.nth(begun)));
    ++begun;
    count_block(/*fresh=*/idle_.empty());
    if (idle_.empty()) {
      resident_.push_back(std::make_unique<ThreadBlock>(*this, index));
    } else {
      resident_.push_back(std::move(idle_.back()));
      idle_.pop_back();
      resident_.back()->begin(index);
    }
  };
  if (config_.cooperative)
    while (begun < block_count_) admit();
  while (!resident_.empty() || begun < block_count_) {
    const uint64_t crowd = std::min<uint64_t>(disturbs_ ? kCrowd : 1, most);
    while (resident_.size() < crowd && begun < block_count_) admit();
    std::unique_ptr<ThreadBlock> block = std::move(resident_.front());
    resident_.pop_front();
    const uint64_t turn = disturbs_ ? kShortTurn : kTurn, turn_ends = counters_.operations + turn;
    Pause pause = Pause::kWaiting;
    while (pause == Pause::kWaiting && counters_.operations < turn_ends) pause = block->run(turn);
    if (pause == Pause::kExited) {
      end_block(std::move(block));
      continue;
    }
    resident_.push_back(std::move(block));
    if (begun < block_count_ && resident_.size() < most) admit();
  }
}

void Grid::let_others_run(ThreadBlock& block) {
  if (nested_ >= kMostNested) return;
  // Rarer and rarer, so that who waits in a loop does not have everybody run for ever.
  const uint64_t chance = mix_key({order_.seed, ++disturbed_});
  if (chance % (2 + block.disturb() / kOften) != 0) return;
  ++nested_;
  const uint64_t turn = uint64_t{1} << (chance >> 8) % kTurnSizes;
  block.run_others(turn);
  for (uint64_t left = uint64_t{1} << (chance >> 16) % kCrowdSizes; left > 0 && !resident_.empty(); --left) {
    std::unique_ptr<ThreadBlock> other = std::move(resident_.front());
    resident_.pop_front();
    Pause pause = Pause::kYielded;
    for (const uint64_t ends = clock() + turn; pause != Pause::kExited && clock() < ends;)
      pause = other->run(turn);
    if (pause == Pause::kExited)
      end_block(std::move(other));
    else
      resident_.push_back(std::move(other));
  }
  --nested_;
}

void Grid::end_block(std::unique_ptr<ThreadBlock> block) {
  ++counters_.blocks;
  if (observer_) observer_->block_ends(*block);
  idle_.push_back(std::move(block));
}

// Empty blocks are as many as a candidate likes.
void Grid::count_block(bool fresh) {
  const uint64_t shared = uint64_t{kernel_.static_shared_bytes} + config_.dynamic_shared_bytes;
  const uint64_t of_lane = uint64_t{kernel_.local_bytes} + (fresh ? kernel_.frame_bytes : 0);
  counters_.lane_operations += kBlockWork + kThreadWork * threads_per_block() +
                               (shared + of_lane * threads_per_block()) / kBytesOfWork;
  check_work();
}

void Grid::count_work(uint64_t operations, uint64_t lanes) {
  // An operation of a lane alone takes the interpreter about as long as one of some warps.
  lanes = std::max<uint64_t>(lanes, kLeastLanes);
  counters_.operations += operations;
  counters_.lane_operations += operations * lanes;
  check_work();
}

void Grid::check_work() const {
  if (counters_.lane_operations <= limits_.lane_operations) return;
  throw FaultError({FaultClass::kTimeout,
                    concat("more than ", limits_.lane_operations, " operations of lanes"), kernel_.name, 0});
}

}  // namespace bicrl::ptx
