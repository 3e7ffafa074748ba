// Moves of 8 by 8 matrices of 16-bit elements between shared memory and the registers of a warp (ldmatrix,
// stmatrix), and their transposition (movmatrix). Handlers of Operation; warp collectives as in
// matrix_operations.h.
//
// Lane 8 i + r names the address of row r of matrix i, of 16 bytes at a multiple of 16; addresses of further
// lanes are not looked at. A register holds two neighbours of a row: lane l those of row l / 4 from column
// 2 (l % 4) on; transposed, two of a column.
#pragma once
#include "sandbox/interpreter/ptx/execution/warp_group.h"

namespace bicrl::ptx {

// Operation::detail: the matrices are transposed on their way.
constexpr uint16_t kTransposed = 1;

// Operation::count matrices; a register of each among the destinations, or in Kernel::more.
void load_small_matrices(WarpGroup& warp_group, const Operation& op);
void store_small_matrices(WarpGroup& warp_group, const Operation& op);
// Destination 0, source 1; always transposed.
void transpose_small_matrix(WarpGroup& warp_group, const Operation& op);

}  // namespace bicrl::ptx
