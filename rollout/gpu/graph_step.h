// A denoise step on an NVIDIA GPU: the forward and the draws are kernels at fixed addresses, recorded as CUDA
// graphs for a few numbers of rows and of masked positions, to which a step's are rounded up. A step is one
// upload, up to three graphs, and one small copy back, for which finish() waits. A step that is expected is
// queued behind a gate while the one before it runs, and begins when its inputs are written; not so with
// CUDA_LAUNCH_BLOCKING, or with BICRL_QUEUE_AHEAD=0 for tools that let one kernel run at a time. Refers to
// policy, cache and buffer; not thread-safe.
#pragma once
#include <ATen/cuda/CUDAEvent.h>

#include <map>
#include <optional>

#include "policy/gpu/launch_gate.h"
#include "policy/gpu/paged_attention/paged_forward.h"
#include "rollout/decoding/denoise_step.h"
#include "rollout/gpu/recorded_launches.h"
#include "rollout/gpu/rejected_arrays.h"

namespace bicrl {

class GraphStep : public DenoiseStep {
 public:
  GraphStep(const Transformer& policy, const at::Tensor& allowed, const EngineCapacity& capacity,
            KvCache& cache, StepBuffer& buffer);
  void open(const DecodingSettings& settings) override;
  void begin(const StepState& state) override;
  bool expect(const StepBound& bound) override;
  StepResult finish() override;
  void cancel() override;

  static StepMemory memory(const PolicyConfig& config, const EngineCapacity& capacity);
  static void require_recordable(const DecodingSettings& settings);  // see denoise_step.h
  // The number of rows that `rows` are rounded up to, at most `limit`: close together where forwards are
  // short.
  static int64_t bucket(int64_t rows, int64_t limit);

 private:
  bool records_rejected() const;
  // Queue a forward of `rows` rows, and draws for `masked` positions: buckets, but for prompts' rows.
  void queue(const StepState& state, int64_t rows, int64_t masked);
  void draw(const StepState& state, int64_t masked);
  void accept(const StepState& state, int64_t masked);
  void find_rejected(const StepState& state, int64_t masked);

  const Transformer& policy_;
  at::Tensor allowed_;
  StepBuffer& buffer_;
  gpu::PagedForward forward_;
  StepArray<int32_t> masked_;  // [1]
  int64_t decoding_rows_;      // more than these only with a prompt among them
  int64_t max_masked_;
  int64_t begun_masked_ = 0;  // of the step under way
  const StepState* begun_ = nullptr;
  at::cuda::CUDAEvent done_[2];             // of the step under way, and of the one that is expected
  std::optional<StepBound> expected_;       // rounded up, and queued behind the gate
  std::optional<gpu::LaunchGate> gate_;     // from the first step that is expected on
  at::Tensor selected_;                     // [max_masked, hidden]
  int64_t piece_rows_;                      // of logits that are made at once
  at::Tensor logits_;                       // [rows of a piece, or all that may be masked, vocab] fp32
  at::Tensor drawn_, drawn_on_host_;        // [max_masked * sizeof Drawn] bytes
  std::optional<RejectedArrays> rejected_;  // if whole distributions are kept
  DecodingSettings settings_;
  std::vector<const void*> parameters_;  // where they lay when launches were recorded
  LaunchRecorder recorder_;
  const bool queues_ahead_;
  std::map<int64_t, RecordedLaunches> first_layers_, other_layers_, draws_;  // by bucket
};

}  // namespace bicrl
