// Counts what sampled blocks do, in memory that is made when touched, and makes the pages of inputs that they
// touch: of pieces of a test input of a smaller size, so that a kernel finds values as the task has them. A
// page begins at a secret place of that input. Other pages stay zeros, as a program may have filled them.
//
// Too many pages are a fault, since each one that is touched takes memory of the host. Not thread-safe.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "sandbox/interpreter/counting/launch_counting.h"

namespace bicrl {

class SampleCounting : public LaunchCounting {
 public:
  // `seed`: of the places, secret.
  explicit SampleCounting(uint64_t seed) : LaunchCounting(Footprint::kIgnored), seed_(seed) {}
  // A buffer that begins there, before anything touches it. `contents` outlive this.
  void add_input(uint64_t address, std::string_view contents) { inputs_[address] = contents; }

  void will_access(ptx::WarpGroup& warp_group, const ptx::Operation& op, const ptx::Region& region,
                   const ptx::LaneAccess& access) override;

 private:
  void touch(uint64_t page, const ptx::Region& region, const ptx::WarpGroup& warp_group);

  const uint64_t seed_;
  std::unordered_map<uint64_t, std::string_view> inputs_;  // by address
  std::unordered_set<uint64_t> pages_;                     // that exist, by address / page size
  uint64_t last_page_ = 0;
};

}  // namespace bicrl
