// A second run of launches that raced, which finds whether the race matters: the same launches on the same
// inputs in the same order. Values that a racy load reads, and those that racy writes of different values
// leave, count as never written. If a branch, an address or an output depends on one (the interpreter's
// shadows show it), the race can be seen; if not, no order of the accesses changes an answer. Needs shadows.
//
// Values that become defined on the way are defined: x & 0 for a racy x, or a word that is written anew in
// order. A load that raced on a word is marked each time it reads that word in the launch. A word that raced
// with a later write is marked for all loads until that write, also for those that did not race.
//
// The second run can also be inverted: values that racy loads read count as written. A run that then ends
// without a fault read unwritten memory only because it raced.
#pragma once
#include <set>
#include <unordered_map>

#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/races/race.h"

namespace bicrl::races {

class RaceTaint : public ptx::Observer {
 public:
  enum class Mark : uint8_t { kUndefined, kDefined };

  // `words`: what a RaceDetector found in the first run; must outlive this.
  explicit RaceTaint(const RacyWords& words, Mark mark = Mark::kUndefined)
      : words_(words), mark_(mark), early_(words.early) {}

  void launch_begins(ptx::Grid& grid) override;
  void block_begins(ptx::ThreadBlock& block) override;
  void did_access(ptx::WarpGroup& warp_group, const ptx::Operation& op, const ptx::Region& region,
                  const ptx::LaneAccess& access) override;
  void copy_landed(ptx::ThreadBlock& block, int thread, uint64_t place, uint32_t bytes) override;

 private:
  const std::unordered_set<uint64_t>* racy_words(RacyWords::Memory memory) const;

  const RacyWords& words_;
  const Mark mark_;
  std::map<RacyWords::Memory, std::unordered_set<uint64_t>> early_;  // whose racy write is still to come
  const ptx::Kernel* kernel_ = nullptr;
  uint32_t launch_ = 0, serial_ = 0;  // as the detector counts them
  std::unordered_map<const ptx::ThreadBlock*, uint32_t> serials_;
};

}  // namespace bicrl::races
