// Progress display of a generation: a bar on a terminal, else a line of the log now and then.
#pragma once
#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/progress_bar.h"

namespace bicrl {

// What is left of a generation, by what it has done since it began.
struct GenerationPace {
  int64_t responses = 0;         // asked for
  int64_t done = 0;              // of them, those that lay there included
  int64_t ended = 0;             // of those done: since the beginning
  int64_t ended_tokens = 0;      // of these
  int64_t generated_tokens = 0;  // those of responses in work included
  int64_t max_new_tokens = 0;    // of a response
  double seconds = 0;

  double tokens_per_second() const;
  // Responses to come are taken to be as long as those that have ended, or as long as can be as long as none
  // has. Negative: not known.
  double seconds_left() const;
};

// "830 tokens/s  ETA 0:12"; empty as long as nothing is known.
std::string to_string(const GenerationPace& pace);

// Not thread-safe.
class GenerationProgress {
 public:
  GenerationProgress(int64_t responses, int64_t done);
  void show(const GenerationPace& pace);

 private:
  std::optional<ProgressBar> bar_;
  Stopwatch since_line_;
};

}  // namespace bicrl
