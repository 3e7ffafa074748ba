// Block-diffusion decoding of many sequences at once, block after block: requests come in, each forward takes
// every sequence at work one denoise step further, and whoever ends leaves at once and makes room for the
// next.
//
// How this folder works: decode_engine.h lives as long as its rank, and everything that generates goes
// through it: steps of reinforcement, evaluations, `bicrl generate` and `bicrl eval`. scheduler.h decides who
// is in work, sequence.h is one response in the making, block_aligner.h says when it begins, decode_work.h
// which rows are next, step_state.h what a forward computes, and denoise_step.h that forward with what is
// drawn from it (sampling.h) and kept (acceptance.h). engine_budget.h says what it takes of the device's
// memory.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "rollout/decoding/denoise_step.h"
#include "rollout/decoding/engine_budget.h"
#include "rollout/decoding/shared_device.h"
#include "rollout/decoding_settings.h"
#include "rollout/generation_request.h"
#include "rollout/rollout.h"

namespace bicrl {

struct DecodeMemory;
struct DecodeWork;

struct DecodingStatistics {
  int64_t forwards = 0;
  int64_t rows = 0;              // token rows computed, all kinds
  int64_t prefill_rows = 0;      // of them: prompts
  int64_t generated_tokens = 0;  // accepted, those after an end token included
  int64_t peak_active = 0;
  int64_t cache_bytes = 0;   // of the pages that it may use
  int64_t queued_ahead = 0;  // forwards that were on the device's stream before their inputs were known
  double seconds = 0;
  double between_seconds = 0;  // from the end of a forward to the begin of the next: a GPU has nothing to do

  double tokens_per_second() const { return seconds > 0 ? generated_tokens / seconds : 0.0; }
};

struct FinishedRollout {
  int64_t number = 0;  // of the request: its place among those submitted since open()
  Rollout rollout;
};

// Owns the key/value cache and the memory of a step, which are made once, at the first open(), and made anew
// only when a later one asks for more. Refers to policy and tokenizer, which outlive it. Parameters may
// change while it is idle, and stay as they are from open() until it is idle again: what is cached is of
// them. Not thread-safe.
class DecodeEngine {
 public:
  // Throws InputError if the tokenizer has ids that the policy has not, or the policy a block size that pages
  // of the cache cannot be cut into. make_step: how forwards are computed. unused_bytes: what a device has
  // left, 0 where nobody counts it (engine_budget.h).
  DecodeEngine(const Transformer& policy, const Tokenizer& tokenizer,
               MakeDenoiseStep& make_step = make_denoise_step,
               int64_t (*unused_bytes)(at::Device) = unused_device_bytes);
  ~DecodeEngine();

  const Transformer& policy() const { return policy_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  // All of `requests`, the way nearly everyone takes: open(), submit() and step() until all are done.
  // `on_finished` runs on this thread between two steps, once for each request, in the order in which they
  // end, while a GPU computes the next forward; what it throws ends the generation, and the engine can go on
  // with other requests. Results depend on
  // a request and its key, not on what else is in the batch (up to rounding). A `device` that is wanted by
  // others is lent between two forwards. `goes_on` is asked after each forward; where it says no, what has
  // not ended is dropped. Throws InputError, before generating, naming a request that does not fit.
  using OnFinished = std::function<void(size_t request_index, Rollout rollout)>;
  using GoesOn = std::function<bool(const DecodingStatistics& so_far)>;
  DecodingStatistics generate(const DecodingSettings& settings,
                              const std::vector<GenerationRequest>& requests, int64_t policy_version,
                              const OnFinished& on_finished, SharedDevice* device = nullptr,
                              const GoesOn& goes_on = {});

  // How the requests to come are decoded, with at most this capacity in work; only while idle. On a device
  // with memory of its own the cache takes no more pages than there is room for. Throws InputError if the
  // settings do not fit the policy, its block size does not fit pages, or there is no room for a cache.
  void open(const DecodingSettings& settings, int64_t policy_version, const EngineCapacity& capacity);
  // Puts a request into the line. Throws InputError, with the numbers, if it can never be decoded.
  void submit(GenerationRequest request);
  // Waits for a forward, returns what ended with it, and has begun the next one by then, if there is one:
  // requests that are submitted now take part in the one after it. Unless `begins_next`: then the device has
  // nothing to do until the next step. Throws Error if the policy is broken, naming the tensor; what is in
  // work is to be abandoned then.
  std::vector<FinishedRollout> step(bool begins_next = true);
  bool idle() const;
  // Drops what waits and what is in work.
  void abandon();

  // Gives cache and workspace back, until the next open(): for a rank whose device trains in between. Only
  // while idle.
  void release_memory();

  const DecodingStatistics& statistics() const { return statistics_; }  // since open(), but for the seconds
  // Of what the engine holds; no cache and workspace while it holds none.
  EngineBudget budget() const;

 private:
  void reserve(const EngineCapacity& capacity);
  void begin_forward();
  // Of the one under way.
  std::vector<FinishedRollout> finish_forward(bool begins_next);
  void forget_expected();
  void check_fits(const GenerationRequest& request, int64_t number) const;

  const Transformer& policy_;
  const Tokenizer& tokenizer_;
  MakeDenoiseStep& make_step_;
  int64_t (*const unused_bytes_)(at::Device);
  at::Tensor allowed_;  // [vocab] bool
  std::unique_ptr<DecodeMemory> memory_;
  std::unique_ptr<DecodeWork> work_;
  DecodingStatistics statistics_;
};

}  // namespace bicrl
