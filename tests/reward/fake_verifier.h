// A verifier that misbehaves on request: a real gRPC server on loopback whose answers the test writes.
#pragma once
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "proto/verifier.grpc.pb.h"

namespace bicrl::testing {

class FakeVerifier final : public verifier::v1::Verifier::Service {
 public:
  using Request = verifier::v1::VerifyRequest;
  using Reply = verifier::v1::Verdict;
  // `call` counts the calls for the same program, from 1.
  using Answer = std::function<grpc::Status(const Request&, int call, Reply&)>;

  explicit FakeVerifier(Answer answer = answer_correct);
  ~FakeVerifier() override;

  // Graded correct; the diagnostics say for which program.
  static grpc::Status answer_correct(const Request& request, int call, Reply& reply);

  std::string address() const;
  void stop();   // kills the calls under way
  void start();  // again on the same port
  int calls() const { return calls_; }
  int calls_for(const std::string& program) const;
  int most_at_once() const { return most_at_once_; }
  // Inside an answer: the caller has gone or the server is being stopped.
  static bool is_cancelled();

 private:
  grpc::Status Verify(grpc::ServerContext* context, const Request* request, Reply* reply) override;
  grpc::Status Describe(grpc::ServerContext* context, const verifier::v1::DescribeRequest* request,
                        verifier::v1::DescribeReply* reply) override;

  Answer answer_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable std::mutex mutex_;
  std::map<std::string, int> calls_by_program_;
  std::atomic<int> calls_{0}, now_{0}, most_at_once_{0};
};

}  // namespace bicrl::testing
