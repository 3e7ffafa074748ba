// Matrix products of warps, and wmma's loads and stores of their operands. Handlers of Operation: warp
// collectives whose mask, source 0, names all lanes. A lane that has exited, or never was, is a fault.
//
// An element of a product is undefined if an element of its row of A, of its column of B or its own of C is.
// The arithmetic is that of matrix_arithmetic.h; an fp16 result is rounded once.
#pragma once
#include <cstdint>

#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl::ptx {

// Operation::detail: the number of a MatrixFormat, and
constexpr uint16_t kFormatMask = 0xFF;
constexpr uint16_t kNarrowResult = 0x100;  // D is fp16,
constexpr uint16_t kNarrowAddend = 0x200;  // C is fp16; or, of loads and stores,
constexpr uint16_t kColumnMajor = 0x100;
constexpr int kRoleShift = 9;  // a MatrixRole
enum class MatrixRole : uint16_t { kLeft, kRight, kAccumulator };

// Registers, in Kernel::more: of D, A, B, C.
void multiply_matrices(WarpGroup& warp_group, const Operation& op);

// Registers, in Kernel::more: of the fragment. Source 1: the distance between rows (or columns) in elements,
// or none if they follow each other. All lanes name one address, a multiple of 16 bytes, and so is the
// distance in bytes; of fp64 operands A and B, a multiple of 8. (The manual asks for more than devices do.)
void load_matrix(WarpGroup& warp_group, const Operation& op);
void store_matrix(WarpGroup& warp_group, const Operation& op);

[[noreturn]] void fail_incomplete_warp(WarpGroup& warp_group, int warp);
// Calls work(first lane) for the warps that are active. Throws FaultError if one of them is not whole.
template <class Work>
void for_each_whole_warp(WarpGroup& warp_group, const Work& work) {
  for (int warp = 0; warp * kWarpLanes < warp_group.lanes(); ++warp) {
    const uint32_t lanes = warp_group.active().warps[static_cast<size_t>(warp)];
    if (lanes == 0) continue;
    if (lanes != ~uint32_t{0}) fail_incomplete_warp(warp_group, warp);
    work(warp * kWarpLanes);
  }
}

}  // namespace bicrl::ptx
