// Launches of one shape that are asked for again and again: recorded as a CUDA graph, which is started at
// once instead of one by one. Not thread-safe.
#pragma once
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <memory>

namespace bicrl {

// Where launches of a device are recorded. Recordings of one recorder share memory, so no two of them run at
// a time. A pool whose recordings are all gone takes no new one.
struct LaunchRecorder {
  explicit LaunchRecorder(at::Device device)
      : stream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}

  at::cuda::MempoolId_t pool = at::cuda::graph_pool_handle();
  // The default stream cannot be recorded; libraries have a workspace for each stream that they see.
  c10::cuda::CUDAStream stream;
};

class RecordedLaunches {
 public:
  // On the current stream: the first time as they are, so that libraries have what they make when they are
  // first used; the second time recorded, then as recorded. `launches` works on memory that stays where it
  // is, but for what it allocates itself.
  void run(const LaunchRecorder& recorder, const std::function<void()>& launches);
  bool recorded() const { return graph_ != nullptr; }

 private:
  bool warm_ = false;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

}  // namespace bicrl
