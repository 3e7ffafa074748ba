#include "sandbox/backend.h"

namespace bicrl {

TimingResult Backend::time(const TimingPlan&, std::stop_token) {
  TimingResult result;
  result.untimed = concat("the backend ", features().name, " has no clock");
  return result;
}

}  // namespace bicrl
