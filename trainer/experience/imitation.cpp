#include "trainer/experience/imitation.h"

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {

ImitationSettings ImitationSettings::from_config(const ConfigSection& section) {
  ImitationSettings s;
  s.updates = section.integer("updates", s.updates, 0, 1000);
  if (s.updates == 0) {
    for (const char* key : {"samples", "known_share", "known", "sft"})
      section.refuse_without_effect(key, "with 'updates: 0'");
    return s;
  }
  s.samples = section.integer("samples", s.samples, 1, 1'000'000);
  s.known_share = section.real("known_share", s.known_share, 0, 1);
  if (s.known_share > 0)
    s.known = parse_known_programs(section.choice("known", "best", known_programs_names()));
  else
    section.refuse_without_effect("known", "with 'known_share: 0'");
  s.sft = SftSettings::from_config(section.section("sft"));
  return s;
}

std::vector<SupervisedBatch> imitated_batches(const BestResponses& best, const KnownSamples& known,
                                              Stage stage, const ImitationSettings& settings,
                                              const PolicyConfig& policy, const Placement& placement,
                                              int rank, uint64_t key) {
  std::vector<SupervisedBatch> batches;
  for (int64_t update = 0; update < settings.updates; ++update) {
    SupervisedBatch batch;
    for (int64_t i = 0; i < settings.samples; ++i) {
      RandomStream draw(mix_key({key, static_cast<uint64_t>(update), static_cast<uint64_t>(i)}));
      const bool prefers_known = draw.uniform() < settings.known_share;
      const ResponseTokens* tokens =
          prefers_known && !known.empty() ? nullptr : best.draw(draw.next(), stage);
      if (!tokens && (settings.known_share == 0 || known.empty())) return {};
      SftSample sample =
          tokens ? make_sft_sample(tokens->prompt, tokens->response, policy, draw.next()) : known.draw(draw);
      batch.supervised_tokens += sample.response_tokens;
      if (placement.trainer_of(i) == rank) batch.mine.push_back(std::move(sample));
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

}  // namespace bicrl
