// Products of matrices in row-major order by cuBLASLt, whose epilogue adds what is there already: branches to
// the residual stream, gradients to their fp32 sums. Free of torch. A plan is made once for each shape, by
// the library's heuristic, so that equal shapes give equal bits. Refers to no memory between calls.
// Movable; not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

enum class ProductType { kBFloat16, kFloat };

// out = alpha op(a) op(b) + addend, with op(a) [m, k] and op(b) [k, n] of bf16; a is stored [m, k], or [k, m]
// if it is transposed, b likewise. Strides count elements from row to row.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  const BFloat16* a = nullptr;
  int64_t a_stride = 0;
  bool a_transposed = false;
  const BFloat16* b = nullptr;
  int64_t b_stride = 0;
  bool b_transposed = false;
  float alpha = 1;
  const void* addend = nullptr;  // [m, n] of out's type, may be out; null: none
  int64_t addend_stride = 0;
  void* out = nullptr;  // [m, n]
  int64_t out_stride = 0;
  ProductType out_type = ProductType::kBFloat16;
  // So many products side by side: each begins so many elements behind the one before.
  int64_t batch = 1, a_step = 0, b_step = 0, out_step = 0;
};

class MatrixProducts {
 public:
  static constexpr int64_t kWorkspaceBytes = int64_t{36} << 20;

  MatrixProducts();  // of the current device
  ~MatrixProducts();
  MatrixProducts(MatrixProducts&& other) noexcept;
  MatrixProducts& operator=(MatrixProducts&&) = delete;

  // workspace: [kWorkspaceBytes] on the device, of one stream at a time. Throws Error, naming the shape, if
  // the library has no way to make the product.
  void run(const MatrixProduct& product, void* workspace, Stream stream);

 private:
  struct Plan;
  using Key = std::array<int64_t, 15>;
  static Key key_of(const MatrixProduct& product);
  Plan& plan_of(const MatrixProduct& product);

  void* handle_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace bicrl::gpu
