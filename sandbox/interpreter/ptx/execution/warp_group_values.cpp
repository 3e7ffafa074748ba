// What slots hold from the start of a launch or a block on: constants and special registers.
#include "sandbox/interpreter/ptx/execution/warp_group.h"

#include <algorithm>
#include <cstring>

#include "common/rng.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/thread_block.h"

namespace bicrl::ptx {
namespace {

// Of a multiprocessor of compute capability 9.0.
constexpr uint32_t kWarpPlaces = 64;

}  // namespace

void WarpGroup::fill_constants() {
  for (const Constant& constant : kernel_.constants) {
    uint64_t value = static_cast<uint64_t>(constant.bits);
    if (constant.kind == Constant::Kind::kVariable) value += grid_.module().address_of(constant.index);
    std::byte* array = values<std::byte>(constant.place);
    const size_t bytes = constant.place.bytes;
    for (int lane = 0; lane < lanes_; ++lane) {
      std::byte* element = array + static_cast<size_t>(lane) * bytes;
      memset(element, constant.bits < 0 ? 0xFF : 0, bytes);
      memcpy(element, &value, std::min<size_t>(bytes, sizeof value));
    }
  }
}

void WarpGroup::fill_special(const SpecialPlace& special, bool only_block) {
  const Dim3& grid = grid_.config().grid;
  const Dim3& size = grid_.config().block;
  const auto fill = [&](const auto& value_of) {
    uint32_t* array = values<uint32_t>(special.place);
    for (int lane = 0; lane < lanes_; ++lane) array[lane] = value_of(lane);
  };
  const auto of_block = [&](const auto& value) {
    if (only_block) fill([&](int) { return static_cast<uint32_t>(value); });
  };
  const auto of_launch = [&](const auto& value_of) {
    if (!only_block) fill([&](int lane) { return static_cast<uint32_t>(value_of(lane)); });
  };
  const auto thread = [&](size_t axis) {
    of_launch([&](int lane) { return block_.thread_index(first_thread_ + lane)[axis]; });
  };
  const auto always = [&](uint32_t value) { of_launch([&](int) { return value; }); };
  const Kernel& kernel = kernel_;
  switch (special.special) {
    case Special::kTidX:
      return thread(0);
    case Special::kTidY:
      return thread(1);
    case Special::kTidZ:
      return thread(2);
    case Special::kNtidX:
      return always(size[0]);
    case Special::kNtidY:
      return always(size[1]);
    case Special::kNtidZ:
      return always(size[2]);
    case Special::kCtaidX:
      return of_block(block_.index()[0]);
    case Special::kCtaidY:
      return of_block(block_.index()[1]);
    case Special::kCtaidZ:
      return of_block(block_.index()[2]);
    case Special::kNctaidX:
      return always(grid[0]);
    case Special::kNctaidY:
      return always(grid[1]);
    case Special::kNctaidZ:
      return always(grid[2]);
    case Special::kLaneId:
      return of_launch([](int lane) { return lane % kWarpLanes; });
    case Special::kWarpId: {
      // A place in the multiprocessor, not in the block: which one is the seed's business.
      const uint64_t first = mix_key(grid_.order().seed, "warp places");
      return of_launch([&](int lane) { return (first + (first_thread_ + lane) / kWarpLanes) % kWarpPlaces; });
    }
    case Special::kNWarpId:
      return always(kWarpPlaces);
    case Special::kSmId:
      return of_block((block_.index()[0] + uint64_t{block_.index()[1]} * grid[0]) % grid_.device().sm_count);
    case Special::kNSmId:
      return always(grid_.device().sm_count);
    case Special::kLaneMaskEq:
      return of_launch([](int lane) { return 1U << lane % kWarpLanes; });
    case Special::kLaneMaskLe:
      return of_launch([](int lane) { return (2U << lane % kWarpLanes) - 1; });
    case Special::kLaneMaskLt:
      return of_launch([](int lane) { return (1U << lane % kWarpLanes) - 1; });
    case Special::kLaneMaskGe:
      return of_launch([](int lane) { return ~((1U << lane % kWarpLanes) - 1); });
    case Special::kLaneMaskGt:
      return of_launch([](int lane) { return ~((2U << lane % kWarpLanes) - 1); });
    case Special::kDynamicSharedBytes:
      return always(grid_.config().dynamic_shared_bytes);
    case Special::kTotalSharedBytes:
      return always(kernel.static_shared_bytes + grid_.config().dynamic_shared_bytes);
    case Special::kEnvReg1:
      return always(static_cast<uint32_t>(grid_.config().grid_workspace >> 32));
    case Special::kEnvReg2:
      return always(static_cast<uint32_t>(grid_.config().grid_workspace));
    default:
      return always(0);  // the identifier of the grid
  }
}

}  // namespace bicrl::ptx
