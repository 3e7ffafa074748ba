#include "sandbox/interpreter/counting/warp_access.h"

#include <algorithm>
#include <bit>

#include "sandbox/cost/launch_counters.h"
#include "sandbox/interpreter/ptx/execution/address_plan.h"

namespace bicrl {
namespace {

using ptx::kWarpLanes;
constexpr uint64_t kBanks = 32, kBankBytes = 4;

// The distance from each lane of the warp to the next if all access and it is the same; else -1.
int64_t common_step(const ptx::LaneAccess& access, int warp) {
  if (access.steps == nullptr || access.lanes.warps[static_cast<size_t>(warp)] != ~uint32_t{0}) return -1;
  constexpr int kGroup = ptx::AddressPlan::kGroup;
  const int first = warp * kWarpLanes;
  const int32_t step = access.steps[first / kGroup];
  if (step < 0) return -1;
  for (int lane = first + kGroup; lane < first + kWarpLanes; lane += kGroup)
    if (access.steps[lane / kGroup] != step ||
        access.offsets[lane] - access.offsets[lane - 1] != static_cast<uint32_t>(step))
      return -1;
  return step;
}

template <class Work>
void for_lanes(const ptx::LaneAccess& access, int warp, const Work& work) {
  for (uint32_t left = access.lanes.warps[static_cast<size_t>(warp)]; left != 0; left &= left - 1)
    work(access.base + access.offsets[warp * kWarpLanes + std::countr_zero(left)]);
}

}  // namespace

void find_sectors(const ptx::LaneAccess& access, int warp, WarpSectors& found) {
  found.count = 0;
  const auto add = [&](uint64_t first, uint64_t last) {
    for (uint64_t sector = first / kSectorBytes; sector <= last / kSectorBytes; ++sector)
      if (found.count < found.sectors.size() &&
          (found.count == 0 || found.sectors[found.count - 1] != sector))
        found.sectors[found.count++] = sector;
  };
  const int64_t step = common_step(access, warp);
  if (step >= 0 && step <= static_cast<int64_t>(kSectorBytes)) {
    const uint64_t first = access.base + access.offsets[warp * kWarpLanes];
    return add(first, first + static_cast<uint64_t>(step) * (kWarpLanes - 1) + access.bytes - 1);
  }
  for_lanes(access, warp, [&](uint64_t offset) { add(offset, offset + access.bytes - 1); });
  const auto begin = found.sectors.begin(), end = begin + static_cast<std::ptrdiff_t>(found.count);
  if (std::is_sorted(begin, end)) return;
  std::sort(begin, end);
  found.count = static_cast<size_t>(std::unique(begin, end) - begin);
}

uint32_t count_wavefronts(const ptx::LaneAccess& access, int warp, uint64_t begin) {
  const uint64_t unit = std::max<uint64_t>(kBankBytes, access.bytes);
  const auto lanes_at_once = static_cast<int>(std::max<uint64_t>(1, kBanks * kBankBytes / unit));
  const int64_t step = common_step(access, warp);
  if (step == 0 || (step == static_cast<int64_t>(access.bytes) && access.bytes >= kBankBytes))
    return step == 0 ? 1 : static_cast<uint32_t>(kWarpLanes / lanes_at_once);
  const auto columns = static_cast<uint64_t>(lanes_at_once);
  uint32_t wavefronts = 0;
  const uint32_t lanes = access.lanes.warps[static_cast<size_t>(warp)];
  for (int first = 0; first < kWarpLanes; first += lanes_at_once) {
    // The different places of each column of banks.
    std::array<std::array<uint64_t, kWarpLanes>, kBanks> places;
    std::array<uint32_t, kBanks> counts{};
    uint32_t most = 0;
    for (int lane = first; lane < first + lanes_at_once; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const uint64_t place = (begin + access.base + access.offsets[warp * kWarpLanes + lane]) / unit;
      auto& known = places[place % columns];
      uint32_t& count = counts[place % columns];
      if (std::find(known.begin(), known.begin() + count, place) == known.begin() + count)
        known[count++] = place;
      most = std::max(most, count);
    }
    wavefronts += most;
  }
  return std::max<uint32_t>(wavefronts, 1);
}

uint32_t most_at_one_place(const ptx::LaneAccess& access, int warp) {
  std::array<uint64_t, kWarpLanes> places;
  size_t count = 0;
  for_lanes(access, warp, [&](uint64_t offset) { places[count++] = offset; });
  std::sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count));
  uint32_t most = 0, same = 0;
  for (size_t i = 0; i < count; ++i) {
    same = i > 0 && places[i] == places[i - 1] ? same + 1 : 1;
    most = std::max(most, same);
  }
  return most;
}

}  // namespace bicrl
