#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/error.h"
#include "policy/kernels.h"
#include "policy/row_loops.h"

namespace bicrl::kernels {
namespace {

// Elements that make threads worth their start.
constexpr int64_t kElementsForThreads = 1 << 16;

// Compiled for processors that multiply and add in one instruction as well, the others do it in more: the
// same bits, as the compiler joins nothing by itself here (CMakeLists.txt).
// Clang has no clones of flattened functions, and GCC's are resolved before ThreadSanitizer is there.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define BICRL_WITH_FMA __attribute__((target_clones("fma", "default"), flatten))
#else
#define BICRL_WITH_FMA __attribute__((flatten))
#endif

BICRL_WITH_FMA void norm_row(const NormRows<float>& work, int64_t r) {
  const float scale =
      normalize_row(work.x + r * work.width, work.weight, work.out + r * work.width, work.width, work.eps);
  if (work.inverse_rms) work.inverse_rms[r] = scale;
}

// A head, normed to x, becomes x * cos + (its halves swapped) * sin, rounded as at::addcmul rounds it: the
// product with the cosine, then the sum.
inline void norm_rotate(const float* __restrict head, const float* __restrict norm, double eps,
                        const float* __restrict cos, const float* __restrict sin, float* __restrict out,
                        int64_t head_dim) {
  float x[kMaxHeadDim];
  normalize_row(head, norm, x, head_dim, eps);
  const int64_t half = head_dim / 2;
  for (int64_t i = 0; i < half; ++i) {
    out[i] = std::fma(x[half + i], sin[i], x[i] * cos[i]);
    out[half + i] = std::fma(x[i], sin[half + i], x[half + i] * cos[half + i]);
  }
}

BICRL_WITH_FMA void norm_rotate_store_row(const NormRotateStore<float>& work, int64_t r) {
  const int64_t d = work.head_dim, kv_width = work.kv_heads * d;
  const float *cos = work.cos + r * d, *sin = work.sin + r * d;
  const float* q = work.q + r * work.q_stride;
  float* const rotated = work.rotated + r * work.heads * d;
  for (int64_t head = 0; head < work.heads; ++head)
    norm_rotate(q + head * d, work.q_norm, work.eps, cos, sin, rotated + head * d, d);
  const float* k = work.k + r * work.k_stride;
  float* const key = work.pool + work.write_rows[r] * 2 * kv_width;
  for (int64_t head = 0; head < work.kv_heads; ++head)
    norm_rotate(k + head * d, work.k_norm, work.eps, cos, sin, key + head * d, d);
  std::copy_n(work.v + r * work.v_stride, kv_width, key + kv_width);
}

// The first id whose cumulative weight exceeds uniform * total.
int64_t draw(const float* weights, int64_t count, double uniform) {
  double total = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) total += weights[i];
  const double target = total * uniform;
  for (int64_t i = 0; i < count; ++i) {
    sum += weights[i];
    if (sum > target) return i;
  }
  if (weights[count - 1] > 0) return count - 1;  // the target was rounded up to the total
  return std::max_element(weights, weights + count) - weights;
}

}  // namespace

void norm_rows_cpu(const NormRows<float>& work) {
  for (int64_t r = 0; r < work.rows; ++r) norm_row(work, r);
}

void draw_rows_cpu(const DrawRows& work) {
  [[maybe_unused]] const int64_t elements = work.rows * work.vocab;
#pragma omp parallel for schedule(static) if (elements >= kElementsForThreads)
  for (int64_t r = 0; r < work.rows; ++r)
    work.tokens[r] = draw(work.weights + r * work.vocab, work.vocab, work.uniforms[r]);
}

void norm_rotate_store_cpu(const NormRotateStore<float>& work) {
  BICRL_CHECK(work.head_dim <= kMaxHeadDim && work.head_dim % 2 == 0, "head_dim ", work.head_dim);
  [[maybe_unused]] const int64_t elements = work.rows * (work.heads + work.kv_heads) * work.head_dim;
#pragma omp parallel for schedule(static) if (elements >= kElementsForThreads)
  for (int64_t r = 0; r < work.rows; ++r) norm_rotate_store_row(work, r);
}

void accept_by_score_cpu(const AcceptByScore& work) {
  const int64_t b = work.block_size;
  for (int64_t block = 0; block < work.blocks; ++block) {
    const float* score = work.score + block * b;
    const uint8_t* masked = work.masked + block * b;
    uint8_t* accepted = work.accepted + block * b;
    int64_t sure = 0;
    for (int64_t i = 0; i < b; ++i) {
      accepted[i] = masked[i] && score[i] > work.threshold;
      sure += accepted[i];
    }
    if (sure >= work.quotas[block]) continue;
    for (int64_t i = 0; i < b; ++i) {
      int64_t before = 0;
      for (int64_t j = 0; j < b; ++j)
        before += masked[j] && (score[j] > score[i] || (score[j] == score[i] && j < i));
      accepted[i] = masked[i] && before < work.quotas[block];
    }
  }
}

}  // namespace bicrl::kernels
