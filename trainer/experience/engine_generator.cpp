#include "trainer/experience/engine_generator.h"

#include "common/error.h"
#include "trainer/ranks/device_use.h"

namespace bicrl {

GenerationEnd EngineGenerator::generate(std::vector<Episode>& episodes, const OnAnswer& on_answer) {
  BICRL_CHECK(episodes.size() == requests_.size(), requests_.size(), " requests");
  size_t answers = 0;
  DeviceUse use(engine_.policy().device());
  statistics_ = engine_.generate(
      decoding_, requests_, version_,
      [&](size_t index, Rollout rollout) {
        ++answers;
        episodes[index].last().rollout = std::move(rollout);
        on_answer(index);
      },
      &use, goes_on_);
  return {.is_complete = answers == episodes.size(), .lent_seconds = use.waited_seconds()};
}

}  // namespace bicrl
