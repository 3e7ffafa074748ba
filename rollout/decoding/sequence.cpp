#include "rollout/decoding/sequence.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

Sequence::Sequence(GenerationRequest request, int64_t number, KvCache::SlotId slot,
                   const PolicyConfig& config, const Tokenizer& tokenizer, int64_t max_new_tokens,
                   CandidateTerms recorded, int64_t drawn_tokens)
    : request_(std::move(request)),
      number_(number),
      slot_(slot),
      block_size_(config.block_size),
      mask_token_(config.mask_token_id),
      prompt_tokens_(static_cast<int64_t>(request_.prompt_tokens.size())),
      max_new_tokens_(max_new_tokens),
      reader_(tokenizer, config.end_token_ids, request_.delimiter, drawn_tokens),
      tokens_(request_.prompt_tokens) {
  candidates_.kind = recorded;
  block_start_ = prompt_tokens_ / block_size_ * block_size_;
  open_block();
}

// The first block keeps the prompt's tail as given.
void Sequence::open_block() {
  const int64_t given = static_cast<int64_t>(tokens_.size()) - block_start_;
  masked_.assign(block_size_, 1);
  std::fill(masked_.begin(), masked_.begin() + given, 0);
  masked_left_ = block_size_ - given;
  step_in_block_ = 0;
  tokens_.resize(block_start_ + block_size_, mask_token_);
  step_map_.resize(tokens_.size() - prompt_tokens_, 0);
  log_probs_.resize(tokens_.size() - prompt_tokens_, 0.0f);
}

void Sequence::accept(int64_t offset, int64_t token, float log_prob) {
  BICRL_CHECK(masked(offset), "position ", block_start_ + offset, " of task ", request_.task_id,
              " is not masked");
  masked_[offset] = 0;
  --masked_left_;
  const int64_t position = block_start_ + offset;
  tokens_[position] = token;
  step_map_[position - prompt_tokens_] = static_cast<int32_t>(next_step());
  log_probs_[position - prompt_tokens_] = log_prob;
}

void Sequence::record_draw(int64_t offset, int64_t id, float log_prob) {
  candidates_.add_draw(block_start_ + offset - prompt_tokens_, next_step(), id, log_prob);
}

void Sequence::record_excluded(int64_t offset, const std::vector<int64_t>& ids, float log_mass) {
  candidates_.add_excluded(block_start_ + offset - prompt_tokens_, next_step(), ids, log_mass);
}

void Sequence::record_kept(int64_t offset, const std::vector<int64_t>& ids) {
  candidates_.add_kept(block_start_ + offset - prompt_tokens_, next_step(), ids);
}

// What was accepted behind the end, while positions before it were open.
void Sequence::record_unscored(int64_t scored_tokens) {
  for (size_t i = static_cast<size_t>(scored_tokens); i < step_map_.size(); ++i)
    candidates_.add_draw(static_cast<int64_t>(i), step_map_[i], tokens_[prompt_tokens_ + i], log_probs_[i]);
}

void Sequence::end_step() {
  ++steps_;
  ++step_in_block_;
}

bool Sequence::close_block() {
  BICRL_CHECK(block_finished());
  const int64_t size = static_cast<int64_t>(tokens_.size());
  for (int64_t i = std::max(block_start_, prompt_tokens_); i < size; ++i) {
    if (reader_.read(tokens_[i])) return true;
  }
  if (in_last_block()) return true;
  block_start_ = size;
  open_block();
  return false;
}

Rollout Sequence::take_rollout(int64_t policy_version) {
  ResponseEnd end = reader_.end();
  if (candidates_.kind != CandidateTerms::kNone) record_unscored(end.scored_tokens);
  // What was generated behind the end stays as context of the last block, but is not scored.
  std::for_each(step_map_.begin() + end.scored_tokens, step_map_.end(), [](int32_t& step) { step = -step; });
  std::fill(log_probs_.begin() + end.scored_tokens, log_probs_.end(), 0.0f);
  Rollout rollout;
  rollout.task_id = request_.task_id;
  rollout.policy_version = policy_version;
  rollout.tokens = std::move(tokens_);
  rollout.prompt_tokens = prompt_tokens_;
  rollout.step_map = std::move(step_map_);
  rollout.log_probs = std::move(log_probs_);
  rollout.finish = end.reason;
  if (end.reason != FinishReason::kTokenLimit)
    rollout.tokens_left = std::max<int64_t>(0, max_new_tokens_ - end.scored_tokens);
  rollout.text = request_.clamp_prefix + end.text + request_.delimiter + request_.clamp_suffix;
  rollout.clamped = !request_.delimiter.empty();
  rollout.denoise_steps = steps_;
  rollout.candidates = std::move(candidates_);
  return rollout;
}

}  // namespace bicrl
