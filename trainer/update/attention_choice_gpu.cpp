#include <mutex>

#include "common/log.h"
#include "policy/gpu/pack_attention/kernel_attention.h"
#include "trainer/update/attention_choice.h"

namespace bicrl {

std::unique_ptr<AttentionBackend> choose_attention(const AttentionShape& shape) {
  const std::string refusal = gpu::kernel_attention_refusal(shape);
  if (refusal.empty()) return gpu::kernel_attention(shape);
  static std::once_flag logged;
  if (shape.device.is_cuda())
    std::call_once(logged, [&] {
      log_warning("there are no attention kernels for ", refusal,
                  ": torch's operators compute attention, about 30 times as slowly (bench/update.md)");
    });
  return operator_attention(shape);
}

}  // namespace bicrl
