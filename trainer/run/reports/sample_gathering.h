// The samples of a step (sample_choice.h) on rank 0, which writes them, whichever rank generated them.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "episode/episode.h"
#include "policy/tokenizer/tokenizer.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/run/reports/text_archive.h"

namespace bicrl {

struct SampleGathering {
  int64_t most = 0;  // samples of a step
  const Tokenizer& tokenizer;
  int64_t block_tokens = 0;
};

// Collective. `generated`: whole episodes, of this rank; `log`: all of the step, by group and sample. On rank
// 0, the log gets text and verdict of those that choose_samples() may choose of it, and what their tokens say
// is returned. Other ranks send theirs.
std::map<EpisodeKey, TokenTexts> gather_samples(const std::vector<Episode>& generated,
                                                const SampleGathering& settings, ControlPlane& control,
                                                std::vector<Episode>& log);

}  // namespace bicrl
