// Chooses the responses of a step that samples.jsonl keeps with their texts, for a person to read. Pure
// functions.
#pragma once
#include <cstdint>
#include <vector>

#include "episode/episode.h"

namespace bicrl {

// Indices of `most` episodes or fewer, in order, of those that have a text: the one with the largest reward,
// then a failure of each class, then the first of each group that has none yet. The classes take turns from
// step to step, so that a small number reaches all of them. Where `most` is 1, every other step keeps a
// failure.
std::vector<size_t> choose_samples(const std::vector<Episode>& episodes, int64_t step, int64_t most);

// Indices, in order, of those that choose_samples() may choose where these are part of a step's episodes,
// with whole groups: the choice among the candidates of all parts is that among all episodes.
std::vector<size_t> sample_candidates(const std::vector<Episode>& episodes, int64_t most);

}  // namespace bicrl
