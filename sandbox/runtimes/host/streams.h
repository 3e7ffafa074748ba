// Streams and events of the recorded device. A trace keeps the order of the program; where a device need not
// keep it, operation_order.h says so. Captures take the work of some streams (graphs.h). Handles are numbers:
// a candidate may pass anything. Inside of libbicrl_host.so, single-threaded.
#pragma once
#include "bicrl/cuda_api.h"

namespace bicrl {

bool is_legacy(cudaStream_t stream);
// A stream that this process made, and what its flags say.
bool is_stream(cudaStream_t stream);
bool is_blocking(cudaStream_t stream);
// A blocking one waits for the legacy stream, and is waited for.
cudaStream_t new_stream(bool blocking);
bool forget_stream(cudaStream_t stream);  // false: there was none

cudaEvent_t new_event(bool keeps_time);
bool is_event(cudaEvent_t event);
bool keeps_time(cudaEvent_t event);
bool forget_event(cudaEvent_t event);

// Not from within a host function that a stream runs.
bool may_call();
void run_host_function(void (*function)(void*), void* data);

// Where what is recorded goes while the object lives; otherwise it is torch's current stream.
class OnStream {
 public:
  explicit OnStream(cudaStream_t stream);
  ~OnStream();
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  cudaStream_t before_;
  bool set_before_;
};
cudaStream_t stream_in_effect();

}  // namespace bicrl
