// CUDA graphs around plain launches: what goes to a captured stream is kept, and is recorded into the trace
// at each launch of the graph; what goes to other streams meanwhile is recorded at once. Which streams a
// capture takes and what ends it: CUDA Programming Guide, "CUDA Graphs", and the runtime API's stream
// management.
#include "graphs.h"

#include <algorithm>
#include <map>
#include <memory>

#include "runtime.h"
#include "streams.h"

namespace bicrl {
namespace {

// Bounds a trace; each costs some hundred bytes.
constexpr uint64_t kMaxOperations = 200000;

using Graph = std::vector<std::string>;  // operations
// How much work of each stream comes before a point in order.
using Before = std::map<cudaStream_t, uint64_t>;

struct Capture {
  uint64_t number;  // of all captures, from 1; events name theirs by it
  cudaStream_t origin;
  bool strict;        // calls that may wait for the device are refused, too
  bool valid = true;  // nothing has spoilt it
  std::map<cudaStream_t, Before> streams;
  Graph operations;
};

struct Event {
  uint64_t capture = 0;  // 0: recorded outside of captures
  Before before;
};

std::vector<std::unique_ptr<Capture>> captures;  // under way
uint64_t captures_begun = 0;
std::map<cudaEvent_t, Event> events;  // recorded ones
// Graphs and their executables, which hold what their graph held. Handles are numbers from 1: a candidate may
// pass anything. What was destroyed is null.
using Graphs = std::vector<std::shared_ptr<const Graph>>;
Graphs graphs, executables;

std::shared_ptr<const Graph>* entry_of(Graphs& all, const void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  return number >= 1 && number <= all.size() && all[number - 1] ? &all[number - 1] : nullptr;
}

Capture* capture_of(cudaStream_t stream) {
  for (const auto& capture : captures)
    if (capture->streams.count(stream)) return capture.get();
  return nullptr;
}

// Every stream's work must come before the end of the stream that the capture began with.
bool is_joined(const Capture& capture) {
  const Before& end = capture.streams.at(capture.origin);
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const auto& stream) {
    const auto own = stream.second.find(stream.first);
    const auto seen = end.find(stream.first);
    return own == stream.second.end() || (seen != end.end() && seen->second >= own->second);
  });
}

}  // namespace

void record_operation(std::string json) {
  const cudaStream_t stream = stream_in_effect();
  if (admit(stream) != cudaSuccess) return;
  Capture* capture = capture_of(stream);
  std::vector<std::string>& ops = capture ? capture->operations : runtime().ops;
  if (ops.size() >= kMaxOperations) raise_fault("timeout", "the program launches too many kernels");
  if (capture) ++capture->streams[stream][stream];
  ops.push_back(std::move(json));
}

bool is_captured(cudaStream_t stream) { return capture_of(stream) != nullptr; }

cudaError_t admit(cudaStream_t stream) {
  if (!may_call()) return cudaErrorNotPermitted;
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (const Capture* capture = capture_of(stream))
    return capture->valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
  if (!is_legacy(stream)) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for (const auto& capture : captures)
    for (const auto& [captured, before] : capture->streams)
      if (is_blocking(captured)) {
        capture->valid = false;
        error = cudaErrorStreamCaptureImplicit;
      }
  return error;
}

cudaError_t refuse_in_captures(bool waits) {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : captures)
    if (waits || capture->strict) {
      capture->valid = false;
      error = cudaErrorStreamCaptureUnsupported;
    }
  return error;
}

cudaError_t record_event(cudaEvent_t event, cudaStream_t stream) {
  const cudaError_t error = admit(stream);
  if (error != cudaSuccess) return error;
  const Capture* capture = capture_of(stream);
  events[event] = capture ? Event{capture->number, capture->streams.at(stream)} : Event{};
  return cudaSuccess;
}

