// Record of how a response was denoised, token by token, for a person to look at. It holds a kept response's
// tokens as pieces of its text, with the denoise step and the log-probability of each. Plain values; pure
// functions.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rollout/rollout.h"

namespace bicrl {

struct DenoisingRecord {
  int64_t block_tokens = 0;     // of a whole block
  int64_t offset_in_block = 0;  // of the first token: prompts end within blocks
  // The tokens' text is `text_bytes` of the response's text from `text_begin` on, and then `tail`: what the
  // response's text does not hold, such as an end token and what was generated behind it.
  int64_t text_begin = 0;
  int64_t text_bytes = 0;
  std::string tail{};
  // A value for each token.
  std::vector<int32_t> bytes{};    // of its piece
  std::vector<int32_t> steps{};    // Rollout::step_map
  std::vector<float> log_probs{};  // Rollout::log_probs, rounded to 0.01
  bool operator==(const DenoisingRecord&) const = default;
};

// `pieces`: the text of each token behind the prompt, as its raw bytes; `prompt`: the text before them.
DenoisingRecord denoising_record(const Rollout& rollout, const std::vector<std::string>& pieces,
                                 const std::string& prompt, int64_t block_tokens);

// Each token's piece, given the response's text; empty if the record does not fit it.
std::vector<std::string> pieces_of(const DenoisingRecord& record, const std::string& text);

nlohmann::json to_json(const DenoisingRecord& record);
DenoisingRecord denoising_record_from_json(const nlohmann::json& json);  // throws InputError

}  // namespace bicrl
