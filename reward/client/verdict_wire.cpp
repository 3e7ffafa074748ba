#include "reward/client/verdict_wire.h"

#include "common/utf8.h"
#include "proto/verifier.pb.h"

namespace bicrl {
namespace {

namespace wire = verifier::v1;

wire::Outcome to_wire(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGraded:
      return wire::OUTCOME_GRADED;
    case Outcome::kCandidateFault:
      return wire::OUTCOME_CANDIDATE_FAULT;
    case Outcome::kInfrastructure:
      return wire::OUTCOME_INFRASTRUCTURE;
  }
  return wire::OUTCOME_UNSPECIFIED;
}

}  // namespace

Result<Verdict> from_wire(const wire::Verdict& message) {
  Verdict v;
  switch (message.outcome()) {
    case wire::OUTCOME_GRADED:
      v.outcome = Outcome::kGraded;
      break;
    case wire::OUTCOME_CANDIDATE_FAULT:
      v.outcome = Outcome::kCandidateFault;
      break;
    case wire::OUTCOME_INFRASTRUCTURE:
      v.outcome = Outcome::kInfrastructure;
      break;
    default:
      return Result<Verdict>::failure(
          concat("the reply states no known outcome (", int(message.outcome()), ")"));
  }
  v.request_id = message.request_id();
  v.fault_class = message.fault_class();
  v.stage = message.stage();
  v.compiled = message.compiled();
  v.correct = message.correct();
  v.trials = message.trials();
  v.trials_passed = message.trials_passed();
  v.max_error_ratio = message.max_error_ratio();
  v.tier = message.tier();
  v.legality = message.legality();
  v.coverage = message.coverage();
  v.candidate_ms = message.times().candidate_ms();
  v.eager_ms = message.times().eager_ms();
  v.candidate_spread_ms = message.times().candidate_spread_ms();
  v.eager_spread_ms = message.times().eager_spread_ms();
  v.torch_compile_ms = message.times().torch_compile_ms();
  v.roofline_fraction = message.roofline_fraction();
  v.clock = message.times().clock();
  v.diagnostics = message.diagnostics();
  v.compile_ms = message.compile_ms();
  v.record_ms = message.record_ms();
  v.replay_ms = message.replay_ms();
  v.total_ms = message.total_ms();
  v.cached = message.cached();
  v.backend = message.backend();
  if (const std::string problem = verdict_problem(v); !problem.empty())
    return Result<Verdict>::failure("the reply contradicts itself: " + problem);
  return v;
}

void to_wire(const Verdict& verdict, wire::Verdict& message) {
  message.Clear();
  message.set_request_id(to_utf8(verdict.request_id));
  message.set_outcome(to_wire(verdict.outcome));
  message.set_fault_class(verdict.fault_class);
  message.set_stage(verdict.stage);
  message.set_compiled(verdict.compiled);
  message.set_correct(verdict.correct);
  message.set_trials(verdict.trials);
  message.set_trials_passed(verdict.trials_passed);
  message.set_max_error_ratio(verdict.max_error_ratio);
  message.set_tier(verdict.tier);
  message.set_legality(verdict.legality);
  message.set_coverage(verdict.coverage);
  wire::Times& times = *message.mutable_times();
  times.set_candidate_ms(verdict.candidate_ms);
  times.set_eager_ms(verdict.eager_ms);
  times.set_candidate_spread_ms(verdict.candidate_spread_ms);
  times.set_eager_spread_ms(verdict.eager_spread_ms);
  times.set_torch_compile_ms(verdict.torch_compile_ms);
  times.set_clock(verdict.clock);
  message.set_diagnostics(to_utf8(verdict.diagnostics));
  message.set_compile_ms(verdict.compile_ms);
  message.set_record_ms(verdict.record_ms);
  message.set_replay_ms(verdict.replay_ms);
  message.set_total_ms(verdict.total_ms);
  message.set_cached(verdict.cached);
  message.set_backend(verdict.backend);
  message.set_roofline_fraction(verdict.roofline_fraction);
}

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
