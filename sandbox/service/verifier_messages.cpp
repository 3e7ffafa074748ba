#include "sandbox/service/verifier_messages.h"

#include <cmath>

#include "common/error.h"
#include "proto/verifier.pb.h"

namespace bicrl {

std::string request_problem(const verifier::v1::VerifyRequest& message) {
  constexpr int kMaxTrials = 32;
  if (message.task().pytorch_code().empty()) return "task.pytorch_code is empty";
  const auto& p = message.protocol();
  if (!(p.atol() >= 0) || !std::isfinite(p.atol())) return concat("protocol.atol is ", p.atol());
  if (!(p.rtol() >= 0) || !std::isfinite(p.rtol())) return concat("protocol.rtol is ", p.rtol());
  if (p.trials() < 0 || p.trials() > kMaxTrials)
    return concat("protocol.trials is ", p.trials(), ", not within 0 to ", kMaxTrials);
  return {};
}

VerifyRequest request_from(const verifier::v1::VerifyRequest& message, const VerifyProtocol& defaults) {
  VerifyRequest request;
  request.request_id = message.request_id();
  request.task_id = message.task().id();
  request.pytorch_code = message.task().pytorch_code();
  request.program = message.program();
  request.bypass_cache = message.bypass_cache();
  request.protocol = defaults;
  if (message.protocol().atol() > 0) request.protocol.atol = message.protocol().atol();
  if (message.protocol().rtol() > 0) request.protocol.rtol = message.protocol().rtol();
  if (message.protocol().trials() > 0) request.protocol.trials = message.protocol().trials();
  request.protocol.measure_time = message.protocol().measure_time();
  return request;
}

}  // namespace bicrl
