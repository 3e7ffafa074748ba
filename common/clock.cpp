#include "common/clock.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace bicrl {

std::string clock_text(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  char text[64];
  if (total < 60)
    snprintf(text, sizeof text, "%d s", static_cast<int>(total));
  else if (total < 3600)
    snprintf(text, sizeof text, "%d:%02d", static_cast<int>(total / 60), static_cast<int>(total % 60));
  else
    snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(total / 3600),
             static_cast<int>(total / 60 % 60), static_cast<int>(total % 60));
  return text;
}

}  // namespace bicrl
