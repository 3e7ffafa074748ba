// AdamW's kernels against the formulas in fp64, in the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/interpreter_tensors.h"
#include "trainer/update/gpu/optimizer_kernels.h"

namespace bicrl {
namespace {

using namespace testing;

constexpr double kBeta1 = 0.9, kBeta2 = 0.99, kDecay = 0.999, kRate = 1e-2, kRoot = 3;
constexpr float kEps = 1e-6f;

struct StepCase {
  StepCase(int64_t its_count, double its_max_norm, bool its_finite)
      : count(its_count), max_norm(its_max_norm), is_finite(its_finite) {
    at::manual_seed(3);
    gradient = at::randn({count});
    if (!is_finite) gradient[count / 2] = NAN;
    master = at::randn({count});
    first = at::randn({count});
    second = at::rand({count});
    const at::Tensor wide = gradient.to(at::kDouble);
    norm = wide.norm().item<double>();
    factor = max_norm == 0 || norm <= max_norm ? 1 : max_norm / (norm + 1e-6);
    const at::Tensor g = wide * factor;
    new_first = first.to(at::kDouble) * kBeta1 + (1 - kBeta1) * g;
    new_second = second.to(at::kDouble) * kBeta2 + (1 - kBeta2) * g * g;
    new_master = master.to(at::kDouble) * kDecay - kRate * new_first / (new_second.sqrt() * kRoot + kEps);
  }
  struct Results {
    at::Tensor gradient, master, first, second, policy, norm, factor, largest;
  };
  void check(const Results& r) const {
    CHECK(at::equal(r.gradient.cpu(), at::zeros({count})));
    const auto largest = std::bit_cast<float>(r.largest.cpu().item<int32_t>());
    if (!is_finite) {
      CHECK_FALSE(std::isfinite(r.norm.item<double>()));
      CHECK(r.factor.item<float>() < 0);
      CHECK(at::equal(r.master.cpu(), master));
      CHECK(at::equal(r.first.cpu(), first));
      CHECK(at::equal(r.second.cpu(), second));
      CHECK(at::equal(r.policy.cpu(), at::zeros({count}, at::kBFloat16)));
      CHECK(largest == master.to(at::kBFloat16).abs().max().item<float>());
      return;
    }
    CHECK(std::abs(r.norm.item<double>() - norm) < 1e-6 * norm);
    CHECK(std::abs(r.factor.item<float>() - factor) < 1e-6 * factor);
    check_rounded("values", r.master, new_master, 1e-6, 1e-6);
    check_rounded("first moment", r.first, new_first, 1e-6, 1e-6);
    check_rounded("second moment", r.second, new_second, 1e-6, 1e-6);
    CHECK(at::equal(r.policy.cpu(), r.master.cpu().to(at::kBFloat16)));
    CHECK(largest == r.policy.abs().max().item<float>());
  }

