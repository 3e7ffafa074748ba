#include "rollout/decoder.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "common/clock.h"
#include "common/error.h"
#include "common/rng.h"
#include "policy/distribution.h"
#include "rollout/denoise_step.h"
#include "rollout/scheduler.h"
#include "rollout/sequence.h"

namespace bicrl {
namespace {

// Counters of the acceptance lots, apart from those of the token draws under the same key.
constexpr uint64_t kLotCounters = uint64_t{1} << 32;

// State of one generate().
class Generation {
 public:
  Generation(const Transformer& policy, const Tokenizer& tokenizer, const DecodingSettings& settings,
             const at::Tensor& allowed, const std::vector<GenerationRequest>& requests)
      : config_(policy.config()),
        tokenizer_(tokenizer),
        settings_(settings),
        requests_(requests),
        cache_(config_, plan_cache_pages(requests, config_, settings), policy.device(), policy.dtype()),
        scheduler_(requests, config_.block_size, settings, cache_),
        step_(policy, allowed, settings, cache_) {
    statistics_.cache_bytes = cache_.total_pages() * KvCache::bytes_per_page(config_, policy.dtype());
  }

  bool done() const { return scheduler_.all_admitted() && active_.empty(); }
  // One forward; returns the sequences that ended with it.
  std::vector<std::unique_ptr<Sequence>> advance();
  void retire(const Sequence& sequence) { scheduler_.finish(sequence.slot()); }
  void check_all_returned() const {
    BICRL_CHECK(cache_.live_slots() == 0 && cache_.free_pages() == cache_.total_pages(), cache_.live_slots(),
                " slots were not returned");
  }
  DecodingStatistics& statistics() { return statistics_; }

 private:
  void admit();
  int64_t uncommitted_tokens(const Sequence& s) const {
    return s.block_start() - cache_.stored_tokens(s.slot());
  }
  // Prompt computed as far as whole blocks go.
  bool prompt_ready(const Sequence& s) const {
    return cache_.stored_tokens(s.slot()) >= cache_.prefix_tokens(s.slot());
  }
  void add_prefill(StepRows& rows);
  void add_commit(const Sequence& s, StepRows& rows) const;
  void add_denoise(const Sequence& s, StepRows& rows) const;
  void apply(const StepResult& result, const std::vector<Sequence*>& denoised) const;

