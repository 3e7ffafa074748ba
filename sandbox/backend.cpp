#include "sandbox/backend.h"

namespace bicrl {

TimingResult Backend::time(const TimingPlan&, std::stop_token) {
  TimingResult result;
  result.untimed = concat("the backend ", features().name, " has no clock");
  return result;
}

SanitizerResult Backend::sanitize(const RunPlan&, const std::vector<std::string>&, std::stop_token) {
  SanitizerResult result;
  result.problem = concat("the backend ", features().name, " has no compute-sanitizer");
  return result;
}

}  // namespace bicrl
