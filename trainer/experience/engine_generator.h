// Generates answers with a rank's engine. Refers to what it is given and owns nothing. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "episode/episode_pipeline.h"
#include "rollout/decoding/decode_engine.h"

namespace bicrl {

class EngineGenerator : public EpisodeGenerator {
 public:
  // `requests`: one for each episode, in their order. `goes_on` as in DecodeEngine::generate().
  EngineGenerator(DecodeEngine& engine, const DecodingSettings& decoding,
                  std::vector<GenerationRequest> requests, int64_t policy_version,
                  DecodeEngine::GoesOn goes_on = {})
      : engine_(engine),
        decoding_(decoding),
        requests_(std::move(requests)),
        version_(policy_version),
        goes_on_(std::move(goes_on)) {}

  // On a GPU the device is lent to verifiers that measure times. Throws InputError if a request does not fit
  // the policy, Error if the policy is broken.
  GenerationEnd generate(std::vector<Episode>& episodes, const OnAnswer& on_answer) override;
  const DecodingStatistics& statistics() const { return statistics_; }  // of the last generate()

 private:
  DecodeEngine& engine_;
  const DecodingSettings& decoding_;
  std::vector<GenerationRequest> requests_;
  int64_t version_;
  DecodeEngine::GoesOn goes_on_;
  DecodingStatistics statistics_;
};

}  // namespace bicrl
