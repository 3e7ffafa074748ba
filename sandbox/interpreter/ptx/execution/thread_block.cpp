#include "sandbox/interpreter/ptx/execution/thread_block.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/rng.h"
#include "sandbox/interpreter/ptx/execution/observer.h"

namespace bicrl::ptx {
namespace {

constexpr uint64_t kLongestTurn = 64;  // operations, where warps are taken apart

}  // namespace

ThreadBlock::ThreadBlock(Grid& grid, Dim3 index) : grid_(grid), windows_(grid.kernel().shared) {
  uint32_t bytes = 0;
  for (SharedWindow& window : windows_) {
    if (window.bytes == 0) window.bytes = grid.config().dynamic_shared_bytes;
    bytes = std::max(bytes, window.begin + window.bytes);
  }
  shared_.resize(bytes + 64);  // a vector load may pass the end
  if (grid.memory().has_shadows()) shared_shadows_.resize(shared_.size());
  if (grid.observer()) copies_.keep_landed();
  make_warp_groups(mix_key({grid_.order().seed, index[0], index[1], index[2]}));
  begin(index);
}

void ThreadBlock::make_warp_groups(uint64_t key) {
  const auto threads = static_cast<int>(grid_.threads_per_block());
  const auto add = [this](int first, int end) {
    if (end > first)
      warp_groups_.push_back(
          std::make_unique<WarpGroup>(*this, static_cast<int>(warp_groups_.size()), first, end - first));
  };
  for (int first = 0; first < threads; first += kMaxLanes) {
    const int end = std::min(first + kMaxLanes, threads), warps = (end - first + kWarpLanes - 1) / kWarpLanes;
    int cut = first;
    if (grid_.order().warps_apart && warps > 1)
      cut += kWarpLanes * static_cast<int>(1 + mix_key(key, std::to_string(first)) % (warps - 1));
    add(first, cut);
    add(cut, end);
  }
}

void ThreadBlock::begin(Dim3 index) {
  index_ = index;
  // Which threads go first is secret, as the order of blocks is.
  const uint64_t seed = grid_.order().seed;
  key_ = mix_key({seed, index[0], index[1], index[2]});
  next_warp_group_ = seed == 0 ? 0 : key_ % warp_groups_.size();
  turns_ = disturbed_ = 0;
  barriers_ = {};
  copies_.clear();
  fill_poison(shared_);
  std::fill(shared_shadows_.begin(), shared_shadows_.end(), uint8_t{0xFF});
  for (const auto& warp_group : warp_groups_) warp_group->begin();
  if (grid_.observer()) grid_.observer()->block_begins(*this);
}

Dim3 ThreadBlock::thread_index(int thread) const {
  const Dim3& size = grid_.config().block;
  const auto t = static_cast<uint32_t>(thread);
  return {t % size[0], t / size[0] % size[1], t / (size[0] * size[1])};
}

void ThreadBlock::show_landed() {
  Observer* observer = grid_.observer();
  if (!observer) return;
  for (const AsyncCopies::Landed& landed : copies_.take_landed()) {
    if (landed.bytes > 0)
      observer->copy_landed(*this, landed.thread, landed.place, landed.bytes);
    else
      observer->phase_arrival(*this, landed.thread, landed.place);
  }
}

const SharedWindow* ThreadBlock::shared_window(uint64_t offset) const {
  for (const SharedWindow& window : windows_)
    if (offset >= window.begin && offset < window.begin + uint64_t{window.bytes}) return &window;
  return nullptr;
}

Pause ThreadBlock::run(uint64_t budget) {
  bool yielded = false;
  size_t exited = 0;
  const uint64_t completed = completed_;
  for (size_t i = 0; i < warp_groups_.size(); ++i) {
    if (grid_.order().warps_apart) budget = 1 + mix_key({key_, ++turns_}) % kLongestTurn;
    WarpGroup& warp_group = *warp_groups_[(next_warp_group_ + i) % warp_groups_.size()];
    const Pause pause = warp_group.run(budget);
    yielded |= pause == Pause::kYielded;
    exited += pause == Pause::kExited;
  }
  next_warp_group_ = (next_warp_group_ + 1) % warp_groups_.size();
  if (exited == warp_groups_.size()) return Pause::kExited;
  complete_barriers();
  if (completed_ != completed) return Pause::kWaiting;
  if (yielded) return Pause::kYielded;
  for (const auto& warp_group : warp_groups_)
    if (const Operation* op = warp_group->waiting_at(); op)
      warp_group->fail(FaultClass::kBarrier,
                       op->collective == Collective::kBlock
                           ? "threads wait at a barrier that the others of the block can never reach"
                           : "lanes wait for others of their warp that can never come");
  throw Error("a block in which nobody waits and nobody runs");
}

void ThreadBlock::run_others(uint64_t budget) {
  for (const auto& warp_group : warp_groups_)
    if (!warp_group->runs()) warp_group->run(budget);
}

void ThreadBlock::arrive(uint32_t number, WarpGroup& warp_group, const LaneSet& lanes, uint32_t expected,
                         bool waits) {
  Barrier& barrier = barriers_[number];
  LaneSet& arrived = barrier.arrived[static_cast<size_t>(warp_group.number())];
  if (!(arrived & lanes).empty())
    warp_group.fail(FaultClass::kBarrier, "a thread arrives at a barrier twice before it is complete");
  arrived |= lanes;
  barrier.used = true;
  barrier.everybody |= expected == 0;
  barrier.expected = std::max(barrier.expected, expected);
  if (grid_.observer()) grid_.observer()->barrier_arrival(warp_group, number, lanes, waits);
}

void ThreadBlock::vote(uint32_t number, uint32_t yes, uint32_t of, bool undefined) {
  Votes& votes = barriers_[number].collecting;
  votes.undefined |= undefined;
  votes.count += yes;
  votes.all &= yes == of;
  votes.any |= yes > 0;
}

bool ThreadBlock::is_complete(const Barrier& barrier) const {
  // Lanes of a warp that have exited, or never were, count with those that are left of it.
  uint32_t arrived = 0;
  bool all = true;
  for (size_t i = 0; i < warp_groups_.size(); ++i) {
    const LaneSet& exited = warp_groups_[i]->exited();
    for (size_t warp = 0; warp < kMaxWarps; ++warp) {
      const uint32_t left = ~exited.warps[warp];
      const uint32_t came = barrier.arrived[i].warps[warp];
      const bool nobody_missing = (left & ~came) == 0;
      arrived += nobody_missing && came != 0 ? kWarpLanes : 0;
      all &= nobody_missing;
    }
  }
  return barrier.everybody ? all : arrived >= barrier.expected;
}

void ThreadBlock::complete_barriers() {
  for (uint32_t number = 0; number < kBarriers; ++number) complete_barrier(number);
}

void ThreadBlock::complete_barrier(uint32_t number) {
  Barrier& barrier = barriers_[number];
  if (!barrier.used || !is_complete(barrier)) return;
  ++completed_;
  barrier.result = barrier.collecting;
  barrier.collecting = {};
  barrier.used = barrier.everybody = false;
  barrier.expected = 0;
  barrier.arrived = {};
  if (grid_.observer()) grid_.observer()->barrier_completed(*this, number);
  for (const auto& warp_group : warp_groups_) warp_group->require_together(number);
  for (const auto& warp_group : warp_groups_) warp_group->release(number);
}

}  // namespace bicrl::ptx