cudaError_t wait_for_event(cudaStream_t stream, cudaEvent_t event) {
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  const auto found = events.find(event);
  if (found == events.end()) return cudaSuccess;  // never recorded: there is nothing to wait for
  const auto owner = std::find_if(captures.begin(), captures.end(), [&](const auto& capture) {
    return capture->number == found->second.capture;
  });
  Capture* own = capture_of(stream);
  if (owner == captures.end()) {
    if (found->second.capture) return cudaErrorCapturedEvent;
    if (own) own->valid = false;  // it would depend on what is not in the graph
    return own ? cudaErrorStreamCaptureIsolation : cudaSuccess;
  }
  if (is_legacy(stream)) {
    (*owner)->valid = false;
    return cudaErrorStreamCaptureImplicit;
  }
  if (own && own != owner->get()) {
    own->valid = (*owner)->valid = false;
    return cudaErrorStreamCaptureMerge;
  }
  Before& before = (*owner)->streams[stream];
  for (const auto& [of, count] : found->second.before) before[of] = std::max(before[of], count);
  return cudaSuccess;
}

bool was_recorded(cudaEvent_t event) { return events.count(event) > 0; }

cudaError_t ask_event(cudaEvent_t event) {
  const auto found = events.find(event);
  if (found == events.end() || !found->second.capture) return cudaSuccess;
  for (const auto& capture : captures)
    if (capture->number == found->second.capture) capture->valid = false;
  return cudaErrorCapturedEvent;
}

cudaError_t ask_stream(cudaStream_t stream) {
  const cudaError_t error = admit(stream);
  Capture* capture = capture_of(stream);
  if (error != cudaSuccess || !capture) return error;
  capture->valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

}  // namespace bicrl

using namespace bicrl;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (is_legacy(stream)) return noted(cudaErrorStreamCaptureUnsupported);
  if (!is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  if (capture_of(stream)) return noted(cudaErrorIllegalState);
  captures.push_back(std::make_unique<Capture>(
      Capture{++captures_begun, stream, mode != cudaStreamCaptureModeRelaxed, true, {{stream, {}}}, {}}));
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  Capture* capture = capture_of(stream);
  if (!capture) return noted(cudaErrorIllegalState);
  cudaError_t error = cudaSuccess;
  if (!capture->valid) error = cudaErrorStreamCaptureInvalidated;
  if (error == cudaSuccess && stream != capture->origin) error = cudaErrorStreamCaptureUnmatched;
  if (error == cudaSuccess && !is_joined(*capture)) error = cudaErrorStreamCaptureUnjoined;
  if (error == cudaSuccess) {
    graphs.push_back(std::make_shared<const Graph>(std::move(capture->operations)));
    *graph = reinterpret_cast<cudaGraph_t>(graphs.size());
  }
  std::erase_if(captures, [&](const auto& one) { return one.get() == capture; });
  return noted(error);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Capture* capture = capture_of(stream);
  *status = !capture         ? cudaStreamCaptureStatusNone
            : capture->valid ? cudaStreamCaptureStatusActive
                             : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  const auto* entry = entry_of(graphs, graph);
  if (!entry) return noted(cudaErrorInvalidValue);
  executables.push_back(*entry);
  *executable = reinterpret_cast<cudaGraphExec_t>(executables.size());
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const auto* entry = entry_of(executables, executable);
  if (!entry) return noted(cudaErrorInvalidValue);
  const cudaError_t error = admit(stream);
  if (error != cudaSuccess) return noted(error);
  const OnStream on(stream);
  for (const std::string& op : **entry) record_operation(op);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  auto* entry = entry_of(graphs, graph);
  if (!entry) return noted(cudaErrorInvalidValue);
  entry->reset();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  auto* entry = entry_of(executables, executable);
  if (!entry) return noted(cudaErrorInvalidValue);
  entry->reset();
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
  return entry_of(executables, executable) ? cudaSuccess : noted(cudaErrorInvalidValue);
}
