#include "rollout/gpu/recorded_launches.h"

#include <c10/cuda/CUDAGuard.h>

namespace bicrl {

void RecordedLaunches::run(at::cuda::MempoolId_t pool, const std::function<void()>& launches) {
  if (!warm_) {
    launches();
    warm_ = true;
    return;
  }
  if (!graph_) {
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    // The default stream cannot be recorded.
    const c10::cuda::CUDAStreamGuard aside(c10::cuda::getStreamFromPool());
    graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
    launches();
    graph->capture_end();
    graph_ = std::move(graph);
  }
  graph_->replay();
}

}  // namespace bicrl
