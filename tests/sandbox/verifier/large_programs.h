// Programs of our own for problems of KernelBench's level 1 at their published sizes (tests/large): in
// ordinary style, specialised to their size, and incorrect ones. The problems are published data: whoever
// asks for entries is skipped without.
#pragma once
#include <vector>

#include "tests/sandbox/verifier/corpus.h"

namespace bicrl::testing {

// An ordinary one that has a modelled time expects "timed" besides, whichever reduced sizes are drawn.
enum class LargeKind { kOrdinary, kSpecialised, kNeighbours };
std::vector<CorpusEntry> large_entries(LargeKind kind);
std::vector<CorpusEntry> hostile_large_entries();

}  // namespace bicrl::testing
