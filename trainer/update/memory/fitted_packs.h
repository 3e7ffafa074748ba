// The packs whose passes have been found to fit into memory, as one that is as large as any of them in each
// figure. Updates whose figures take turns at being the largest ask for memory once, not each time. Not
// thread-safe.
#pragma once
#include <vector>

#include "policy/attention/packed_segment.h"
#include "trainer/update/memory/pass_memory.h"
#include "trainer/update/packing/packing.h"

namespace bicrl {

class FittedPacks {
 public:
  bool contain(const Packs& packs) const { return most_.contains(packs.largest()); }
  // From now on these as well.
  void extend(const Packs& packs);
  // Segments are those of the pack with the most rows.
  PassShape shape() const { return {most_.rows, most_.scored, segments_, most_.named_ids}; }

 private:
  Packs::Extent most_;
  std::vector<PackedSegment> segments_;
};

}  // namespace bicrl
