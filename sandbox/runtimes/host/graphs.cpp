// CUDA graphs around plain launches: what goes to a captured stream is kept, and is recorded into the trace
// at each launch of the graph; what goes to other streams meanwhile is recorded at once. Which streams a
// capture takes and what ends it: CUDA Programming Guide, "CUDA Graphs", and the runtime API's stream
// management.
#include "graphs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "operation_order.h"
#include "runtime.h"
#include "streams.h"

namespace bicrl {
namespace {

// Bounds a trace; each costs some hundred bytes.
constexpr uint64_t kMaxOperations = 200000;

struct Operation {
  std::string json;
  size_t lane = 0;            // of those of the graph
  std::vector<size_t> after;  // how far before it those stand that it comes directly after
};
using Graph = std::vector<Operation>;

// Numbers for lanes in the order of their first operations.
class LaneNumbers {
 public:
  explicit LaneNumbers(size_t first) : next_(first) {}
  size_t of(const Lane& lane) {
    const auto [at, is_new] = numbers_.try_emplace(lane, next_);
    if (is_new) ++next_;
    return at->second;
  }

 private:
  std::map<Lane, size_t> numbers_;
  size_t next_;
};

struct Capture {
  uint64_t number;  // of all captures, from 1; events name theirs by it
  cudaStream_t origin;
  bool strict;        // calls that may wait for the device are refused, too
  bool valid = true;  // nothing has spoilt it
  std::set<cudaStream_t> streams;
  Graph operations;
  OperationOrder order{};
  LaneNumbers lanes{0};
};

struct Event {
  uint64_t capture = 0;  // 0: recorded outside of captures
  Frontier point;        // among the operations of the capture, or of the call
};

std::vector<std::unique_ptr<Capture>> captures;  // under way
uint64_t captures_begun = 0;
std::map<cudaEvent_t, Event> events;  // recorded ones
OperationOrder call_order;            // of the call's operations
LaneNumbers call_lanes(1);            // without the legacy stream's own, which is 0
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

// The work of all streams must come before the end of the stream that the capture began with.
bool is_joined(Capture& capture) {
  return covers(capture.order.point(capture.origin), capture.order.everything());
}

OperationOrder& order_of(Capture* capture) { return capture ? capture->order : call_order; }

// The next operation of the capture, or of the call; `after` by their numbers.
void put(Capture* capture, std::string json, const Lane& lane, std::vector<size_t> after) {
  const size_t known = capture ? capture->operations.size() : runtime().ops.size();
  if (known >= kMaxOperations) raise_fault("timeout", "the program launches too many kernels");
  OperationOrder& order = order_of(capture);
  const size_t number = order.size();
  if (capture) {
    for (size_t& operation : after) operation = number - operation;
    capture->operations.push_back({std::move(json), capture->lanes.of(lane), std::move(after)});
  } else {
    const size_t lane_number = lane == Lane{} ? 0 : call_lanes.of(lane);
    runtime().ops.push_back(with_order(std::move(json), number, after, lane_number));
  }
  order.add(lane);
}

cudaError_t host_asks_or_waits(const Frontier& point, Host host) {
  if (host == Host::kAsks) return call_order.host_asks(point) ? cudaSuccess : cudaErrorNotReady;
  call_order.host_waits(point);
  return cudaSuccess;
}

}  // namespace

void record_operation(std::string json) {
  const cudaStream_t stream = stream_in_effect();
  if (admit(stream) != cudaSuccess) return;
  Capture* capture = capture_of(stream);
  OperationOrder& order = order_of(capture);
  const Lane lane{is_legacy(stream) ? nullptr : stream, 0};
  const size_t number = order.size();
  put(capture, std::move(json), lane, order.before(stream));
  order.advance(stream, {{lane, number}});
}

std::string end_of_call() {
  const std::string end = order_text(call_order.size(), call_order.before(current_stream()));
  call_order = {};
  call_lanes = LaneNumbers(1);
  for (auto& [event, recorded] : events)
    if (recorded.capture == 0) recorded.point.clear();
  return end;
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
    for (const cudaStream_t captured : capture->streams)
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
  Capture* capture = capture_of(stream);
  events[event] = {capture ? capture->number : 0, order_of(capture).point(stream)};
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
    if (own) {
      own->valid = false;  // it would depend on what is not in the graph
      return cudaErrorStreamCaptureIsolation;
    }
    call_order.wait(stream, found->second.point);
    return cudaSuccess;
  }
  if (is_legacy(stream)) {
    (*owner)->valid = false;
    return cudaErrorStreamCaptureImplicit;
  }
  if (own && own != owner->get()) {
    own->valid = (*owner)->valid = false;
    return cudaErrorStreamCaptureMerge;
  }
  (*owner)->streams.insert(stream);
  (*owner)->order.wait(stream, found->second.point);
  return cudaSuccess;
}

bool was_recorded(cudaEvent_t event) { return events.count(event) > 0; }

cudaError_t ask_event(cudaEvent_t event, Host host) {
  const auto found = events.find(event);
  if (found == events.end()) return cudaSuccess;
  if (!found->second.capture) return host_asks_or_waits(found->second.point, host);
  for (const auto& capture : captures)
    if (capture->number == found->second.capture) capture->valid = false;
  return cudaErrorCapturedEvent;
}

cudaError_t ask_stream(cudaStream_t stream, Host host) {
  const cudaError_t error = admit(stream);
  if (error != cudaSuccess) return error;
  Capture* capture = capture_of(stream);
  if (!capture) return host_asks_or_waits(call_order.point(stream), host);
  capture->valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

void wait_for_device() { call_order.host_waits(call_order.everything()); }

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
      Capture{++captures_begun, stream, mode != cudaStreamCaptureModeRelaxed, true, {stream}, {}}));
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
  Capture* capture = capture_of(stream);
  OperationOrder& order = order_of(capture);
  const std::vector<size_t> before = order.before(stream);
  Frontier last;
  for (const Operation& op : **entry) {
    const size_t number = order.size();
    std::vector<size_t> after;
    for (const size_t distance : op.after) after.push_back(number - distance);
    const Lane lane{is_legacy(stream) ? nullptr : stream, op.lane};
    put(capture, op.json, lane, op.after.empty() ? before : after);
    last[lane] = number;
  }
  order.advance(stream, last);
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
