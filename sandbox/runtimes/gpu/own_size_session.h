// A program at its task's own size on the loader's side: inputs lie in memory of the device that another
// process has drawn, and outputs stay where kernels wrote them, for another process to read. Packet by
// packet:
//   opened   once the first call has run on test input "first": {"opened": true, "memories": [bytes],
//            "outputs", "inputs": [{"memory", "offset"}], "first_repeat", "repeats"} with the memories'
//            descriptors
//   asked    {"own": "repeat", "index", "test_input"}  a further call, in the memory that is there
//            {"own": "again", "test_input", "skip": bool}    the first call from fresh memory, with or
//            without kernels
//            {"own": "clock"}                           {"graph", "nothing_us"} or {"untimed": why}
//            {"window": "prepare", "test_input"} | {"window": "time", "by_stream"} | {"window": "close"}
//   said     {"step": "done", ...}, of "repeat" with "outputs" and new "memories"; or {"fault": {"class",
//            "message", "kernel"}}, or {"error": why}: the last words
// When "done" is said, the device has done everything.
#pragma once
#include <string>
#include <vector>

#include "sandbox/gpu/loader/shared_poison.h"
#include "sandbox/gpu/loader/timed_run.h"

namespace bicrl {

struct OwnSizeFiles {
  int channel = -1;
  std::vector<gpu::DeviceAddress> test_inputs;
  size_t first = 0;  // of the test inputs
};

// Serves until it is closed, the other side is gone or a fault has been reported. Whether the context is as
// good as before.
bool serve_own_size(gpu::Driver& driver, gpu::DeviceClock& clock, gpu::SharedPoison& poison,
                    gpu::DeviceRun& run, const Trace& trace, const OwnSizeFiles& files);

}  // namespace bicrl
