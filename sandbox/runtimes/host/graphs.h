// Captures of the recorded device: which streams one takes, and what it does not bear; and the order of what
// is captured, and of what is not (operation_order.h). Inside of libbicrl_host.so, single-threaded.
#pragma once
#include <string>

#include "bicrl/cuda_api.h"

namespace bicrl {

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
// The host waits for an event, or asks whether it is done: not for one of a capture.
enum class Host { kWaits, kAsks };
cudaError_t ask_event(cudaEvent_t event, Host host);
// The same for a stream.
cudaError_t ask_stream(cudaStream_t stream, Host host);
// The host waits for all that is not captured.
void wait_for_device();
// A call of forward, or the constructor, ends: what is recorded from now on comes after all of it. Says what
// the end comes after in torch's current stream, as order_text() does.
std::string end_of_call();

}  // namespace bicrl
