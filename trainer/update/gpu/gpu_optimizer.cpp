#include "trainer/update/gpu/gpu_optimizer.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/error.h"
#include "policy/gpu/tensor_pointers.h"
#include "trainer/update/gpu/optimizer_kernels.h"

namespace bicrl {
namespace {

double* fp64(const at::Tensor& x) { return x.mutable_data_ptr<double>(); }

}  // namespace

bool GpuOptimizer::supports(const ParameterStore& store) {
  return store.device().is_cuda() && (store.dtype() == at::kBFloat16 || store.dtype() == at::kFloat);
}

GpuOptimizer::GpuOptimizer(ParameterStore& store) : store_(store) {
  const auto options = at::TensorOptions().device(store.device());
  const int64_t arrays = store.shard().count * store.layout().group_count();
  parts_ = at::empty({arrays, gpu::kSquareParts}, options.dtype(at::kDouble));
  squares_ = at::empty({arrays}, options.dtype(at::kDouble));
  norm_ = at::zeros({1}, options.dtype(at::kDouble));
  factor_ = at::zeros({1}, options.dtype(at::kFloat));
  largest_ = at::zeros({1}, options.dtype(at::kInt));
  host_ = at::zeros({2}, at::TensorOptions().dtype(at::kDouble).pinned_memory(true));
}

void GpuOptimizer::sum_squares_of(int64_t first_shard, int64_t end_shard, PartExtent summed) {
  const int64_t groups = store_.layout().group_count();
  int64_t next = 0;
  for (int64_t shard = first_shard; shard < end_shard; ++shard)
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t size = store_.shard_size(g);
      const at::Tensor values =
          summed == PartExtent::kWhole
              ? store_.group_part(ParameterPart::kGradient, g).narrow(0, shard * size, size)
              : store_.my_part(ParameterPart::kGradient, g);
      gpu::sum_squares(gpu::fp32(values), size, fp64(parts_) + next++ * gpu::kSquareParts,
                       gpu::current_stream());
    }
}

void GpuOptimizer::find_factor(double max_norm, int64_t arrays) {
  gpu::clip_factor({.arrays = arrays,
                    .parts = fp64(parts_),
                    .max_norm = max_norm,
                    .squares = fp64(squares_),
                    .norm = fp64(norm_),
                    .factor = gpu::fp32(factor_)},
                   gpu::current_stream());
}

// This rank's sums are those of its shard, by group; everybody needs all of them.
void GpuOptimizer::exchange_squares(ControlPlane& control) {
  const int64_t groups = store_.layout().group_count(), shards = store_.shard().count;
  const at::Tensor mine = squares_.narrow(0, 0, groups).to(at::kCPU);
  const auto all = control.all_gather({static_cast<const char*>(mine.const_data_ptr()), mine.nbytes()});
  // As sums of one part each, so that the same kernel adds them up.
  const at::Tensor parts = at::zeros({shards * groups, gpu::kSquareParts}, at::kDouble);
  auto cells = parts.accessor<double, 2>();
  for (int64_t shard = 0; shard < shards; ++shard) {
    const std::string& squares = all[static_cast<size_t>(shard)];
    BICRL_CHECK(squares.size() == static_cast<size_t>(groups) * sizeof(double));
    for (int64_t g = 0; g < groups; ++g)
      std::memcpy(&cells[shard * groups + g][0], squares.data() + static_cast<size_t>(g) * sizeof(double),
                  sizeof(double));
  }
  parts_.copy_(parts);
}

void GpuOptimizer::measure(double max_norm, PartExtent summed, ControlPlane& control) {
  const int64_t shards = store_.shard().count, rank = store_.shard().rank;
  const bool is_whole = summed == PartExtent::kWhole;
  sum_squares_of(is_whole ? 0 : rank, is_whole ? shards : rank + 1, summed);
  const int64_t arrays = (is_whole ? shards : 1) * store_.layout().group_count();
  find_factor(max_norm, arrays);
  if (!is_whole) {
    exchange_squares(control);
    find_factor(max_norm, shards * store_.layout().group_count());
  }
  largest_.zero_();
}

void GpuOptimizer::step(const AdamWState& s, const AdamWNumbers& n) {
  gpu::adamw_step({.count = s.master.numel(),
                   .gradient = gpu::fp32(s.gradient),
                   .master = gpu::fp32(s.master),
                   .first = gpu::fp32(s.first),
                   .second = gpu::fp32(s.second),
                   .policy = gpu::bf16(s.policy),
                   .beta1 = static_cast<float>(n.beta1),
                   .beta2 = static_cast<float>(n.beta2),
                   .eps = static_cast<float>(n.eps),
                   .decay = static_cast<float>(1 - n.decay),
                   .rate = static_cast<float>(n.learning_rate / n.correction1),
                   .inverse_root = static_cast<float>(1 / std::sqrt(n.correction2)),
                   .factor = gpu::fp32(factor_),
                   .largest = largest_.mutable_data_ptr<int32_t>()},
                  gpu::current_stream());
}

void GpuOptimizer::finish() {
  host_.copy_(at::cat({norm_, largest_.view(at::kFloat).to(at::kDouble)}), /*non_blocking=*/true);
  finished_.record(c10::cuda::getCurrentCUDAStream().unwrap());
}

FusedOptimizer::Outcome GpuOptimizer::outcome() {
  finished_.synchronize();
  const double* values = host_.const_data_ptr<double>();
  return {values[0], std::isfinite(values[0]), values[1]};
}

}  // namespace bicrl
