#include "reward/client/verification_call.h"

#include "common/error.h"
#include "reward/client/call_failure.h"
#include "verdict/verifier_wire.h"

namespace bicrl::verification {

gpr_timespec deadline_after(double seconds) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros(int64_t(seconds * 1e6), GPR_TIMESPAN));
}

std::optional<Problem> find_problem(const Call& call, const std::string& address, Verdict& verdict) {
  if (const int code = call.status.error_code(); code != grpc::StatusCode::OK) {
    const bool permanent = is_permanent(code), busy = code == grpc::StatusCode::RESOURCE_EXHAUSTED;
    return Problem{concat(address, ": ", explain_status(code, call.status.error_message())), permanent,
                   !permanent, busy};
  }
  const Result<Verdict> read = from_wire(call.reply);
  if (!read) return Problem{concat(address, ": ", read.reason())};
  if (call.reply.request_id() != call.job->message.request_id())
    return Problem{concat(address, ": the reply is to request '", call.reply.request_id(), "', not to '",
                          call.job->message.request_id(), "'")};
  verdict = read.value();
  if (verdict.outcome == Outcome::kInfrastructure)
    return Problem{concat(address, ": reports an infrastructure fault (", verdict.diagnostics, ")"), true};
  return std::nullopt;
}

}  // namespace bicrl::verification
