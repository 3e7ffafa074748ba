#include <algorithm>
#include <cstring>

#include "sandbox/interpreter/ptx/alu/matrix_formats.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/memory_access.h"
#include "sandbox/interpreter/ptx/execution/observed_access.h"
#include "sandbox/interpreter/ptx/operations/lane_values.h"
#include "sandbox/interpreter/ptx/operations/matrix_operations.h"

namespace bicrl::ptx {
namespace {

constexpr int kMaxLines = 32;

// The rows of a matrix in memory, or its columns if it lies by columns.
struct Lines {
  int count = 0, elements = 0;
  Region region;  // of the last one
  std::byte* data[kMaxLines];
  uint8_t* undefined[kMaxLines];
  uint8_t* writers[kMaxLines];
};

const FragmentLayout& fragment_of(const Operation& op) {
  const MatrixFormat& format = matrix_formats()[op.detail & kFormatMask];
  switch (static_cast<MatrixRole>(op.detail >> kRoleShift)) {
    case MatrixRole::kLeft:
      return format.left;
    case MatrixRole::kRight:
      return format.right;
    default:
      return format.accumulator;
  }
}

// The value of all lanes of a warp.
template <class Read>
uint64_t common_value(WarpGroup& warp_group, int first, const char* what, const Read& read) {
  const uint64_t value = read(first);
  for (int lane = first + 1; lane < first + kWarpLanes; ++lane)
    if (read(lane) != value) warp_group.fail(FaultClass::kIllegalAccess, what, lane);
  return value;
}

void find_lines(WarpGroup& warp_group, const Operation& op, int first, uint32_t element_bytes, bool writes,
                Lines& lines) {
  const FragmentLayout& layout = fragment_of(op);
  const bool by_columns = (op.detail & kColumnMajor) != 0;
  lines.count = by_columns ? layout.columns : layout.rows;
  lines.elements = by_columns ? layout.rows : layout.columns;
  const uint64_t begin =
      common_value(warp_group, first, "the lanes of a warp name different addresses of a matrix",
                   [&](int lane) { return lane_address(warp_group, op.address, op.offset, lane); });
  uint64_t step = static_cast<uint64_t>(lines.elements);
  if (op.sources[1])
    step = common_value(
        warp_group, first, "the lanes of a warp name different widths of a matrix", [&](int lane) {
          return defined_value<uint32_t>(warp_group, op.sources[1], lane, "the width of a matrix");
        });
  step *= element_bytes;
  const bool wide =
      element_bytes < 8 || static_cast<MatrixRole>(op.detail >> kRoleShift) == MatrixRole::kAccumulator;
  const uint32_t alignment = wide ? 16 : 8;
  if (begin % alignment != 0 || step % alignment != 0)
    warp_group.fail(FaultClass::kIllegalAccess,
                    concat("a matrix whose rows do not begin at multiples of ", alignment, " bytes"), first);
  const Access access{.bytes = static_cast<uint32_t>(lines.elements) * element_bytes, .writes = writes};
  Region region;
  for (int line = 0; line < lines.count; ++line) {
    const uint64_t address = begin + static_cast<uint64_t>(line) * step;
    if (line == 0 || address < region.begin || address > region.end - access.bytes)
      region = find_region(warp_group, op.space, address, access, first);
    if (region.local) warp_group.fail(FaultClass::kIllegalAccess, "a matrix in local memory", first);
    const uint64_t at = address - region.begin;
    lines.data[line] = region.data + at;
    lines.undefined[line] = region.undefined ? region.undefined + at : nullptr;
    lines.writers[line] = region.writers ? region.writers + at : nullptr;
  }
  lines.region = region;
}

// Calls work(register, half, places of the 32 lanes' elements in a tile of lines) for the distinct elements.
template <class Work>
void for_each_element(const Operation& op, const Work& work) {
  const FragmentLayout& layout = fragment_of(op);
  const int packed = packed_elements(op.type);
  const uint16_t* places = (op.detail & kColumnMajor ? layout.turned : layout.positions).data();
  for (int element = 0; element < layout.elements; ++element)
    work(static_cast<size_t>(element / packed), element % packed, places + element * kWarpLanes);
}

// From lines to registers, of values or of shadows: `array_of` gives a register's array from the warp on.
template <class Element, class Data, class ArrayOf>
void spread(const Operation& op, const std::vector<Place>& registers, const Lines& lines, Data* const* data,
            const ArrayOf& array_of) {
  alignas(64) Element tile[kMaxMatrixElements];
  for (int line = 0; line < lines.count; ++line)
    memcpy(tile + line * lines.elements, data[line], static_cast<size_t>(lines.elements) * sizeof(Element));
  const int packed = packed_elements(op.type);
  const size_t distinct = static_cast<size_t>(fragment_of(op).elements / packed);
  for_each_element(op, [&](size_t number, int half, const uint16_t* places) {
    Element values[kWarpLanes];
    for (int lane = 0; lane < kWarpLanes; ++lane) values[lane] = tile[places[lane]];
    for (size_t copy = number; copy < registers.size(); copy += distinct) {
      if (!registers[copy]) continue;  // _
      Element* to = array_of(registers[copy]) + half;
      if (packed == 1) {
        memcpy(to, values, sizeof values);
      } else {
        for (int lane = 0; lane < kWarpLanes; ++lane) to[lane * 2] = values[lane];
      }
    }
  });
}

// From registers to lines.
template <class Element, class Data, class ArrayOf>
void gather(const Operation& op, const std::vector<Place>& registers, const Lines& lines, Data* const* data,
            const ArrayOf& array_of) {
  alignas(64) Element tile[kMaxMatrixElements];
  const int packed = packed_elements(op.type);
  for_each_element(op, [&](size_t number, int half, const uint16_t* places) {
    const Element* from = array_of(registers[number]) + half;
    for (int lane = 0; lane < kWarpLanes; ++lane) tile[places[lane]] = from[lane * packed];
  });
  for (int line = 0; line < lines.count; ++line)
    memcpy(data[line], tile + line * lines.elements, static_cast<size_t>(lines.elements) * sizeof(Element));
}

// Each lane accesses the elements that its fragment holds.
void show_elements(WarpGroup& warp_group, const Operation& op, const Lines& lines, int first, bool stores,
                   uint32_t element_bytes) {
  CollectedAccesses seen(warp_group, op, stores ? LaneAccess::Kind::kWrite : LaneAccess::Kind::kRead,
                         element_bytes);
  if (!seen) return;
  for_each_element(op, [&](size_t, int, const uint16_t* places) {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const int line = places[lane] / lines.elements, element = places[lane] % lines.elements;
      seen.add(lines.region, first + lane,
               static_cast<uint64_t>(lines.data[line] - lines.region.data) +
                   static_cast<uint64_t>(element) * element_bytes);
    }
    seen.flush();
  });
}

template <class Element>
void move_elements(WarpGroup& warp_group, const Operation& op, bool stores) {
  const std::vector<Place>& registers = warp_group.kernel().more[op.more];
  const int packed = packed_elements(op.type);
  for_each_whole_warp(warp_group, [&](int first) {
    Lines lines;
    find_lines(warp_group, op, first, sizeof(Element), stores, lines);
    show_elements(warp_group, op, lines, first, stores, sizeof(Element));
    const auto values = [&](Place place) { return warp_group.values<Element>(place) + first * packed; };
    const auto shadows = [&](Place place) { return warp_group.shadows<Element>(place) + first * packed; };
    if (stores) {
      gather<Element>(op, registers, lines, lines.data, values);
      if (warp_group.has_shadows()) gather<Element>(op, registers, lines, lines.undefined, shadows);
      for (int line = 0; line < lines.count; ++line)
        if (lines.writers[line])
          memset(lines.writers[line], static_cast<int>(Writer::kKernel),
                 static_cast<size_t>(lines.elements) * sizeof(Element));
    } else {
      spread<Element>(op, registers, lines, lines.data, values);
      if (warp_group.has_shadows()) spread<Element>(op, registers, lines, lines.undefined, shadows);
    }
    // As much work as that many other operations.
    warp_group.grid().count_work(4 * registers.size(), kWarpLanes);
  });
}

void move_matrix(WarpGroup& warp_group, const Operation& op, bool stores) {
  if (packed_elements(op.type) == 2)
    move_elements<uint16_t>(warp_group, op, stores);
  else if (op.type == Type::kF64)
    move_elements<uint64_t>(warp_group, op, stores);
  else
    move_elements<uint32_t>(warp_group, op, stores);
}

}  // namespace

void load_matrix(WarpGroup& warp_group, const Operation& op) {
  move_matrix(warp_group, op, /*stores=*/false);
}
void store_matrix(WarpGroup& warp_group, const Operation& op) {
  move_matrix(warp_group, op, /*stores=*/true);
}

}  // namespace bicrl::ptx
