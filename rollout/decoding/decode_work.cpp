#include "rollout/decoding/decode_work.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

// Counters of the acceptance lots, apart from those of the token draws under the same key.
constexpr uint64_t kLotCounters = uint64_t{1} << 32;

}  // namespace

void DecodeWork::admit() {
  while (auto admission = scheduler.admit()) {
    const int64_t drawn_tokens = settings.drawn ? settings.drawn->tokens(admission->request.key) : 0;
    active.push_back(std::make_unique<Sequence>(std::move(admission->request), admission->number,
                                                admission->slot, config, tokenizer, admission->max_new_tokens,
                                                settings.recorded, drawn_tokens));
  }
}

int64_t DecodeWork::add_prefill() {
  int64_t rows = 0;
  for (const auto& chunk : scheduler.prefill()) {
    memory.state.add_segment(chunk.segment, chunk.tokens);
    rows += chunk.segment.rows;
  }
  return rows;
}

void DecodeWork::add_commit(const Sequence& s) {
  const int64_t stored = memory.cache.stored_tokens(s.slot()), pending = uncommitted_tokens(s);
  memory.state.add_segment({s.slot(), stored, pending, pending}, s.tokens().data() + stored);
}

int64_t DecodeWork::quota(const Sequence& s) const {
  const int64_t b = config.block_size;
  const bool is_drawn = settings.drawn && !accepts_by_quota(settings.acceptance.strategy);
  const int64_t steps = is_drawn ? settings.drawn->steps_of_block(s.request().key, s.block_start(), b)
                                 : settings.steps_of_block(b);
  return acceptance_quota(b, steps, s.step_in_block());
}

// The block, and before it a finished one that is not in the cache yet.
void DecodeWork::add_denoise(const Sequence& s) {
  const int64_t stored = memory.cache.stored_tokens(s.slot()), pending = uncommitted_tokens(s),
                b = config.block_size;
  memory.state.add_segment({s.slot(), stored, pending + b, pending}, s.tokens().data() + stored);
  memory.state.begin_block(quota(s));
  for (int64_t offset = 0; offset < b; ++offset) {
    if (!s.masked(offset)) continue;
    const uint64_t position_key = mix_key({s.request().key, static_cast<uint64_t>(s.block_start() + offset)});
    const auto step = static_cast<uint64_t>(s.next_step());
    memory.state.add_masked(offset, uniform_at(position_key, step),
                            uniform_at(position_key, step | kLotCounters));
  }
}

std::vector<Sequence*> DecodeWork::in_turn() {
  std::vector<Sequence*> ready;
  for (const auto& s : active)
    if (prompt_ready(*s)) ready.push_back(s.get());
  if (!ready.empty() && std::ranges::none_of(ready, &Sequence::has_begun))
    aligner.restart((*std::ranges::max_element(ready, {}, &Sequence::masked_left))->masked_left());
  std::erase_if(ready,
                [&](const Sequence* s) { return !s->has_begun() && !aligner.may_begin(s->masked_left()); });
  aligner.advance();
  return ready;
}

std::vector<Sequence*> DecodeWork::gather() {
  std::vector<Sequence*> fused, plain;
  for (Sequence* s : in_turn()) {
    if (uncommitted_tokens(*s) == 0) {
      plain.push_back(s);
    } else if (settings.fused_commit) {
      fused.push_back(s);
    } else {
      add_commit(*s);
    }
  }
  // Segments of equal length side by side run as one attention batch.
  std::vector<Sequence*> denoised = std::move(fused);
  denoised.insert(denoised.end(), plain.begin(), plain.end());
  for (const Sequence* s : denoised) add_denoise(*s);
  return denoised;
}

std::optional<StepBound> DecodeWork::next_at_most() const {
  if (!accepts_by_quota(settings.acceptance.strategy) || scheduler.waits() ||
      denoised.size() != active.size())
    return std::nullopt;
  const int64_t b = config.block_size;
  StepBound bound;
  for (const Sequence* s : denoised) {
    if (const int64_t left = s->masked_left() - quota(*s); left > 0) {
      bound.rows += b;
      bound.masked += left;
    } else if (!s->in_last_block()) {
      bound.rows += settings.fused_commit ? 2 * b : b;
      bound.masked += settings.fused_commit ? b : 0;
    }
  }
  return bound.rows > 0 ? std::optional(bound) : std::nullopt;
}

void DecodeWork::record_rejected(Sequence& s, int64_t offset, const StepResult& result, size_t masked,
                                 size_t rejected) const {
  const bool has_mass = rejected < result.rejected.ids.size() && !result.rejected.ids[rejected].empty();
  if (settings.recorded == CandidateTerms::kDraws)
    s.record_draw(offset, result.tokens[masked], result.log_probs[masked]);
  if (has_mass)
    s.record_excluded(offset, result.rejected.ids[rejected], result.rejected.log_masses[rejected]);
  if (!result.kept.empty() && (has_mass || settings.recorded == CandidateTerms::kDraws))
    s.record_kept(offset, result.kept[masked]);
}

void DecodeWork::apply(const StepResult& result) {
  size_t next = 0, next_rejected = 0;
  for (Sequence* s : denoised) {
    for (int64_t offset = 0; offset < config.block_size; ++offset) {
      if (!s->masked(offset)) continue;
      const size_t i = next++;
      if (result.accepted[i]) {
        s->accept(offset, result.tokens[i], result.log_probs[i]);
        if (!result.kept.empty()) s->record_kept(offset, result.kept[i]);
      } else {
        record_rejected(*s, offset, result, i, next_rejected++);
      }
    }
    s->end_step();
  }
  BICRL_CHECK(next == result.tokens.size());
}

}  // namespace bicrl
