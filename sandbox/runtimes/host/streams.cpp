#include "streams.h"

#include <map>

#include "runtime.h"

namespace bicrl {
namespace {

struct Stream {
  bool blocking = true;  // waits for the legacy stream, and is waited for
};

// Handles are numbers: a candidate may pass anything.
std::map<cudaStream_t, Stream>& streams() {
  static std::map<cudaStream_t, Stream> all = {{cudaStreamPerThread, {}}};
  return all;
}
// By handle: whether it keeps times.
std::map<cudaEvent_t, bool>& events() {
  static std::map<cudaEvent_t, bool> all;
  return all;
}
uintptr_t next_handle = 0x100;
cudaStream_t torch_stream = nullptr;
cudaStream_t effective = nullptr;
bool effective_set = false;
bool in_host_function = false;  // which must not call the runtime

cudaStream_t new_stream(bool blocking) {
  const auto handle = reinterpret_cast<cudaStream_t>(next_handle += 8);
  streams()[handle] = {blocking};
  return handle;
}

bool is_event(cudaEvent_t event) { return events().count(event) > 0; }

cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) runtime().last_error = error;
  return error;
}

}  // namespace

bool is_legacy(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }
bool may_call() { return !in_host_function; }
bool is_stream(cudaStream_t stream) { return is_legacy(stream) || streams().count(stream); }
bool is_blocking(cudaStream_t stream) {
  const auto found = streams().find(stream);
  return found != streams().end() && found->second.blocking;
}

cudaStream_t current_stream() { return torch_stream; }
void set_current_stream(cudaStream_t stream) { torch_stream = stream; }
cudaStream_t pool_stream() { return new_stream(false); }

OnStream::OnStream(cudaStream_t stream) : before_(effective), set_before_(effective_set) {
  effective = stream;
  effective_set = true;
}
OnStream::~OnStream() {
  effective = before_;
  effective_set = set_before_;
}
cudaStream_t stream_in_effect() { return effective_set ? effective : torch_stream; }

cudaError_t launch_host_function(cudaStream_t stream, void (*function)(void*), void* data) {
  const cudaError_t error = admit(stream);
  if (error != cudaSuccess) return noted(error);
  if (is_captured(stream)) raise_fault("unsupported", "cudaLaunchHostFunc in a captured stream");
  in_host_function = true;
  function(data);
  in_host_function = false;
  return cudaSuccess;
}

}  // namespace bicrl

using namespace bicrl;

extern "C" {
cudaError_t cudaDeviceSynchronize() { return noted(refuse_in_captures(true)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return noted(ask_stream(stream)); }
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return noted(ask_stream(stream)); }
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = new_stream(true);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags > cudaStreamNonBlocking) return noted(cudaErrorInvalidValue);
  *stream = new_stream(flags != cudaStreamNonBlocking);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return streams().erase(stream) ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return noted(is_event(event) ? wait_for_event(stream, event) : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = reinterpret_cast<cudaEvent_t>(next_handle += 8);
  events()[*event] = !(flags & cudaEventDisableTiming);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return noted(is_event(event) ? record_event(event, stream) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return noted(is_event(event) ? ask_event(event) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
  for (const cudaEvent_t event : {start, stop})
    if (!is_event(event) || !events()[event] || !was_recorded(event))
      return noted(cudaErrorInvalidResourceHandle);
  *ms = 0.001f;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return events().erase(event) ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}