  const PolicyConfig config_;
  const Tokenizer& tokenizer_;
  const DecodingSettings& settings_;
  const std::vector<GenerationRequest>& requests_;
  KvCache cache_;
  Scheduler scheduler_;
  DenoiseStep step_;
  std::vector<std::unique_ptr<Sequence>> active_;
  DecodingStatistics statistics_;
};

void Generation::admit() {
  while (const auto admission = scheduler_.admit()) {
    active_.push_back(std::make_unique<Sequence>(requests_[admission->request], admission->request,
                                                 admission->slot, config_, tokenizer_,
                                                 settings_.max_new_tokens));
  }
  statistics_.peak_active = std::max(statistics_.peak_active, scheduler_.active());
}

void Generation::add_prefill(StepRows& rows) {
  for (const auto& chunk : scheduler_.prefill(settings_.prefill_tokens)) {
    rows.add_segment(chunk.segment, chunk.tokens);
    statistics_.prefill_rows += chunk.segment.rows;
  }
}

void Generation::add_commit(const Sequence& s, StepRows& rows) const {
  const int64_t stored = cache_.stored_tokens(s.slot()), pending = uncommitted_tokens(s);
  rows.add_segment({s.slot(), stored, pending, pending}, s.tokens().data() + stored);
}

// The block, and before it a finished one that is not in the cache yet.
void Generation::add_denoise(const Sequence& s, StepRows& rows) const {
  const int64_t stored = cache_.stored_tokens(s.slot()), pending = uncommitted_tokens(s),
                b = config_.block_size;
  rows.add_segment({s.slot(), stored, pending + b, pending}, s.tokens().data() + stored);
  const int64_t steps = settings_.denoise_steps == 0 ? b : settings_.denoise_steps;
  rows.begin_block(acceptance_quota(b, steps, s.step_in_block()));
  for (int64_t offset = 0; offset < b; ++offset) {
    if (!s.masked(offset)) continue;
    const uint64_t position_key = mix_key({s.request().key, static_cast<uint64_t>(s.block_start() + offset)});
    const uint64_t step = static_cast<uint64_t>(s.next_step());
    rows.add_masked(offset, uniform_at(position_key, step), uniform_at(position_key, step | kLotCounters));
  }
}

void Generation::apply(const StepResult& result, const std::vector<Sequence*>& denoised) const {
  size_t next = 0;
  for (Sequence* s : denoised) {
    for (int64_t offset = 0; offset < config_.block_size; ++offset) {
      if (!s->masked(offset)) continue;
      const size_t i = next++;
      if (!std::isfinite(result.log_probs[i]))
        throw Error(concat("the policy gives a log-probability that is not finite (position ",
                           s->block_start() + offset, " of task ", s->request().task_id,
                           "): its weights, or an update of them, are broken."));
      if (result.accepted[i]) s->accept(offset, result.tokens[i], result.log_probs[i]);
    }
    s->end_step();
  }
  BICRL_CHECK(next == result.tokens.size());
}

std::vector<std::unique_ptr<Sequence>> Generation::advance() {
  admit();
  StepRows rows(config_.block_size);
  add_prefill(rows);
  std::vector<Sequence*> fused, plain;
  for (const auto& s : active_) {
    if (!prompt_ready(*s)) continue;
    if (uncommitted_tokens(*s) == 0) {
      plain.push_back(s.get());
    } else if (settings_.fused_commit) {
      fused.push_back(s.get());
    } else {
      add_commit(*s, rows);
    }
  }
  // Segments of equal length side by side run as one attention batch.
  std::vector<Sequence*> denoised = fused;
  denoised.insert(denoised.end(), plain.begin(), plain.end());
  for (const Sequence* s : denoised) add_denoise(*s, rows);
  const StepResult result = step_.run(rows);
  ++statistics_.forwards;
  statistics_.rows += static_cast<int64_t>(rows.tokens.size());
  statistics_.generated_tokens += std::count(result.accepted.begin(), result.accepted.end(), 1);
  apply(result, denoised);

  std::vector<std::unique_ptr<Sequence>> ended;
  for (auto& s : active_) {
    if (s->block_finished() && s->close_block()) ended.push_back(std::move(s));
  }
  std::erase(active_, nullptr);
  return ended;
}

}  // namespace

Decoder::Decoder(const Transformer& policy, const Tokenizer& tokenizer, const DecodingSettings& settings)
    : policy_(policy), tokenizer_(tokenizer), settings_(settings) {
  const int64_t b = policy.config().block_size;
  if (settings.denoise_steps > b)
    throw InputError(concat("denoise_steps is ", settings.denoise_steps, ", but a block of the policy has ",
                            b, " positions"));
  allowed_ = allowed_ids(policy.config(), tokenizer.size(), policy.device());
}

DecodingStatistics Decoder::generate(const std::vector<GenerationRequest>& requests, int64_t policy_version,
                                     const OnFinished& on_finished) const {
  if (requests.empty()) return {};
  const Stopwatch stopwatch;
  Generation generation(policy_, tokenizer_, settings_, allowed_, requests);
  while (!generation.done()) {
    for (const auto& sequence : generation.advance()) {
      generation.retire(*sequence);
      on_finished(sequence->index(), sequence->take_rollout(policy_version));
    }
  }
  generation.check_all_returned();
  DecodingStatistics statistics = generation.statistics();
  statistics.seconds = stopwatch.seconds();
  return statistics;
}

}  // namespace bicrl
