// Tensors in the memory of the PTX interpreter, and launches of kernels over them.
#pragma once
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "tests/policy_gpu/kernel_texts.h"

namespace bicrl::testing {

class InterpreterTensors {
 public:
  explicit InterpreterTensors(const std::string& file) : interpreter_(interpreter_with(file)) {}

  uint64_t upload(const at::Tensor& x) {
    const at::Tensor whole = x.contiguous();
    const auto* first = static_cast<const char*>(whole.const_data_ptr());
    return interpreter_.upload(std::vector<char>(first, first + whole.nbytes()));
  }
  // Of NaN, so that what is not written shows; integers are -1.
  uint64_t unwritten(at::IntArrayRef shape, at::ScalarType type) {
    return upload(at::full(shape, at::isFloatingType(type) ? NAN : -1.0, type));
  }
  at::Tensor download(uint64_t address, at::IntArrayRef shape, at::ScalarType type) const {
    std::vector<char> bytes = interpreter_.download<char>(address);
    return at::from_blob(bytes.data(), shape, type).clone();
  }
  // The kernel whose symbol holds all of `name`.
  template <class... Arguments>
  void launch(const std::vector<std::string>& name, ptx::Dim3 grid, uint32_t threads,
              const Arguments&... arguments) {
    INFO(name.front());
    CHECK(ptx::testing::fault_text(interpreter_.launch(kernel_named(interpreter_, name), grid,
                                                       {threads, 1, 1}, 0, arguments...)) == "");
  }

 private:
  ptx::testing::KernelRunner interpreter_;
};

// |mine - expected| is at most what rounding to bf16 explains, beside `absolute`.
inline void check_rounded(const std::string& name, const at::Tensor& mine, const at::Tensor& expected,
                          double absolute = 1e-3, double relative = 1.0 / 200) {
  const at::Tensor wide = mine.cpu().to(at::kDouble).nan_to_num(1e30);
  const at::Tensor excess = (wide - expected).abs() - relative * expected.abs();
  INFO(name << ": worst at " << excess.flatten().argmax().item<int64_t>());
  CHECK(excess.max().item<double>() <= absolute);
}

}  // namespace bicrl::testing
