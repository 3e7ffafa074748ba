// nvcuda::wmma in host code: types alone.
#pragma once
#include "bicrl/half.h"

namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace precision
template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr int num_elements = 8;
  T x[8];
};
#define BICRL_MATRIX(name)        \
  template <class... A>           \
  inline void name(const A&...) { \
    bicrl_device_only();          \
  }
BICRL_MATRIX(load_matrix_sync)
BICRL_MATRIX(store_matrix_sync)
BICRL_MATRIX(fill_fragment)
BICRL_MATRIX(mma_sync)
#undef BICRL_MATRIX
inline float __float_to_tf32(float) { bicrl_device_only(); }
}  // namespace wmma
}  // namespace nvcuda
