// Record of a sampler's candidates, beside the tokens that it accepted in a response. For objectives that
// score how these came to be accepted. A plain value.
#pragma once
#include <cstdint>
#include <vector>

#include "common/error.h"

namespace bicrl {

// Of which positions a record has a term, beside the response's scored tokens. In both cases of tokens behind
// the end of the response, which the positions before it may have seen.
enum class CandidateTerms {
  kNone,     // no record
  kDraws,    // of every candidate that was not accepted: its log-probability
  kRejected  // of positions that stayed masked: the log-probability that their candidate was not accepted,
             // given what was; none if it is 0
};

// Parallel arrays, so that many of them are small.
struct CandidateRecord {
  CandidateTerms kind = CandidateTerms::kNone;
  std::vector<int32_t> tokens;  // [terms] index of the position, counted from the end of the prompt
  std::vector<int32_t> steps;   // [terms] denoise step, 1-based, of the whole response
  // [terms] 0: the position drew one id. Otherwise: it drew none of so many ids.
  std::vector<int32_t> excluded;
  std::vector<int32_t> ids;            // of each term one after the other: max(excluded, 1) ids
  std::vector<float> log_likelihoods;  // [terms] under the policy that sampled
  // With top-k or top-p alone: what each position drew among, whether it was accepted or has a term. Then
  // log-likelihoods here and of the response's tokens are under the distribution over these ids.
  std::vector<int32_t> kept_tokens, kept_steps;  // [restricted draws], as tokens and steps
  std::vector<int32_t> kept_counts;              // [restricted draws] ids
  std::vector<int32_t> kept_ids;                 // of each restricted draw one after the other, ascending

  int64_t restricted_draws() const { return static_cast<int64_t>(kept_tokens.size()); }
  int64_t terms() const { return static_cast<int64_t>(tokens.size()); }
  void add_draw(int64_t token, int64_t step, int64_t id, float log_prob);
  void add_excluded(int64_t token, int64_t step, const std::vector<int64_t>& not_drawn, float log_mass);
  void add_kept(int64_t token, int64_t step, const std::vector<int64_t>& drawn_among);
  bool operator==(const CandidateRecord&) const = default;
};

// The kind that a number stands for in a file. Throws InputError if none does.
inline CandidateTerms candidate_terms_of(int64_t number) {
  if (number < 0 || number > static_cast<int64_t>(CandidateTerms::kRejected))
    throw InputError("candidates: a value is out of range");
  return static_cast<CandidateTerms>(number);
}

// Throws Error if lengths do not belong together, or a term is of no position among `response_tokens`.
void check_record(const CandidateRecord& record, int64_t response_tokens, int64_t vocab_size);

}  // namespace bicrl
