#include "streams.h"

#include <map>

namespace bicrl {
namespace {

std::map<cudaStream_t, bool>& streams() {  // whether they are blocking
  static std::map<cudaStream_t, bool> all = {{cudaStreamPerThread, true}};
  return all;
}
std::map<cudaEvent_t, bool>& events() {  // whether they keep times
  static std::map<cudaEvent_t, bool> all;
  return all;
}
uintptr_t next_handle = 0x100;
cudaStream_t torch_stream = nullptr;
cudaStream_t effective = nullptr;
bool effective_set = false;
bool in_host_function = false;

}  // namespace

bool is_legacy(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }
bool is_stream(cudaStream_t stream) { return is_legacy(stream) || streams().count(stream); }
bool is_blocking(cudaStream_t stream) {
  const auto found = streams().find(stream);
  return found != streams().end() && found->second;
}
cudaStream_t new_stream(bool blocking) {
  const auto handle = reinterpret_cast<cudaStream_t>(next_handle += 8);
  streams()[handle] = blocking;
  return handle;
}
bool forget_stream(cudaStream_t stream) { return streams().erase(stream) > 0; }

cudaEvent_t new_event(bool keeps_time) {
  const auto handle = reinterpret_cast<cudaEvent_t>(next_handle += 8);
  events()[handle] = keeps_time;
  return handle;
}
bool is_event(cudaEvent_t event) { return events().count(event) > 0; }
bool keeps_time(cudaEvent_t event) { return is_event(event) && events().at(event); }
bool forget_event(cudaEvent_t event) { return events().erase(event) > 0; }

cudaStream_t current_stream() { return torch_stream; }
void set_current_stream(cudaStream_t stream) { torch_stream = stream; }
cudaStream_t pool_stream() { return new_stream(false); }

bool may_call() { return !in_host_function; }
void run_host_function(void (*function)(void*), void* data) {
  in_host_function = true;
  function(data);
  in_host_function = false;
}

OnStream::OnStream(cudaStream_t stream) : before_(effective), set_before_(effective_set) {
  effective = stream;
  effective_set = true;
}
OnStream::~OnStream() {
  effective = before_;
  effective_set = set_before_;
}
cudaStream_t stream_in_effect() { return effective_set ? effective : torch_stream; }

}  // namespace bicrl
