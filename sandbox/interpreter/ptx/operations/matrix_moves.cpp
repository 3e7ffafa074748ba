#include "sandbox/interpreter/ptx/operations/matrix_moves.h"

#include <cstring>

#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observed_access.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"
#include "sandbox/interpreter/ptx/operations/matrix_operations.h"

namespace bicrl::ptx {
namespace {

constexpr int kSide = 8;
constexpr uint32_t kRowBytes = kSide * 2;

using SmallMatrix = uint16_t[kSide][kSide];

constexpr int kLanesOfRow = kWarpLanes / kSide;

// Where a row lies.
struct Row {
  std::byte* data = nullptr;
  uint8_t* undefined = nullptr;
};

// Of a matrix of the warp whose first lane that is, lanes hold each a part of a row.
void show_row(CollectedAccesses& seen, const Region& region, const Row& row, int first, int number) {
  if (!seen) return;
  for (int i = 0; i < kLanesOfRow; ++i)
    seen.add(
        region, first + number * kLanesOfRow + i,
        static_cast<uint64_t>(row.data - region.data) + static_cast<uint64_t>(i) * kRowBytes / kLanesOfRow);
}

Row find_row(WarpGroup& warp_group, const Operation& op, int lane, bool writes, Region& region) {
  const Access access{.bytes = kRowBytes, .writes = writes};
  const uint64_t address = lane_address(warp_group, op.address, op.offset, lane);
  require_aligned(warp_group, address, kRowBytes, lane);
  if (!region.data || address < region.begin || address > region.end - kRowBytes)
    region = find_region(warp_group, op.space, address, access, lane);
  if (region.space != Space::kShared)
    warp_group.fail(FaultClass::kIllegalAccess, "a row of a matrix that is not in shared memory", lane);
  const uint64_t at = address - region.begin;
  return {region.data + at, region.undefined ? region.undefined + at : nullptr};
}

// A lane's two elements.
uint16_t& element(SmallMatrix& matrix, int lane, int half, bool transposed) {
  const int major = lane / 4, minor = lane % 4 * 2 + half;
  return transposed ? matrix[minor][major] : matrix[major][minor];
}

void to_registers(SmallMatrix& matrix, bool transposed, uint16_t* halves) {
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int half = 0; half < 2; ++half) halves[lane * 2 + half] = element(matrix, lane, half, transposed);
}

void from_registers(const uint16_t* halves, bool transposed, SmallMatrix& matrix) {
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int half = 0; half < 2; ++half) element(matrix, lane, half, transposed) = halves[lane * 2 + half];
}

}  // namespace

void load_small_matrices(WarpGroup& warp_group, const Operation& op) {
  const bool transposed = op.detail == kTransposed;
  for_each_whole_warp(warp_group, [&](int first) {
    // All rows before the first register, which may be that of the addresses.
    SmallMatrix matrices[kMaxOperands], shadows[kMaxOperands];
    Region region;
    CollectedAccesses seen(warp_group, op, LaneAccess::Kind::kRead, kRowBytes / kLanesOfRow);
    for (int i = 0; i < op.count; ++i)
      for (int r = 0; r < kSide; ++r) {
        const Row row = find_row(warp_group, op, first + i * kSide + r, /*writes=*/false, region);
        show_row(seen, region, row, first, r);
        memcpy(matrices[i][r], row.data, kRowBytes);
        if (row.undefined) memcpy(shadows[i][r], row.undefined, kRowBytes);
      }
    if (seen) seen.flush();
    for (size_t i = 0; i < op.count; ++i) {
      const Place place = op.destinations[i];
      if (!place) continue;  // _
      to_registers(matrices[i], transposed, warp_group.values<uint16_t>(place) + first * 2);
      if (warp_group.has_shadows())
        to_registers(shadows[i], transposed, warp_group.shadows<uint16_t>(place) + first * 2);
    }
  });
}

void store_small_matrices(WarpGroup& warp_group, const Operation& op) {
  const bool transposed = op.detail == kTransposed;
  for_each_whole_warp(warp_group, [&](int first) {
    const std::vector<Place>& registers = warp_group.kernel().more[op.more];
    Region region;
    for (size_t i = 0; i < op.count; ++i) {
      SmallMatrix matrix, shadow;
      from_registers(warp_group.values<uint16_t>(registers[i]) + first * 2, transposed, matrix);
      if (warp_group.has_shadows())
        from_registers(warp_group.shadows<uint16_t>(registers[i]) + first * 2, transposed, shadow);
      CollectedAccesses seen(warp_group, op, LaneAccess::Kind::kWrite, kRowBytes / kLanesOfRow);
      for (int r = 0; r < kSide; ++r) {
        const Row row =
            find_row(warp_group, op, first + static_cast<int>(i) * kSide + r, /*writes=*/true, region);
        show_row(seen, region, row, first, r);
        memcpy(row.data, matrix[r], kRowBytes);
        if (row.undefined) memcpy(row.undefined, shadow[r], kRowBytes);
      }
      if (seen) seen.flush();
    }
  });
}

void transpose_small_matrix(WarpGroup& warp_group, const Operation& op) {
  if (!op.destinations[0]) return;
  for_each_whole_warp(warp_group, [&](int first) {
    const auto move = [first](const uint16_t* from, uint16_t* to) {
      SmallMatrix matrix;
      from_registers(from + first * 2, /*transposed=*/false, matrix);
      to_registers(matrix, /*transposed=*/true, to + first * 2);
    };
    move(warp_group.values<uint16_t>(op.sources[1]), warp_group.values<uint16_t>(op.destinations[0]));
    if (warp_group.has_shadows())
      move(warp_group.shadows<uint16_t>(op.sources[1]), warp_group.shadows<uint16_t>(op.destinations[0]));
  });
}

}  // namespace bicrl::ptx
