#include "tasks/verification_request.h"

#include <charconv>
#include <cmath>

#include "common/error.h"

namespace bicrl {
namespace {

// The shortest text that reads back as the same number.
std::string exact(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

VerificationProtocol VerificationProtocol::or_else(const VerificationProtocol& defaults) const {
  VerificationProtocol filled = *this;
  if (atol == 0) filled.atol = defaults.atol;
  if (rtol == 0) filled.rtol = defaults.rtol;
  if (trials == 0) filled.trials = defaults.trials;
  filled.measure_time = measure_time || defaults.measure_time;
  return filled;
}

std::string to_string(const VerificationProtocol& protocol) {
  return concat("atol ", exact(protocol.atol), ", rtol ", exact(protocol.rtol), ", ", protocol.trials,
                " trials", protocol.measure_time ? ", times" : "");
}

std::string request_problem(const VerificationRequest& request) {
  if (request.pytorch_code.empty()) return "task.pytorch_code is empty";
  const VerificationProtocol& p = request.protocol;
  if (!(p.atol >= 0) || !std::isfinite(p.atol)) return concat("protocol.atol is ", p.atol);
  if (!(p.rtol >= 0) || !std::isfinite(p.rtol)) return concat("protocol.rtol is ", p.rtol);
  if (p.trials < 0 || p.trials > kMaxTrials)
    return concat("protocol.trials is ", p.trials, ", not within 0 to ", kMaxTrials);
  return {};
}

}  // namespace bicrl
