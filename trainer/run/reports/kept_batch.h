// Writes the samples of a supervised update to the run directory, to find the cause of a bad one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/update/packing/sft.h"

namespace bicrl {

// RUN/batches/PHASE-STEP/rank-R.json: the samples' tokens and noise. Returns the folder; throws Error.
std::filesystem::path keep_samples(const std::filesystem::path& run, const std::string& phase, int64_t step,
                                   int rank, const std::vector<SftSample>& samples);

}  // namespace bicrl
