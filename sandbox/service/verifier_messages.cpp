#include "sandbox/service/verifier_messages.h"

#include <cmath>

#include "common/error.h"
#include "common/utf8.h"
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

void fill_message(const Verdict& verdict, verifier::v1::Verdict* message) {
  message->set_request_id(verdict.request_id);
  switch (verdict.outcome) {
    case Outcome::kGraded:
      message->set_outcome(verifier::v1::OUTCOME_GRADED);
      break;
    case Outcome::kCandidateFault:
      message->set_outcome(verifier::v1::OUTCOME_CANDIDATE_FAULT);
      break;
    case Outcome::kInfrastructure:
      message->set_outcome(verifier::v1::OUTCOME_INFRASTRUCTURE);
      break;
  }
  message->set_fault_class(verdict.fault_class);
  message->set_stage(verdict.stage);
  message->set_compiled(verdict.compiled);
  message->set_correct(verdict.correct);
  message->set_trials(verdict.trials);
  message->set_trials_passed(verdict.trials_passed);
  message->set_max_error_ratio(verdict.max_error_ratio);
  message->set_tier(verdict.tier);
  message->set_legality(verdict.legality);
  message->set_coverage(verdict.coverage);
  auto* times = message->mutable_times();
  times->set_candidate_ms(verdict.candidate_ms);
  times->set_eager_ms(verdict.eager_ms);
  times->set_candidate_spread_ms(verdict.candidate_spread_ms);
  times->set_eager_spread_ms(verdict.eager_spread_ms);
  times->set_torch_compile_ms(verdict.torch_compile_ms);
  times->set_clock(verdict.clock);
  // Diagnostics quote what the candidate printed; a reply that is no UTF-8 would not arrive.
  message->set_diagnostics(to_utf8(verdict.diagnostics));
  message->set_compile_ms(verdict.compile_ms);
  message->set_record_ms(verdict.record_ms);
  message->set_replay_ms(verdict.replay_ms);
  message->set_total_ms(verdict.total_ms);
  message->set_cached(verdict.cached);
  message->set_backend(verdict.backend);
  message->set_roofline_fraction(verdict.roofline_fraction);
}

}  // namespace bicrl
