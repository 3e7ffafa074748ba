#include "policy/attention/step_buffer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace bicrl {

int64_t StepBuffer::place(int64_t bytes) {
  constexpr int64_t kAlignment = 64;
  BICRL_CHECK(memory_ == nullptr, "the buffer is allocated already");
  const int64_t offset = bytes_;
  bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return offset;
}

void StepBuffer::allocate() {
  BICRL_CHECK(memory_ == nullptr && bytes_ > 0);
  const auto bytes = at::TensorOptions().dtype(at::kByte);
  host_ = at::zeros({bytes_}, bytes.pinned_memory(!device_.is_cpu()));
  on_device_ = device_.is_cpu() ? host_ : at::empty({bytes_}, bytes.device(device_));
  memory_ = static_cast<char*>(host_.mutable_data_ptr());
}

void StepBuffer::upload() {
  // Not behind the host's back: a forward that draws nothing is over before its inputs are read.
  if (!device_.is_cpu()) on_device_.copy_(host_);
}

void StepBuffer::upload_behind() {
  if (!device_.is_cpu()) on_device_.copy_(host_, /*non_blocking=*/true);
}

}  // namespace bicrl
