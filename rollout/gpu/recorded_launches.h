// Launches of one shape that are asked for again and again: recorded as a CUDA graph, which is started at
// once instead of one by one. Not thread-safe.
#pragma once
#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>

namespace bicrl {

class RecordedLaunches {
 public:
  // On the current stream: the first time as they are, so that libraries have what they make when they are
  // first used; the second time recorded, then as recorded. `launches` works on memory that stays where it
  // is; what it allocates comes from `pool`, which graphs that never run at the same time may share.
  void run(at::cuda::MempoolId_t pool, const std::function<void()>& launches);

 private:
  bool warm_ = false;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace bicrl
