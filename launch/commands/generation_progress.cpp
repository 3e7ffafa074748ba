#include "launch/commands/generation_progress.h"

#include <algorithm>

#include "common/log.h"

namespace bicrl {
namespace {

constexpr double kSecondsBetweenLines = 10;

}  // namespace

double GenerationPace::tokens_per_second() const {
  return seconds > 0 ? static_cast<double>(generated_tokens) / seconds : 0;
}

double GenerationPace::seconds_left() const {
  const double rate = tokens_per_second();
  if (rate <= 0) return -1;
  const double length = ended > 0 ? static_cast<double>(ended_tokens) / static_cast<double>(ended)
                                  : static_cast<double>(max_new_tokens);
  const double left =
      length * static_cast<double>(responses - done) - static_cast<double>(generated_tokens - ended_tokens);
  return std::max(0.0, left) / rate;
}

std::string to_string(const GenerationPace& pace) {
  const double left = pace.seconds_left();
  if (left < 0) return "";
  const std::string rate = concat(static_cast<int64_t>(pace.tokens_per_second()), " tokens/s");
  return pace.done < pace.responses ? concat(rate, "  ETA ", clock_text(left)) : rate;
}

GenerationProgress::GenerationProgress(int64_t responses, int64_t done) {
  if (can_show_progress()) bar_.emplace("generating", responses, "responses", done);
}

void GenerationProgress::show(const GenerationPace& pace) {
  if (bar_) return bar_->set(pace.done, to_string(pace));
  if (since_line_.seconds() < kSecondsBetweenLines) return;
  since_line_.restart();
  log_info(pace.done, " of ", pace.responses, " responses  ", to_string(pace));
}

}  // namespace bicrl
