#include "sandbox/interpreter/counting/launch_counting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "common/error.h"
#include "sandbox/interpreter/counting/l1_share.h"
#include "sandbox/interpreter/counting/warp_access.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"

namespace bicrl {
namespace {

using ptx::kMaxWarps;
using ptx::kWarpLanes;
using ptx::LaneAccess;
using ptx::Space;

constexpr size_t kMostLines = 12;
constexpr std::string_view kOwnText = "cuda_sources";  // as the device compiler calls it
constexpr uint64_t kWavefrontBytes = 128;
constexpr uint64_t kLineSectors = L1Share::kLineBytes / kSectorBytes;

}  // namespace

// A block that is resident.
struct LaunchCounting::BlockState {
  L1Share l1;
  std::array<DependenceChain, ptx::kMaxWarpGroups * kMaxWarps> chains;  // by warp
};

LaunchCounting::LaunchCounting(Footprint footprint) : follows_footprint_(footprint == Footprint::kFollowed) {}
LaunchCounting::~LaunchCounting() = default;

// ---- The host part ----

void LaunchCounting::fill(uint64_t buffer, uint64_t offset, uint64_t bytes) {
  footprint_.begin_launch();
  LaunchCounters counters = streaming_launch(LaunchCounters::Kind::kFill, 0, bytes);
  counters.written_sectors = 0;
  auto& touched = footprint_.buffer(buffer, offset + bytes);
  for (uint64_t at = offset / kSectorBytes; at * kSectorBytes < offset + bytes; ++at)
    footprint_.write(touched, at, counters);
  launches_.push_back(std::move(counters));
}

void LaunchCounting::copy(uint64_t target, uint64_t target_offset, uint64_t target_bytes, uint64_t source,
                          uint64_t source_offset, uint64_t source_bytes) {
  footprint_.begin_launch();
  LaunchCounters counters = streaming_launch(LaunchCounters::Kind::kCopy, source_bytes, target_bytes);
  counters.written_sectors = counters.cold_sectors = 0;
  auto& from = footprint_.buffer(source, source_offset + source_bytes);
  for (uint64_t at = source_offset / kSectorBytes; at * kSectorBytes < source_offset + source_bytes; ++at)
    footprint_.read(from, at, counters);
  auto& to = footprint_.buffer(target, target_offset + target_bytes);
  for (uint64_t at = target_offset / kSectorBytes; at * kSectorBytes < target_offset + target_bytes; ++at)
    footprint_.write(to, at, counters);
  launches_.push_back(std::move(counters));
}

void LaunchCounting::upload(uint64_t bytes) {
  LaunchCounters counters;
  counters.kind = LaunchCounters::Kind::kUpload;
  counters.uploaded_bytes = bytes;
  launches_.push_back(std::move(counters));
}

// ---- Launches ----

void LaunchCounting::launch_begins(ptx::Grid& grid) {
  footprint_.begin_launch();
  kernel_ = &grid.kernel();
  auto known = profiles_.find(kernel_);
  if (known == profiles_.end()) known = profiles_.emplace(kernel_, profile_kernel(*kernel_)).first;
  profile_ = &known->second;
  counters_ = {};
  counters_.name = kernel_->name;
  counters_.blocks = grid.blocks();
  counters_.threads_per_block = grid.threads_per_block();
  counters_.shared_bytes_per_block =
      uint64_t{kernel_->static_shared_bytes} + grid.config().dynamic_shared_bytes;
  runs_.assign(kernel_->blocks.size(), {});
  traffic_.assign(kernel_->operations.size(), {});
  blocks_.clear();
  last_block_ = nullptr;
  copied_to_shared_bytes_ = 0;
}

void LaunchCounting::launch_ends(ptx::Grid&) {
  // Copies past registers: as wide as can be.
  counters_.shared_wavefronts += (copied_to_shared_bytes_ + kWavefrontBytes - 1) / kWavefrontBytes;
  add_profile();
  add_lines();
  launches_.push_back(std::move(counters_));
}

void LaunchCounting::add_profile() {
  for (size_t i = 0; i < runs_.size(); ++i) {
    const BlockProfile& profile = profile_->blocks[i];
    const BlockRuns& runs = runs_[i];
    for (size_t kind = 0; kind < kInstructionKinds; ++kind)
      counters_.instructions[kind] += runs.warps * profile.slots[kind];
    for (size_t type = 0; type < kTensorTypes; ++type)
      counters_.tensor_flops[type] += runs.warps * profile.tensor_flops[type];
    counters_.executed += runs.warps * profile.executed;
    counters_.executed_lanes += runs.lanes * profile.executed;
    counters_.diverged += runs.diverged * profile.executed;
  }
}

// By lines of the program's own text; what headers bring is of line 0.
void LaunchCounting::add_lines() {
  const auto& files = kernel_->module->files;
  const auto own_line = [&files](const ptx::SourceLine& source) {
    return source.file < files.size() && files[source.file].ends_with(kOwnText) ? source.line : 0;
  };
  std::map<uint32_t, LineCounters> lines;
  for (size_t number = 0; number < runs_.size(); ++number) {
    const ptx::BasicBlock& block = kernel_->blocks[number];
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      const uint32_t number_of_line = own_line(kernel_->operations[i].source);
      LineCounters& line = lines[number_of_line];
      line.line = number_of_line;
      line.instructions += runs_[number].warps * profile_->slots_of_operations[i];
      line.global_sectors += traffic_[i].sectors;
      line.shared_wavefronts += traffic_[i].wavefronts;
    }
  }
  for (const auto& [number, line] : lines)
    if (line.instructions > 0) counters_.lines.push_back(line);
  // Sectors take about as long as instructions.
  std::stable_sort(counters_.lines.begin(), counters_.lines.end(),
                   [](const LineCounters& a, const LineCounters& b) {
                     return a.instructions + a.global_sectors + a.shared_wavefronts >
                            b.instructions + b.global_sectors + b.shared_wavefronts;
                   });
  if (counters_.lines.size() > kMostLines) counters_.lines.resize(kMostLines);
}

