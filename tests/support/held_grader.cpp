#include "tests/support/held_grader.h"

#include <chrono>
#include <thread>

#include "common/rng.h"
#include "tests/reward/fake_verifier.h"

namespace bicrl::testing {

namespace wire = verifier::v1;

struct HeldGrader::Server {
  explicit Server(FakeVerifier::Answer answer) : verifier(std::move(answer)) {}
  FakeVerifier verifier;
};

HeldGrader::HeldGrader()
    : server_(std::make_unique<Server>([this](const auto& asked, int call, auto& reply) {
        const Question question{asked.program(), asked.bypass_cache()};
        while (holds && is_held(question)) {
          if (FakeVerifier::is_cancelled()) return grpc::Status::CANCELLED;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        if (is_refused(question)) return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "refused");
        FakeVerifier::answer_correct(asked, call, reply);
        reply.set_correct(mix_key(1, asked.program()) % 3 != 0);
        if (!reply.correct()) reply.set_fault_class("wrong_value");
        if (const auto outcome = other_outcome(question)) {
          reply.set_correct(false);
          reply.set_outcome(*outcome == Outcome::kUndecided     ? wire::OUTCOME_UNDECIDED
                            : *outcome == Outcome::kInvalidTask ? wire::OUTCOME_INVALID_TASK
                                                                : wire::OUTCOME_CANDIDATE_FAULT);
          reply.set_fault_class(*outcome == Outcome::kCandidateFault ? "compile" : "");
          reply.set_diagnostics("says the grader");
        }
        return grpc::Status::OK;
      })) {}

HeldGrader::~HeldGrader() = default;

std::string HeldGrader::address() const { return server_->verifier.address(); }
int HeldGrader::calls() const { return server_->verifier.calls(); }
int HeldGrader::calls_for(const std::string& program) const { return server_->verifier.calls_for(program); }

}  // namespace bicrl::testing
