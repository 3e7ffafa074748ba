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
uintptr_t next_handle = 0x100;
cudaStream_t torch_stream = nullptr;
cudaStream_t effective = nullptr;
bool effective_set = false;

cudaStream_t new_stream(bool blocking) {
  const auto handle = reinterpret_cast<cudaStream_t>(next_handle += 8);
  streams()[handle] = {blocking};
  return handle;
}

cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) runtime().last_error = error;
  return error;
}

}  // namespace

bool is_legacy(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }
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
  function(data);
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
  return noted(wait_for_event(stream, event));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(next_handle += 8);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return noted(record_event(event, stream));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return noted(ask_event(event)); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return noted(ask_event(event)); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0.001f;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
