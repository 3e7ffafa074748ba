// Values that tests of tensor planes exchange, and the messages of errors. To be included behind torch.
#pragma once
#include <ATen/ATen.h>

#include <functional>
#include <string>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl::testing {

// What rank `rank` has in an operation, known to all; on the CPU.
inline at::Tensor values_of(int rank, int64_t size, at::ScalarType type) {
  at::Tensor x = at::empty({size}, at::kDouble);
  RandomStream random(mix_key({17, static_cast<uint64_t>(rank), static_cast<uint64_t>(size)}));
  auto* out = x.mutable_data_ptr<double>();
  for (int64_t i = 0; i < size; ++i) out[i] = 1000 * random.normal();
  return x.to(type);
}

// Of the Error that it throws.
inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace bicrl::testing
