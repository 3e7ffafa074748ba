#include "sandbox/interpreter/races/race_taint.h"

#include <cstring>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"
#include "sandbox/interpreter/ptx/operations/async_operations.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"

namespace bicrl::races {

using ptx::Space;

void RaceTaint::launch_begins(ptx::Grid& grid) {
  kernel_ = &grid.kernel();
  ++launch_;
  serials_.clear();
}

void RaceTaint::block_begins(ptx::ThreadBlock& block) { serials_[&block] = ++serial_; }

const std::unordered_set<uint64_t>* RaceTaint::racy_words(RacyWords::Memory memory) const {
  const auto found = words_.words.find(memory);
  return found == words_.words.end() ? nullptr : &found->second;
}

void RaceTaint::did_access(ptx::WarpGroup& warp_group, const ptx::Operation& op, const ptx::Region& region,
                           const ptx::LaneAccess& access) {
  const std::pair<uint32_t, uint32_t> operation{launch_,
                                                static_cast<uint32_t>(&op - kernel_->operations.data())};
  const bool reads = words_.reads.contains(operation), writes = words_.writes.contains(operation);
  const bool is_load = op.plans && !op.writes;
  const bool ends_early = words_.late_writes.contains(operation);
  if (!reads && !writes && !ends_early && (!is_load || early_.empty())) return;
  const bool shared = region.space == Space::kShared;
  const RacyWords::Memory memory{launch_, shared ? serials_.at(&warp_group.block()) : region.begin};
  const auto* words = racy_words(memory);
  if (!words) return;
  const auto early = early_.find(memory);
  const uint64_t begin =
      access.base + (shared ? static_cast<uint64_t>(region.data - warp_group.block().shared()) : 0);
  const uint32_t element = access.bytes / op.count;
  const bool undefined = mark_ == Mark::kUndefined;
  access.lanes.for_each([&](int lane) {
    for (uint32_t byte = 0; byte < access.bytes; byte += std::min<uint32_t>(element, 4)) {
      const uint64_t word = (begin + access.offsets[lane] + byte) / 4;
      if (!words->contains(word)) continue;
      if (early != early_.end() && ends_early) early->second.erase(word);
      if (reads || (is_load && early != early_.end() && early->second.contains(word)))
        ptx::set_undefined(warp_group, op.destinations[byte / element], lane, undefined);
      if (writes && undefined && region.undefined)
        memset(region.undefined + access.base + access.offsets[lane] + byte, 0xFF,
               std::min<uint32_t>(element, 4));
    }
  });
}

void RaceTaint::copy_landed(ptx::ThreadBlock& block, int, uint64_t place, uint32_t bytes) {
  const auto* words = racy_words({launch_, serials_.at(&block)});
  if (!words || !block.shared_shadows() || mark_ == Mark::kDefined) return;
  bool copies = false;
  for (const auto& [launch, operation] : words_.writes)
    copies |= launch == launch_ && kernel_->operations[operation].handler == ptx::copy_async;
  for (uint64_t byte = place; copies && byte < place + bytes; byte += 4)
    if (words->contains(byte / 4)) memset(block.shared_shadows() + byte, 0xFF, 4);
}

}  // namespace bicrl::races