// ---- Blocks ----

LaunchCounting::BlockState& LaunchCounting::state(const ptx::ThreadBlock& block) {
  if (last_block_ != &block) {
    auto& of_block = blocks_[&block];
    if (!of_block) of_block = std::make_unique<BlockState>();
    last_block_ = &block;
    last_state_ = of_block.get();
  }
  return *last_state_;
}

void LaunchCounting::block_begins(ptx::ThreadBlock& block) {
  BlockState& fresh = state(block);
  fresh.l1.clear();
  fresh.chains = {};
}

void LaunchCounting::block_ends(ptx::ThreadBlock& block) {
  DependenceChain slowest;
  for (const DependenceChain& chain : state(block).chains)
    if (nominal_cycles(chain) > nominal_cycles(slowest)) slowest = chain;
  counters_.chains.accesses += slowest.accesses;
  counters_.chains.cycles += slowest.cycles;
  if (nominal_cycles(slowest) > nominal_cycles(counters_.longest_chain)) counters_.longest_chain = slowest;
}

void LaunchCounting::basic_block(ptx::WarpGroup& warp_group, uint32_t number) {
  BlockRuns& runs = runs_[number];
  const DependenceChain& chain = profile_->blocks[number].chain;
  DependenceChain* chains =
      &state(warp_group.block()).chains[static_cast<size_t>(warp_group.first_thread() / kWarpLanes)];
  for (size_t warp = 0; warp < kMaxWarps; ++warp) {
    const uint32_t lanes = warp_group.active().warps[warp];
    if (lanes == 0) continue;
    ++runs.warps;
    runs.lanes += static_cast<uint64_t>(std::popcount(lanes));
    runs.diverged += (lanes | warp_group.exited().warps[warp]) != ~uint32_t{0};
    counters_.waits += chain.accesses;
    chains[warp].accesses += chain.accesses;
    chains[warp].cycles += chain.cycles;
  }
}

// ---- Memory ----

