// Objectives over what the sampler drew, not over the accepted tokens alone: at every denoise step each
// masked position has a term, with values of the sampler's record (rollout/record/candidate_record.h), in the
// sampler's own contexts. Which terms those are is the record's kind; the rest is the clipped surrogate,
// whose clip, divergence and normaliser are over these terms. Immutable; thread-safe.
#pragma once
#include "trainer/update/objective/clipped_surrogate.h"

namespace bicrl {

class CandidateLikelihood : public ClippedSurrogate {
 public:
  CandidateLikelihood(const char* name, CandidateTerms terms) : name_(name), terms_(terms) {}

  // Throws InputError if the rollout was sampled for another objective, which keeps no such record.
  LiveSequence sequence(const Experience& experience, const PolicyConfig& config,
                        const UpdateKey& key) const override;
  int64_t rounds_of_block(int64_t denoise_steps) const override { return denoise_steps; }
  // Each step accepts a position or more, and scores all that were masked.
  int64_t scored_of_block(int64_t block_size, int64_t denoise_steps) const override {
    return denoise_steps * block_size - denoise_steps * (denoise_steps - 1) / 2;
  }
  bool has_sampler_contexts() const override { return true; }
  bool scores_every_token() const override { return false; }  // but terms that ranks do not know of
  CandidateTerms recorded_candidates() const override { return terms_; }

 private:
  const char* name_;
  CandidateTerms terms_;
};

}  // namespace bicrl
