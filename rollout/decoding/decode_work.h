// Working state of a decode engine: memory of a capacity, and the sequences that are decoded in it since
// open(). It chooses the rows that the next forward computes, and processes what that forward sampled. Refers
// to what it is given; not thread-safe.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "policy/attention/kv_cache.h"
#include "policy/attention/step_buffer.h"
#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "rollout/decoding/block_aligner.h"
#include "rollout/decoding/denoise_step.h"
#include "rollout/decoding/engine_budget.h"
#include "rollout/decoding/scheduler.h"
#include "rollout/decoding/sequence.h"
#include "rollout/decoding/step_state.h"
#include "rollout/decoding_settings.h"

namespace bicrl {

// At its addresses for as long as nobody asks for more.
struct DecodeMemory {
  DecodeMemory(const Transformer& policy, const at::Tensor& allowed, MakeDenoiseStep& make_step,
               const EngineCapacity& its_asked, int64_t pages)
      : asked(its_asked),
        capacity{asked.sequences, pages, asked.prefill_tokens, asked.keeps_distributions},
        cache(policy.config(), capacity.pages, policy.device(), policy.dtype()),
        buffer(policy.device()),
        forward(make_step(policy, allowed, capacity, cache, buffer)),
        state(policy.config().block_size, capacity.max_rows(policy.config().block_size), capacity.sequences,
              buffer) {
    buffer.allocate();
  }

  EngineCapacity asked;     // what it was made for
  EngineCapacity capacity;  // with the pages that there was room for
  KvCache cache;
  StepBuffer buffer;
  std::unique_ptr<DenoiseStep> forward;
  StepState state;
};

// What is decoded since open(). Refers to the engine's memory.
struct DecodeWork {
  DecodeWork(const PolicyConfig& its_config, const Tokenizer& its_tokenizer,
             const DecodingSettings& its_settings, int64_t version, const SchedulerLimits& its_limits,
             DecodeMemory& its_memory)
      : config(its_config),
        tokenizer(its_tokenizer),
        settings(its_settings),
        policy_version(version),
        limits(its_limits),
        memory(its_memory),
        scheduler(config.block_size, limits, memory.cache),
        aligner(settings, config.block_size) {
    memory.forward->open(settings);
  }

  void admit();
  int64_t uncommitted_tokens(const Sequence& s) const {
    return s.block_start() - memory.cache.stored_tokens(s.slot());
  }
  // Prompt computed as far as whole blocks go.
  bool prompt_ready(const Sequence& s) const {
    return memory.cache.stored_tokens(s.slot()) >= memory.cache.prefix_tokens(s.slot());
  }
  int64_t add_prefill();
  void add_commit(const Sequence& s);
  int64_t quota(const Sequence& s) const;
  void add_denoise(const Sequence& s);
  // Who is at work, and who begins now.
  std::vector<Sequence*> in_turn();
  // The rows of all that goes on; returns what is denoised, in the order of the state's blocks.
  std::vector<Sequence*> gather();
  // What the forward behind the one under way brings, unless responses end before their length; nothing if
  // that depends on more than quotas, or on who is admitted.
  std::optional<StepBound> next_at_most() const;
  // Of the result's position number `masked`, which is number `rejected` of those that were not accepted.
  void record_rejected(Sequence& s, int64_t offset, const StepResult& result, size_t masked,
                       size_t rejected) const;
  void apply(const StepResult& result);

  const PolicyConfig config;
  const Tokenizer& tokenizer;
  const DecodingSettings settings;
  const int64_t policy_version;
  const SchedulerLimits limits;
  DecodeMemory& memory;
  Scheduler scheduler;
  BlockAligner aligner;
  std::vector<std::unique_ptr<Sequence>> active;
  int64_t submitted = 0;
  // The forward under way.
  bool begun = false;
  bool expected = false;            // the one behind it was announced
  std::vector<Sequence*> denoised;  // in it
  int64_t prefill_rows = 0;         // in it
};

}  // namespace bicrl
