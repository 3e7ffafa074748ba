// Objective `trace` (TraceRL): a round masks what the sampler had not accepted yet, and scores what it
// accepted next. `shrink` of the sampler's steps are one round; with 1 every context is the sampler's own.
#include "trainer/update/objective/clipped_surrogate.h"

namespace bicrl {
namespace {

class TraceObjective : public ClippedSurrogate {
 public:
  explicit TraceObjective(const ConfigSection& section) : shrink_(section.integer("shrink", 1, 1)) {}

  LiveSequence sequence(const Experience& experience, const PolicyConfig& config,
                        const UpdateKey&) const override {
    return rollout_sequence(experience, config, shrink_);
  }
  int64_t rounds_of_block(int64_t denoise_steps) const override {
    return (denoise_steps + shrink_ - 1) / shrink_;
  }
  bool has_sampler_contexts() const override { return shrink_ == 1; }
  bool scores_every_token() const override { return true; }

 private:
  int64_t shrink_;
};

const ObjectiveRegistration kTraceRegistered("trace", {"shrink"}, [](const ConfigSection& section) {
  return std::make_shared<TraceObjective>(section);
});

}  // namespace
}  // namespace bicrl
