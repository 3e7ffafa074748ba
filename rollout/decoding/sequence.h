// One response while it is generated: its tokens, the block being denoised, and the step map. Host state
// only; owns its request, refers to the tokenizer; not thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/attention/kv_cache.h"
#include "policy/policy_config.h"
#include "rollout/decoding/response_end.h"
#include "rollout/generation_request.h"
#include "rollout/rollout.h"

namespace bicrl {

class Sequence {
 public:
  Sequence(GenerationRequest request, int64_t number, KvCache::SlotId slot, const PolicyConfig& config,
           const Tokenizer& tokenizer, int64_t max_new_tokens,
           CandidateTerms recorded = CandidateTerms::kNone, int64_t drawn_tokens = 0);

  const GenerationRequest& request() const { return request_; }
  int64_t number() const { return number_; }  // of the request
  KvCache::SlotId slot() const { return slot_; }

  int64_t block_start() const { return block_start_; }
  bool masked(int64_t offset) const { return masked_[offset] != 0; }  // position block_start() + offset
  int64_t step_in_block() const { return step_in_block_; }            // denoise steps the block has had
  bool has_begun() const { return steps_ > 0; }                       // to be denoised
  int64_t masked_left() const { return masked_left_; }
  int64_t next_step() const { return steps_ + 1; }  // 1-based, of the whole sequence
  // No block comes behind the current one.
  bool in_last_block() const { return block_start_ + block_size_ - prompt_tokens_ >= max_new_tokens_; }
  // Prompt, finished blocks, and the current block with MASK at the positions that are still open.
  const std::vector<int64_t>& tokens() const { return tokens_; }

  void accept(int64_t offset, int64_t token, float log_prob);
  // Of a masked position that this step does not accept: what it drew, or ids that it cannot have drawn.
  void record_draw(int64_t offset, int64_t id, float log_prob);
  void record_excluded(int64_t offset, const std::vector<int64_t>& ids, float log_mass);
  // Of a masked position, accepted in this step or not: what it drew among.
  void record_kept(int64_t offset, const std::vector<int64_t>& ids);
  void end_step();
  bool block_finished() const { return masked_left_ == 0; }
  // Reads a finished block: true if the response has ended; otherwise the next block is open.
  bool close_block();
  // After close_block() returned true.
  Rollout take_rollout(int64_t policy_version);

 private:
  void open_block();
  void record_unscored(int64_t scored_tokens);

  GenerationRequest request_;
  int64_t number_;
  KvCache::SlotId slot_;
  int64_t block_size_, mask_token_, prompt_tokens_, max_new_tokens_;
  ResponseReader reader_;
  std::vector<int64_t> tokens_;
  std::vector<char> masked_;  // [block_size]
  int64_t masked_left_ = 0;
  int64_t block_start_ = 0;
  int64_t step_in_block_ = 0;
  int64_t steps_ = 0;
  std::vector<int32_t> step_map_;
  std::vector<float> log_probs_;
  CandidateRecord candidates_;
};

}  // namespace bicrl
