#include "sandbox/interpreter/executor/sample_counting.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "common/rng.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl {
namespace {

constexpr uint64_t kPageBytes = 4096, kMostPages = 1 << 16;  // 256 MiB of a sample, which needs some MiB
constexpr uint64_t kPlaceBytes = 64;                         // a multiple of every element's size

// `contents` from the place on, and from their begin behind their end.
void copy_round(std::byte* to, uint64_t bytes, std::string_view contents, uint64_t place) {
  while (bytes > 0) {
    const uint64_t run = std::min(bytes, contents.size() - place);
    memcpy(to, contents.data() + place, run);
    to += run;
    bytes -= run;
    place = 0;
  }
}

}  // namespace

void SampleCounting::will_access(ptx::WarpGroup& warp_group, const ptx::Operation& op,
                                 const ptx::Region& region, const ptx::LaneAccess& access) {
  if (region.space == ptx::Space::kGlobal && !region.local)
    access.lanes.for_each([&](int lane) {
      const uint64_t begin = region.begin + access.base + access.offsets[lane];
      touch(begin / kPageBytes, region, warp_group);
      touch((begin + access.bytes - 1) / kPageBytes, region, warp_group);
    });
  LaunchCounting::will_access(warp_group, op, region, access);
}

void SampleCounting::touch(uint64_t page, const ptx::Region& region, const ptx::WarpGroup& warp_group) {
  if (page == last_page_ || !pages_.insert(last_page_ = page).second) return;
  if (pages_.size() > kMostPages)
    throw ptx::FaultError({ptx::FaultClass::kTimeout,
                           concat("touches more than ", kMostPages, " pages of memory"),
                           warp_group.kernel().name, 0});
  const auto input = inputs_.find(region.begin);
  if (input == inputs_.end() || input->second.empty()) return;
  const uint64_t begin = page * kPageBytes - region.begin;
  const uint64_t places = std::max<uint64_t>(1, input->second.size() / kPlaceBytes);
  copy_round(region.data + begin, std::min(kPageBytes, region.end - region.begin - begin), input->second,
             mix_key({seed_, page}) % places * kPlaceBytes);
}

}  // namespace bicrl
