#include "sandbox/cost/occupancy.h"

#include <algorithm>

namespace bicrl {
namespace {

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Occupancy occupancy_of(const LaunchCounters& launch, const DeviceTable& device) {
  const uint64_t warps = std::max<uint64_t>(1, (launch.threads_per_block + 31) / 32);
  Occupancy result{.blocks = device.max_blocks, .warps = 0, .share = 0, .limited_by = "blocks"};
  const auto limit = [&result](uint64_t blocks, std::string_view by) {
    if (blocks >= result.blocks) return;
    result.blocks = static_cast<uint32_t>(blocks);
    result.limited_by = by;
  };
  limit(device.max_warps / warps, "warps");
  if (launch.registers_per_thread > 0) {
    const uint64_t of_warp = rounded_up(launch.registers_per_thread * 32, device.register_unit);
    // Each scheduler has its own part of the registers.
    const uint64_t of_scheduler = device.registers / device.schedulers / of_warp;
    limit(of_scheduler * device.schedulers / warps, "registers");
  }
  const uint64_t shared =
      rounded_up(launch.shared_bytes_per_block + device.reserved_shared_bytes, device.shared_unit_bytes);
  limit(device.shared_bytes / shared, "shared memory");
  result.blocks = std::max<uint32_t>(result.blocks, 1);
  result.warps = static_cast<uint32_t>(std::min<uint64_t>(result.blocks * warps, device.max_warps));
  result.share = static_cast<double>(result.warps) / device.max_warps;
  return result;
}

}  // namespace bicrl
