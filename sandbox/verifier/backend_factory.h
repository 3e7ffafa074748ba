// Factories of backends, which a pipeline knows by their interface alone.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "sandbox/box/box_host.h"
#include "sandbox/box/python_install.h"
#include "sandbox/box/scratch_folder.h"
#include "sandbox/gpu/gpu_backend.h"
#include "sandbox/verifier/backend.h"
#include "sandbox/verifier/ptx_backend.h"
#include "sandbox/verifier/routed_backend.h"
#include "sandbox/verifier/spread_backend.h"

namespace bicrl {

// What the pipeline has that backends need; all of it outlives them.
struct BackendSetting {
  BoxHost& host;
  ScratchFolder& scratch;
  const PythonInstall& python;
  const ExecuteOptions& execute;
};

// Throws Error(kUnavailable), with the remedy, where the machine lacks what the backend needs.
using BackendFactory = std::function<std::unique_ptr<Backend>(const BackendSetting&)>;

BackendFactory ptx_backend();
// Plain runs on GPUs, all others by the PTX interpreter. `devices`: as the driver numbers them; empty: all
// that it shows, and of those that cannot be used the backend says why. `options.device` is not read.
BackendFactory gpu_backend(const GpuOptions& options, InstrumentedRuns instrumented,
                           const std::vector<int>& devices = {});

}  // namespace bicrl
