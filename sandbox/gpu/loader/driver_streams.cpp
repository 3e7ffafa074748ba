// Streams, events and graphs of the driver.
#include "sandbox/gpu/loader/driver.h"

namespace bicrl::gpu {
namespace {

// Source as in driver.cpp.
constexpr int kNotReady = 600;
constexpr unsigned kNonBlocking = 1, kTimedEvent = 0;
constexpr int kCaptureOfThisThread = 1;

}  // namespace

StreamHandle Driver::make_stream() {
  StreamHandle stream = nullptr;
  check(call_.stream_create(&stream, kNonBlocking), "a stream");
  return stream;
}

void Driver::enqueue_copy(DeviceAddress to, DeviceAddress from, uint64_t bytes, StreamHandle stream) {
  if (bytes > 0) check(call_.copy_async(to, from, bytes, stream), "a copy on the GPU");
}

void Driver::enqueue_fill(DeviceAddress to, size_t element_bytes, uint32_t element, uint64_t count,
                          StreamHandle stream) {
  if (count == 0) return;
  int code = 0;
  if (element_bytes == 1)
    code = call_.fill8_async(to, static_cast<unsigned char>(element), count, stream);
  else if (element_bytes == 2)
    code = call_.fill16_async(to, static_cast<unsigned short>(element), count, stream);
  else
    code = call_.fill32_async(to, element, count, stream);
  check(code, "a fill");
}

EventHandle Driver::make_event() {
  EventHandle event = nullptr;
  check(call_.event_create(&event, kTimedEvent), "an event");
  return event;
}

void Driver::record(EventHandle event, StreamHandle stream) {
  check(call_.event_record(event, stream), "an event");
}

bool Driver::reached(EventHandle event) {
  const int code = call_.event_query(event);
  if (code == kNotReady) return false;
  check(code, "a kernel");
  return true;
}

double Driver::elapsed_ms(EventHandle from, EventHandle to) {
  float ms = 0;
  check(call_.event_elapsed(&ms, from, to), "the time between two events");
  return static_cast<double>(ms);
}

void Driver::begin_capture(StreamHandle stream) {
  check(call_.capture_begin(stream, kCaptureOfThisThread), "a capture");
}

GraphHandle Driver::end_capture(StreamHandle stream) {
  void* recorded = nullptr;
  check(call_.capture_end(stream, &recorded), "a capture");
  GraphHandle graph = nullptr;
  const int code = call_.graph_instantiate(&graph, recorded, 0);
  check(call_.graph_destroy(recorded), "a graph");
  check(code, "a graph");
  // Else its first launch would do it.
  check(call_.graph_upload(graph, stream), "a graph");
  return graph;
}

void Driver::launch(GraphHandle graph, StreamHandle stream) {
  check(call_.graph_launch(graph, stream), "a graph");
}

void Driver::destroy(GraphHandle graph) { check(call_.graph_exec_destroy(graph), "a graph"); }

}  // namespace bicrl::gpu
