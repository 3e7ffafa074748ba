// Streams, events and captures of the recorded device. A trace keeps the order of the program, so a stream
// matters where torch asks for its current one, and where a capture takes the work of some streams and leaves
// that of others. Inside of libbicrl_host.so, single-threaded.
#pragma once
#include <string>

#include "bicrl/cuda_api.h"

namespace bicrl {

// Not from within a host function that a stream runs.
bool may_call();
bool is_legacy(cudaStream_t stream);
// A stream that this process made, and what its flags say.
bool is_stream(cudaStream_t stream);
bool is_blocking(cudaStream_t stream);

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

// ---- graphs.cpp: captures.
// Whether a device takes work on the stream now: not on one that it does not know, nor on the legacy stream
// while a stream is captured that waits for it; this ends the capture, as on a device.
cudaError_t admit(cudaStream_t stream);
// A call that waits for the device, or frees or allocates on it: an error that ends the captures in which it
// is not allowed. `waits`: it is allowed in none.
cudaError_t refuse_in_captures(bool waits);
bool is_captured(cudaStream_t stream);
// An event has taken the stream's place in order; a stream waits for it.
cudaError_t record_event(cudaEvent_t event, cudaStream_t stream);
cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event);
bool was_recorded(cudaEvent_t event);
// The host waits for an event or asks for it: not for one of a capture.
cudaError_t ask_event(cudaEvent_t event);
// The same for a stream.
cudaError_t ask_stream(cudaStream_t stream);

}  // namespace bicrl
