// Layout of rows of queries, keys and values in shared memory, as the instructions that multiply them read
// it. A warp moves 8 by 8 matrices into its registers (wide_tile.cuh); on processors that have them, the
// products of a warpgroup read shared memory themselves (warpgroup_tile.cuh). Neither these reads nor the
// copies have bank conflicts.
#pragma once

namespace bicrl::gpu {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr bool kByWarpgroups = true;
#else
constexpr bool kByWarpgroups = false;
#endif

// Rotated rows: the address of a row's first sixteen bytes, and, from there, that of those `chunks` further.
// A matrix begins at a multiple of 128.
template <int kHeadDim>
__device__ inline unsigned row_address(unsigned matrix, int row) {
  return matrix + static_cast<unsigned>(row * kHeadDim * 2 + row % 8 * 16);
}
// Also in two moves, if their numbers have no bit in common.
__device__ inline unsigned further(unsigned address, int chunks) {
  return (address ^ static_cast<unsigned>(chunks % 8 * 16)) + static_cast<unsigned>(chunks / 8 * 128);
}

// For warpgroups a matrix is cut into slices of 64 dimensions, one behind the other, of which a row is 128
// bytes, its sixteen-byte chunks permuted by an exclusive or with the row (what is called a swizzle of 128
// bytes). A slice begins at a multiple of kSwizzleBytes.
constexpr int kSliceDims = 64, kSliceRowBytes = 128;
constexpr int kSwizzleBytes = 8 * kSliceRowBytes;  // after so many the permutations repeat

// Of one row to the next, of those that are eight apart.
template <int kHeadDim>
constexpr int kRowBytes = kByWarpgroups ? kSliceRowBytes : kHeadDim * 2;

// Of a matrix [kRows, kHeadDim], where a row's chunk of sixteen bytes is.
template <int kHeadDim, int kRows>
__device__ inline unsigned chunk_address(unsigned matrix, int row, int chunk) {
  if constexpr (kByWarpgroups)
    return matrix + static_cast<unsigned>(chunk / 8 * kRows * kSliceRowBytes + row * kSliceRowBytes +
                                          (chunk ^ row) % 8 * 16);
  else
    return further(row_address<kHeadDim>(matrix, row), chunk);
}

}  // namespace bicrl::gpu
