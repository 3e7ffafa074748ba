#include "rollout/gpu/recorded_launches.h"

#include <c10/cuda/CUDAGuard.h>

namespace bicrl {

void RecordedLaunches::run(const LaunchRecorder& recorder, const std::function<void()>& launches) {
  if (!warm_) {
    launches();
    warm_ = true;
    return;
  }
  if (!graph_) {
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    const c10::cuda::CUDAStreamGuard aside(recorder.stream);
    graph->capture_begin(recorder.pool, cudaStreamCaptureModeThreadLocal);
    launches();
    graph->capture_end();
    graph_ = std::move(graph);
  }
  graph_->replay();
}

}  // namespace bicrl
