#include "tests/fake_driver/fake_streams.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fake_driver {
bool fills_are_under_way = false;

int state = 0;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotReady = 600, kInvalidHandle = 400;
constexpr double kFill_ms = 0.01, kCopy_ms = 0.005;
// Nobody reads what is written only to empty a cache.
constexpr size_t kFlushElements = 8 << 20;

struct Node {
  double milliseconds;
  std::function<int()> work;
};
using Graph = std::vector<Node>;

struct Event {
  double at_ms = 0;  // by the device
  Clock::time_point real{};
};

double device_ms = 0;
Clock::time_point idle_from{};
Graph* captured = nullptr;

int execute(const Node& node) {
  device_ms += node.milliseconds;
  idle_from = std::max(idle_from, Clock::now()) +
              std::chrono::nanoseconds(static_cast<int64_t>(node.milliseconds * 1e6));
  return node.work();
}

template <class Element>
int fill(uint64_t to, Element value, size_t count) {
  return enqueue(kFill_ms, [=] {
    if (count < kFlushElements)
      for (size_t i = 0; i < count; ++i)
        memcpy(reinterpret_cast<char*>(to) + i * sizeof value, &value, sizeof value);
    return state;
  });
}

}  // namespace

int enqueue(double milliseconds, std::function<int()> work) {
  if (captured) {
    captured->push_back({milliseconds, std::move(work)});
    return 0;
  }
  return execute({milliseconds, std::move(work)});
}

}  // namespace fake_driver

using namespace fake_driver;

extern "C" {
int cuStreamCreate(void** stream, unsigned) { return *stream = &state, state; }
int cuStreamQuery(void*) {
  if (state == 0 && Clock::now() < idle_from) return kNotReady;
  fake_driver::fills_are_under_way = false;
  return state;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  return enqueue(kCopy_ms, [=] {
    memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return state;
  });
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void*) { return fill(to, value, count); }
int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void*) {
  return fill(to, value, count);
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void*) { return fill(to, value, count); }
int cuEventCreate(void** event, unsigned) { return *event = new Event, state; }
int cuEventRecord(void* event, void*) {
  *static_cast<Event*>(event) = {device_ms, std::max(idle_from, Clock::now())};
  return state;
}
int cuEventQuery(void* event) {
  if (state != 0) return state;
  return Clock::now() < static_cast<Event*>(event)->real ? kNotReady : 0;
}
int cuEventElapsedTime(float* ms, void* from, void* to) {
  *ms = static_cast<float>(static_cast<Event*>(to)->at_ms - static_cast<Event*>(from)->at_ms);
  return state;
}
int cuStreamBeginCapture_v2(void*, int) {
  if (captured) return kInvalidHandle;
  captured = new Graph;
  return state;
}
int cuStreamEndCapture(void*, void** graph) {
  if (!captured) return kInvalidHandle;
  *graph = captured;
  captured = nullptr;
  return state;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return state;
}
int cuGraphUpload(void*, void*) { return state; }
int cuGraphLaunch(void* executable, void*) {
  for (const Node& node : *static_cast<Graph*>(executable))
    if (const int code = execute(node); code != 0) return code;
  return state;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}
int cuGraphExecDestroy(void* executable) {
  delete static_cast<Graph*>(executable);
  return 0;
}
}
