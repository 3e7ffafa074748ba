// Recordings for the GPU backend's tests: kernels that behave and kernels that do not, on one input and one
// output of four floats. tests/fake_driver knows them by their names.
#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sandbox/verifier/backend_factory.h"

namespace bicrl::testing {

// (const float* x, float* y, int n): twice: y[i] = 2 x[i] for i < n; beyond: y[n] = 1; count: y[0] =
// ++counter, a variable of the module that begins at 7; endless, wild (a null pointer), traps, misaligned as
// they are called; the rest with the fake driver alone: loses_device, silences_driver and kills_loader do so,
// twice_slowly takes a tenth longer; twice_of_poison works if shared memory was poisoned since its last
// launch; twice_once works in the first of its launches, idles_later and dies_later in the first six,
// answers_again says always what it said first.
extern const char* const kGpuText;

// NVIDIA's sanitizer has them.
const std::vector<std::string>& all_tools();

// One call's operations.
nlohmann::json gpu_launch(const std::string& kernel, int n = 4, int threads = 4);
nlohmann::json gpu_view(int buffer, int64_t count, int64_t offset_bytes = 0);

// Buffer 0: the input 1 2 3 4; 1: the output; 2: an allocation of 16 bytes.
struct GpuRecording {
  nlohmann::json ops = nlohmann::json::array();
  nlohmann::json repeats = nlohmann::json::array();  // operations of each
  size_t construction_ops = 0;
  uint64_t scratch_bytes = 16;
  nlohmann::json output = gpu_view(1, 4);  // of the first call
};

struct GpuRan {
  RunResult result;
  std::string fault_class;                // of the result or its last run; "infrastructure"
  std::string message;                    // likewise
  std::vector<std::vector<float>> calls;  // outputs, of runs without a fault
};
Trace gpu_trace(const GpuRecording& recording);
// A recording with all that its plan points to; of the input, 1 2 3 4, there is one test input.
struct GpuPlan {
  explicit GpuPlan(const GpuRecording& recording, const char* text = kGpuText,
                   const RunRequest& request = {.seed = 1});
  GpuPlan(const GpuPlan&) = delete;
  GpuPlan& operator=(const GpuPlan&) = delete;
  const Trace trace;
  const std::vector<std::string> leaves;
  RunPlan plan;
};
GpuRan run_on(Backend& backend, const GpuRecording& recording, const RunRequest& request = {.seed = 1},
              std::stop_token stop = {});

// On this machine's GPU, or on the fake driver where there is none. Skips like box_host().
Backend& small_gpu_backend();
std::unique_ptr<Backend> make_gpu_backend(const GpuOptions& options);
bool has_gpu();

}  // namespace bicrl::testing
