// Objective `coupled`: two rounds under a random mask and its opposite, so that every token is scored once.
// Source: the alternatives of TraceRL.
#include "trainer/update/objective/clipped_surrogate.h"
#include "trainer/update/objective/random_masks.h"

namespace bicrl {
namespace {

class CoupledObjective : public ClippedSurrogate {
 public:
  LiveSequence sequence(const Experience& experience, const PolicyConfig& config,
                        const UpdateKey& key) const override {
    return masked_sequence(experience, config, /*coupled=*/true, mask_key(key.seed, key.step, experience));
  }
  int64_t rounds_of_block(int64_t) const override { return 2; }
  bool has_sampler_contexts() const override { return false; }
  bool scores_every_token() const override { return true; }
};

const ObjectiveRegistration kCoupledRegistered("coupled", {}, [](const ConfigSection&) {
  return std::make_shared<CoupledObjective>();
});

}  // namespace
}  // namespace bicrl
