#include "tests/reward/fake_verifier.h"

#include <stdexcept>

#include "verdict/verifier_description.h"

namespace bicrl::testing {

namespace wire = verifier::v1;

namespace {
thread_local grpc::ServerContext* current_context = nullptr;
}

bool FakeVerifier::is_cancelled() { return current_context->IsCancelled(); }

FakeVerifier::FakeVerifier(Answer answer) : answer_(std::move(answer)) { start(); }

FakeVerifier::~FakeVerifier() { stop(); }

void FakeVerifier::start() {
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port_), grpc::InsecureServerCredentials(), &bound);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (!server_ || bound == 0) throw std::runtime_error("the fake verifier cannot listen");
  port_ = bound;
}

void FakeVerifier::stop() {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

std::string FakeVerifier::address() const { return "127.0.0.1:" + std::to_string(port_); }

int FakeVerifier::calls_for(const std::string& program) const {
  std::lock_guard lock(mutex_);
  const auto found = calls_by_program_.find(program);
  return found == calls_by_program_.end() ? 0 : found->second;
}

grpc::Status FakeVerifier::answer_correct(const Request& request, int, Reply& reply) {
  reply.set_outcome(wire::OUTCOME_GRADED);
  reply.set_compiled(true);
  reply.set_correct(true);
  reply.set_diagnostics("program " + request.program());
  return grpc::Status::OK;
}

grpc::Status FakeVerifier::Verify(grpc::ServerContext* context, const Request* request, Reply* reply) {
  current_context = context;
  const int now = ++now_;
  for (int most = most_at_once_; now > most && !most_at_once_.compare_exchange_weak(most, now);) {
  }
  ++calls_;
  int call = 0;
  {
    std::lock_guard lock(mutex_);
    call = ++calls_by_program_[request->program()];
  }
  reply->set_request_id(request->request_id());
  const grpc::Status status = answer_(*request, call, *reply);
  --now_;
  return status;
}

grpc::Status FakeVerifier::Describe(grpc::ServerContext*, const wire::DescribeRequest*,
                                    wire::DescribeReply* reply) {
  reply->set_backend("fake");
  reply->set_protocol_version(kProtocolVersion);
  reply->mutable_protocol()->set_trials(3);
  reply->mutable_protocol()->set_tolerance("published");
  reply->set_workers(3);
  reply->add_sandbox_features("none");
  reply->add_missing_features("all: this is a test");
  reply->set_verified(calls_);
  return grpc::Status::OK;
}

}  // namespace bicrl::testing
