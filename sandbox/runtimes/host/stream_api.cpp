// The CUDA runtime API of streams and events.
#include "graphs.h"
#include "runtime.h"
#include "streams.h"

namespace bicrl {
namespace {
// That something is not done is an answer and no error.
cudaError_t answered(cudaError_t error) { return error == cudaErrorNotReady ? error : noted(error); }
}  // namespace

cudaError_t launch_host_function(cudaStream_t stream, void (*function)(void*), void* data) {
  const cudaError_t error = admit(stream);
  if (error != cudaSuccess) return noted(error);
  if (is_captured(stream)) raise_fault("unsupported", "cudaLaunchHostFunc in a captured stream");
  run_host_function(function, data);
  return cudaSuccess;
}

}  // namespace bicrl

using namespace bicrl;

extern "C" {
cudaError_t cudaDeviceSynchronize() {
  const cudaError_t refusal = refuse_in_captures(true);
  if (refusal == cudaSuccess) wait_for_device();
  return noted(refusal);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return noted(ask_stream(stream, Host::kWaits)); }
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return answered(ask_stream(stream, Host::kAsks)); }
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
  return forget_stream(stream) ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return noted(is_event(event) ? wait_for_event(stream, event) : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new_event(!(flags & cudaEventDisableTiming));
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
  return noted(is_event(event) ? ask_event(event, Host::kWaits) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return answered(is_event(event) ? ask_event(event, Host::kAsks) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
  for (const cudaEvent_t event : {start, stop})
    if (!keeps_time(event) || !was_recorded(event)) return noted(cudaErrorInvalidResourceHandle);
  *ms = 0.001f;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return forget_event(event) ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}
