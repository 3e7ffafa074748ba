#include "sandbox/verifier/backend.h"

namespace bicrl {

RunResult Backend::check_launches(const Trace&, const std::vector<DeviceModule>&, std::stop_token) {
  return {};
}

TimingResult Backend::time(const TimingPlan&, std::stop_token) {
  TimingResult result;
  result.untimed = concat("the backend ", features().name, " has no clock");
  return result;
}

SampleResult Backend::sample_blocks(const SamplePlan&, std::stop_token) { return {}; }

OwnSizeResult Backend::judge_own_size(const OwnSizePlan&, std::stop_token) {
  OwnSizeResult result;
  result.ungradable = concat("the backend ", features().name, " runs nothing at own sizes of large tasks");
  return result;
}

SanitizerReport Backend::sanitize(const RunPlan&, const std::vector<std::string>&, std::stop_token) {
  return {.findings = {}, .problem = concat("the backend ", features().name, " has no compute-sanitizer")};
}

}  // namespace bicrl
