#include "trainer/ranks/torch_error.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace bicrl {

std::string words_of(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (!torch) return error.what();
  std::string words = torch->what_without_backtrace();
  // Failures of CUDA have their place in torch's sources behind them.
  words.resize(std::min(words.size(), words.find("\nException raised from")));
  if (dynamic_cast<const c10::OutOfMemoryError*>(torch) || words.find("ALLOC_FAILED") != words.npos)
    words +=
        "\nThe device has too little memory left: is somebody else on it? Smaller: rollout.max_active, "
        "rollout.cache_tokens, update.tokens_per_pack";
  return words;
}

}  // namespace bicrl
