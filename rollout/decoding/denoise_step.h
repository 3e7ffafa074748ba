// One forward of a decode engine: runs the policy over the rows of all segments, and draws and accepts
// candidates on the device. What comes back to the host is one small copy, for which the host waits when it
// wants it: between begin() and finish() it is free for other things. Implementations: by torch's operators
// (operator_step.h), and by kernels for NVIDIA GPUs (gpu/graph_step.h). Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/transformer.h"
#include "rollout/decoding/engine_budget.h"
#include "rollout/decoding/step_state.h"
#include "rollout/decoding_settings.h"
#include "rollout/record/rejected_mass.h"

namespace bicrl {

// For every masked position of a StepState, in its order.
struct StepResult {
  std::vector<int64_t> tokens;
  std::vector<float> log_probs;
  std::vector<char> accepted;
  // The ids that were drawn among, ascending, under whose distribution log_probs are then; empty unless
  // candidates are recorded and top-k or top-p restricts them.
  std::vector<std::vector<int64_t>> kept;
  // Of the positions that were not accepted, in their order; empty unless CandidateTerms::kRejected is
  // recorded and acceptance goes by confidence.
  RejectedMass rejected;
};

struct StepBound {
  int64_t rows = 0;
  int64_t masked = 0;  // positions
};

class DenoiseStep {
 public:
  virtual ~DenoiseStep() = default;
  // How the steps to come draw and accept; parameters stay where they are until the next call.
  virtual void open(const DecodingSettings& settings) = 0;
  // Plans the state's segments and sets the device to work, if it is one that works by itself. The state and
  // what it refers to stay as they are until finish() or cancel(), of which one follows.
  virtual void begin(const StepState& state) = 0;
  // Between begin() and finish(), if the next begin() is known to bring at most so much: its launches may be
  // queued ahead of their inputs; whether they were. Then nobody in this process may ask anything else of the
  // device, wait for it, or take or give back its memory, until begin() or cancel(): it would wait for ever.
  virtual bool expect(const StepBound&) { return false; }
  virtual StepResult finish() = 0;
  // Nobody wants the result any more, nor what was expected. When it returns the device is done with cache
  // and buffer.
  virtual void cancel() = 0;
};

// Makes a step that refers to all of the arguments and takes its place in `buffer`. allowed: [vocab] bool.
using MakeDenoiseStep = std::unique_ptr<DenoiseStep>(const Transformer& policy, const at::Tensor& allowed,
                                                     const EngineCapacity& capacity, KvCache& cache,
                                                     StepBuffer& buffer);
// The fastest there is for the policy in this build.
MakeDenoiseStep make_denoise_step;

// What such a step takes of memory beside the cache and the step's buffer.
struct StepMemory {
  int64_t fixed_bytes = 0;
  int64_t bytes_per_page = 0;  // of the cache
  int64_t held_bytes = 0;      // of fixed_bytes: from its construction on, the rest while it runs
};
StepMemory denoise_step_memory(const PolicyConfig& config, at::Device device, c10::ScalarType dtype,
                               const EngineCapacity& capacity);
// Throws InputError if such a step cannot record what the settings ask for.
void require_recordable(const PolicyConfig& config, at::Device device, c10::ScalarType dtype,
                        const DecodingSettings& settings);

}  // namespace bicrl
