// A request for one response. A plain value.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

struct GenerationRequest {
  std::string task_id;
  // Requests of one non-negative group have equal prompt tokens, which are computed and stored once.
  // Negative: on its own.
  int64_t group = -1;
  // All that the response's draws depend on, with position and denoise step.
  uint64_t key = 0;
  std::vector<int64_t> prompt_tokens;  // the whole given context, the clamped prefix included; not empty
  int64_t max_new_tokens = 0;          // 0: as the settings say
  int64_t new_tokens(int64_t by_settings) const { return max_new_tokens > 0 ? max_new_tokens : by_settings; }
  // Clamped infilling: the response ends as soon as the generated text holds `delimiter`; its program is
  // clamp_prefix + generated + delimiter + clamp_suffix. All empty for a free response.
  std::string clamp_prefix;
  std::string delimiter;
  std::string clamp_suffix;
};

}  // namespace bicrl
