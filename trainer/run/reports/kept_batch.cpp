#include "trainer/run/reports/kept_batch.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {

std::filesystem::path keep_samples(const std::filesystem::path& run, const std::string& phase, int64_t step,
                                   int rank, const std::vector<SftSample>& samples) {
  const std::filesystem::path folder = run / "batches" / concat(phase, "-", step);
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  nlohmann::json written = nlohmann::json::array();
  for (const SftSample& sample : samples)
    written.push_back({{"tokens", sample.tokens},
                       {"prompt_tokens", sample.prompt_tokens},
                       {"response_tokens", sample.response_tokens},
                       {"noise_key", sample.noise_key}});
  write_file_atomically(folder / concat("rank-", rank, ".json"), written.dump() + "\n");
  return folder;
}

}  // namespace bicrl
