// Steps in a row in which no group of responses taught anything: within each all rewards were equal, or fewer
// than two counted. A run that goes on so learns nothing, and its step lines hardly show it. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "episode/figures.h"

namespace bicrl {

class IdleSteps {
 public:
  // After each step of reinforcement. Returns what to warn of, with the commonest outcome of the responses:
  // when kFirst steps were idle, and whenever their number has doubled. Empty otherwise.
  std::string note(const StepFigures& step);

  static constexpr int64_t kFirst = 5;

 private:
  int64_t steps_ = 0;
  int64_t warn_at_ = kFirst;
  int64_t responses_ = 0;
  std::map<std::string, int64_t> outcomes_;  // of the responses of these steps
};

}  // namespace bicrl
