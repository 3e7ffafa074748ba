#include "policy/gpu/products/matrix_product.h"

#include <cublasLt.h>

#include <utility>

#include "common/error.h"

namespace bicrl::gpu {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(concat("cuBLASLt: ", what, ": ", cublasLtGetStatusString(status)));
}

std::string shape_of(const MatrixProduct& p) {
  return concat("product [", p.m, ", ", p.k, "] [", p.k, ", ", p.n, "] with strides ", p.a_stride, ", ",
                p.b_stride, ", ", p.out_stride);
}

cudaDataType_t type_of(ProductType type) { return type == ProductType::kFloat ? CUDA_R_32F : CUDA_R_16BF; }

// The largest power of two, up to 256, that a pointer is a multiple of.
int64_t alignment_of(const void* pointer) {
  const auto bits = reinterpret_cast<uintptr_t>(pointer) | 256;
  return static_cast<int64_t>(bits & ~(bits - 1));
}

// A matrix as the library sees it: columns of what lies row by row.
class Layout {
 public:
  Layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t stride, int64_t batch, int64_t step) {
    check(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<uint64_t>(columns),
                                     static_cast<uint64_t>(rows), stride),
          "a matrix");
    if (batch == 1) return;
    const auto count = static_cast<int32_t>(batch);
    check(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "a batch");
    check(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                           sizeof step),
          "a batch's step");
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

}  // namespace

// The library multiplies columns: out^T = op(b)^T op(a)^T, of which each is what lies there row by row.
struct MatrixProducts::Plan {
  explicit Plan(const MatrixProduct& p)
      : first(CUDA_R_16BF, p.b_transposed ? p.n : p.k, p.b_transposed ? p.k : p.n, p.b_stride, p.batch,
              p.b_step),
        second(CUDA_R_16BF, p.a_transposed ? p.k : p.m, p.a_transposed ? p.m : p.k, p.a_stride, p.batch,
               p.a_step),
        addend(type_of(p.out_type), p.m, p.n, p.addend ? p.addend_stride : p.out_stride, p.batch, p.out_step),
        out(type_of(p.out_type), p.m, p.n, p.out_stride, p.batch, p.out_step) {
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "an operation");
    const cublasOperation_t first_op = p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second_op = p.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &first_op, sizeof first_op),
          "a transposition");
    check(
        cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &second_op, sizeof second_op),
        "a transposition");
  }
  ~Plan() { cublasLtMatmulDescDestroy(operation); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void choose(cublasLtHandle_t handle, const MatrixProduct& product) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "a preference");
    const auto bytes = static_cast<uint64_t>(kWorkspaceBytes);
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                               sizeof bytes),
          "a workspace");
    const auto align = [&](cublasLtMatmulPreferenceAttributes_t of, const void* pointer) {
      const auto alignment = static_cast<uint32_t>(alignment_of(pointer));
      check(cublasLtMatmulPreferenceSetAttribute(preference, of, &alignment, sizeof alignment),
            "an alignment");
    };
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, product.b);
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, product.a);
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, product.addend ? product.addend : product.out);
    align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, product.out);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, operation, first.get(), second.get(), addend.get(), out.get(),
                                       preference, 1, &chosen, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0)
      throw Error(concat("cuBLASLt has no way for a ", shape_of(product)));
  }

  Layout first, second, addend, out;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
};

MatrixProducts::MatrixProducts() {
  check(cublasLtCreate(reinterpret_cast<cublasLtHandle_t*>(&handle_)), "a handle");
}

MatrixProducts::~MatrixProducts() {
  if (handle_) cublasLtDestroy(static_cast<cublasLtHandle_t>(handle_));
}

MatrixProducts::MatrixProducts(MatrixProducts&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), plans_(std::move(other.plans_)) {}

MatrixProducts::Key MatrixProducts::key_of(const MatrixProduct& p) {
  const int64_t kinds = (p.a_transposed ? 1 : 0) + (p.b_transposed ? 2 : 0) +
                        (p.out_type == ProductType::kFloat ? 4 : 0) + (p.addend ? 8 : 0);
  return {p.m,
          p.n,
          p.k,
          p.a_stride,
          p.b_stride,
          p.out_stride,
          p.addend ? p.addend_stride : 0,
          p.batch,
          p.a_step,
          p.b_step,
          kinds,
          alignment_of(p.a),
          alignment_of(p.b),
          alignment_of(p.out),
          alignment_of(p.addend ? p.addend : p.out)};
}

MatrixProducts::Plan& MatrixProducts::plan_of(const MatrixProduct& product) {
  std::unique_ptr<Plan>& plan = plans_[key_of(product)];
  if (!plan) {
    auto made = std::make_unique<Plan>(product);
    made->choose(static_cast<cublasLtHandle_t>(handle_), product);
    plan = std::move(made);
  }
  return *plan;
}

void MatrixProducts::run(const MatrixProduct& product, void* workspace, Stream stream) {
  if (product.m == 0 || product.n == 0) return;
  const Plan& plan = plan_of(product);
  const float beta = product.addend ? 1 : 0;
  const void* const addend = product.addend ? product.addend : product.out;
  const cublasStatus_t status = cublasLtMatmul(
      static_cast<cublasLtHandle_t>(handle_), plan.operation, &product.alpha, product.b, plan.first.get(),
      product.a, plan.second.get(), &beta, addend, plan.addend.get(), product.out, plan.out.get(),
      &plan.chosen.algo, workspace, static_cast<size_t>(kWorkspaceBytes), stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(concat("cuBLASLt: ", shape_of(product), ": ", cublasLtGetStatusString(status)));
}

}  // namespace bicrl::gpu
