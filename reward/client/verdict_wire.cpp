#include "reward/client/verdict_wire.h"

#include "common/utf8.h"
#include "proto/verifier.pb.h"

namespace bicrl {
namespace wire = verifier::v1;

void to_wire(const VerificationRequest& request, const VerifierClientOptions& protocol,
             wire::VerifyRequest& message) {
  message.Clear();
  message.set_request_id(to_utf8(request.request_id));
  message.mutable_task()->set_id(to_utf8(request.task_id));
  message.mutable_task()->set_pytorch_code(to_utf8(request.pytorch_code));
  message.set_program(to_utf8(request.program));
  message.mutable_protocol()->set_atol(protocol.atol);
  message.mutable_protocol()->set_rtol(protocol.rtol);
  message.mutable_protocol()->set_trials(protocol.trials);
  message.mutable_protocol()->set_measure_time(protocol.measure_time);
  message.set_bypass_cache(request.fresh);
}

VerifierDescription from_wire(const wire::DescribeReply& message, const std::string& address) {
  VerifierDescription d;
  d.address = address;
  d.backend = message.backend();
  d.protocol_version = message.protocol_version();
  d.workers = message.workers();
  d.sandbox_features.assign(message.sandbox_features().begin(), message.sandbox_features().end());
  d.missing_features.assign(message.missing_features().begin(), message.missing_features().end());
  d.verified = message.verified();
  d.cache_hits = message.cache_hits();
  return d;
}

}  // namespace bicrl
