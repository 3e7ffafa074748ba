#include "policy/gpu/head/sampling.cuh"

#include "policy/gpu/head/rejected.cuh"
#include "policy/gpu/launch_check.h"

namespace bicrl::gpu {

void sample_rows(const SampleRows& work, Stream stream) {
  if (work.rows == 0) return;
  sample_row<<<static_cast<unsigned>(work.rows), kSampleThreads, 0, stream>>>(work);
  check_launch("sample_rows");
}

void accept_drawn(const AcceptDrawn& work, Stream stream) {
  if (work.rows == 0) return;
  constexpr int kThreads = 128;
  const auto blocks = static_cast<unsigned>((work.rows + kThreads - 1) / kThreads);
  accept_position<<<blocks, kThreads, 0, stream>>>(work);
  check_launch("accept_drawn");
}

void rejected_rows(const RejectedRows& work, Stream stream) {
  if (work.rows == 0) return;
  rejected_row<<<static_cast<unsigned>(work.rows), kSampleThreads, 0, stream>>>(work);
  check_launch("rejected_rows");
}

}  // namespace bicrl::gpu