  int64_t count;
  double max_norm;
  bool is_finite;
  double norm = 0, factor = 0;
  at::Tensor gradient, master, first, second, new_first, new_second, new_master;
};

}  // namespace

TEST_CASE("AdamW's kernels equal the formulas in fp64, in the PTX interpreter", "[optimizer_kernels]") {
  const StepCase work = GENERATE(StepCase(4100, 1.0, true), StepCase(4100, 0, true),
                                 StepCase(1003, 1e9, true), StepCase(4100, 1.0, false));
  INFO(work.count << " values, norm of at most " << work.max_norm);
  InterpreterTensors interpreter("optimizer_kernels");
  const auto type = at::kDouble;
  const uint64_t gradient = interpreter.upload(work.gradient),
                 parts = interpreter.unwritten({gpu::kSquareParts}, type),
                 squares = interpreter.unwritten({1}, type), norm = interpreter.unwritten({1}, type),
                 factor = interpreter.unwritten({1}, at::kFloat);
  interpreter.launch({"sum_squares_part"}, {static_cast<uint32_t>(gpu::kSquareParts), 1, 1}, 256, gradient,
                     work.count, parts);
  interpreter.launch({"clip_factor_block"}, {1, 1, 1}, 256, parts, int32_t{1}, work.max_norm, squares, norm,
                     factor);
  const uint64_t policy = interpreter.upload(at::zeros({work.count}, at::kBFloat16)),
                 largest = interpreter.upload(at::zeros({1}, at::kInt));
  struct {
    int64_t count;
    uint64_t gradient, master, first, second, policy;
    float beta1, beta2, eps, decay, rate, inverse_root;
    uint64_t factor, largest;
  } const step = {work.count,
                  gradient,
                  interpreter.upload(work.master),
                  interpreter.upload(work.first),
                  interpreter.upload(work.second),
                  policy,
                  static_cast<float>(kBeta1),
                  static_cast<float>(kBeta2),
                  kEps,
                  static_cast<float>(kDecay),
                  static_cast<float>(kRate),
                  static_cast<float>(kRoot),
                  factor,
                  largest};
  const bool in_fours = work.count % 4 == 0;
  const int64_t threads = in_fours ? work.count / 4 : work.count;
  interpreter.launch({"adamw_values", in_fours ? "Li4E" : "Li1E"},
                     {static_cast<uint32_t>((threads + 255) / 256), 1, 1}, 256, step);
  const auto values = [&](uint64_t address, at::ScalarType of = at::kFloat) {
    return interpreter.download(address, {work.count}, of);
  };
  work.check({values(gradient), values(step.master), values(step.first), values(step.second),
              values(policy, at::kBFloat16), interpreter.download(norm, {1}, type),
              interpreter.download(factor, {1}, at::kFloat), interpreter.download(largest, {1}, at::kInt)});
}

TEST_CASE("AdamW's kernels equal the formulas in fp64, on a GPU", "[optimizer_kernels][gpu]") {
  require_gpu();
  const StepCase work = GENERATE(StepCase(9'000'000, 1.0, true), StepCase(4100, 0, true),
                                 StepCase(1003, 1e9, true), StepCase(4100, 1.0, false));
  const gpu::Stream stream = current_stream();
  const auto fp32 = [](const at::Tensor& x) { return x.mutable_data_ptr<float>(); };
  const auto fp64 = [](const at::Tensor& x) { return x.mutable_data_ptr<double>(); };
  const at::Tensor gradient = on_gpu(work.gradient), master = on_gpu(work.master), first = on_gpu(work.first),
                   second = on_gpu(work.second), policy = on_gpu(at::zeros({work.count}, at::kBFloat16)),
                   parts = on_gpu(at::full({gpu::kSquareParts}, NAN, at::kDouble)),
                   squares = at::zeros({1}, parts.options()), norm = at::zeros({1}, parts.options()),
                   factor = on_gpu(at::zeros({1})), largest = on_gpu(at::zeros({1}, at::kInt));
  gpu::sum_squares(fp32(gradient), work.count, fp64(parts), stream);
  gpu::clip_factor({.arrays = 1,
                    .parts = fp64(parts),
                    .max_norm = work.max_norm,
                    .squares = fp64(squares),
                    .norm = fp64(norm),
                    .factor = fp32(factor)},
                   stream);
  gpu::adamw_step({.count = work.count,
                   .gradient = fp32(gradient),
                   .master = fp32(master),
                   .first = fp32(first),
                   .second = fp32(second),
                   .policy = bf16(policy),
                   .beta1 = static_cast<float>(kBeta1),
                   .beta2 = static_cast<float>(kBeta2),
                   .eps = kEps,
                   .decay = static_cast<float>(kDecay),
                   .rate = static_cast<float>(kRate),
                   .inverse_root = static_cast<float>(kRoot),
                   .factor = fp32(factor),
                   .largest = largest.mutable_data_ptr<int32_t>()},
                  stream);
  work.check({gradient, master, first, second, policy, norm, factor, largest});
}

}  // namespace bicrl
