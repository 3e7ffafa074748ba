// Objective `random_masking`: one round, which masks and scores each token with probability one half. Source:
// the alternatives of TraceRL.
#include "trainer/update/objective/clipped_surrogate.h"
#include "trainer/update/objective/random_masks.h"

namespace bicrl {
namespace {

class RandomMaskingObjective : public ClippedSurrogate {
 public:
  LiveSequence sequence(const Experience& experience, const PolicyConfig& config,
                        const UpdateKey& key) const override {
    return masked_sequence(experience, config, /*coupled=*/false, mask_key(key.seed, key.step, experience));
  }
  int64_t rounds_of_block(int64_t) const override { return 1; }
  bool has_sampler_contexts() const override { return false; }
  bool scores_every_token() const override { return false; }
};

const ObjectiveRegistration kRandomMaskingRegistered("random_masking", {}, [](const ConfigSection&) {
  return std::make_shared<RandomMaskingObjective>();
});

}  // namespace
}  // namespace bicrl
