// A window on the loader's side: one recording is prepared and timed as the server asks, packet by packet.
//   opened   {"opened": true, "graph": bool, "nothing_us": [of empty launches]}, or {"untimed": why}
//   asked    {"window": "prepare", "test_input": number}
//            {"window": "time", "by_stream": bool}
//            {"window": "close"}
//   said     {"step": "done"}, of "time" with "event_ms" and "host_ms", and outputs in "output_file"
//            {"fault": {"class", "message", "kernel"}}, which ends the session
//            {"error": why}, which ends the session
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "sandbox/gpu/loader/shared_poison.h"
#include "sandbox/gpu/loader/timed_run.h"

namespace bicrl {

struct WindowFiles {
  int channel = -1;
  int outputs = -1;
  // Of a test input, by its number in the plan; they stay where they are as long as the window.
  std::function<std::string_view(size_t test_input)> inputs;
};

// Serves until it is closed, the other side is gone or a fault has been reported. Returns whether the context
// is as good as before.
bool serve_window(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison,
                  gpu::DeviceRun& run, size_t output_bytes, const WindowFiles& files);

}  // namespace bicrl