void LaunchCounting::will_access(ptx::WarpGroup& warp_group, const ptx::Operation& op,
                                 const ptx::Region& region, const LaneAccess& access) {
  if (op.space == Space::kConst) return;  // has a cache of its own
  OperationTraffic& traffic = traffic_[static_cast<size_t>(&op - kernel_->operations.data())];
  // A store or an update that brings nothing back is waited for by nobody.
  const bool waits = access.kind == LaneAccess::Kind::kRead ||
                     (access.kind == LaneAccess::Kind::kAtomic && op.destinations[0]);
  for (int warp = 0; warp < kMaxWarps; ++warp) {
    const uint32_t lanes = access.lanes.warps[static_cast<size_t>(warp)];
    if (lanes == 0) continue;
    if (region.local) {
      const auto bytes = static_cast<uint64_t>(std::popcount(lanes)) * access.bytes;
      const uint64_t sectors = (bytes + kSectorBytes - 1) / kSectorBytes;
      counters_.local_sectors += sectors;
      traffic.sectors += sectors;
      if (waits) ++counters_.served_by_l1;
    } else if (region.space == Space::kShared) {
      access_shared(region, access, warp, traffic);
    } else if (region.space == Space::kGlobal) {
      access_global(warp_group, region, access, warp, waits, traffic);
    }
  }
}

void LaunchCounting::access_shared(const ptx::Region& region, const LaneAccess& access, int warp,
                                   OperationTraffic& traffic) {
  const uint32_t wavefronts = count_wavefronts(access, warp, region.begin);
  ++counters_.shared_requests;
  counters_.shared_wavefronts += wavefronts;
  traffic.wavefronts += wavefronts;
  if (access.kind == LaneAccess::Kind::kAtomic)
    counters_.shared_atomic_passes += most_at_one_place(access, warp) - 1;
}

void LaunchCounting::access_global(ptx::WarpGroup& warp_group, const ptx::Region& region,
                                   const LaneAccess& access, int warp, bool waits,
                                   OperationTraffic& traffic) {
  WarpSectors found;
  find_sectors(access, warp, found);
  count_request(access.kind, found.count);
  if (!follows_footprint_) return;
  auto& buffer = footprint_.buffer(region.begin, region.end - region.begin);
  L1Share& l1 = state(warp_group.block()).l1;
  traffic.sectors += found.count;
  for (size_t i = 0; i < found.count; ++i)
    counters_.l1_wavefronts +=
        i == 0 || found.sectors[i] / kLineSectors != found.sectors[i - 1] / kLineSectors;
  bool past_l1 = false, new_to_launch = false;
  for (size_t i = 0; i < found.count; ++i) {
    const uint64_t sector = found.sectors[i];
    if (access.kind != LaneAccess::Kind::kWrite) {
      const bool hit = access.kind == LaneAccess::Kind::kRead && l1.load(buffer.number, sector);
      past_l1 |= !hit;
      if (!hit) {
        new_to_launch |= footprint_.read(buffer, sector, counters_);
        counters_.l2_load_sectors += access.kind == LaneAccess::Kind::kRead;
      }
    }
    if (access.kind != LaneAccess::Kind::kRead) footprint_.write(buffer, sector, counters_);
  }
  if (access.kind == LaneAccess::Kind::kAtomic) update_words(buffer, access, warp);
  if (!waits) return;
  if (new_to_launch)
    ++counters_.served_by_memory;
  else if (past_l1)
    ++counters_.served_by_l2;
  else
    ++counters_.served_by_l1;
}

void LaunchCounting::count_request(LaneAccess::Kind kind, size_t sectors) {
  switch (kind) {
    case LaneAccess::Kind::kRead:
      ++counters_.load_requests;
      counters_.load_sectors += sectors;
      break;
    case LaneAccess::Kind::kWrite:
      ++counters_.store_requests;
      counters_.store_sectors += sectors;
      break;
    case LaneAccess::Kind::kAtomic:
      counters_.atomic_sectors += sectors;
      break;
  }
}

void LaunchCounting::update_words(SectorFootprint::Buffer& buffer, const LaneAccess& access, int warp) {
  for (uint32_t left = access.lanes.warps[static_cast<size_t>(warp)]; left != 0; left &= left - 1) {
    const int lane = warp * kWarpLanes + std::countr_zero(left);
    footprint_.update(buffer, (access.base + access.offsets[lane]) / 4, 1, counters_);
  }
}

void LaunchCounting::copy_begun(ptx::WarpGroup&, const ptx::Operation&, int, uint64_t, uint32_t bytes) {
  copied_to_shared_bytes_ += bytes;
}

}  // namespace bicrl
