// A candidate on its way to a server, and what a completion queue reports of it. Internal to the verifier's
// client, whose engine owns these and guards them with its mutex.
#pragma once
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/verifier.grpc.pb.h"
#include "verdict/verdict.h"

namespace bicrl::verification {

namespace wire = verifier::v1;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// gRPC's deadlines on the monotonic clock: a wall clock that is set back must not stretch them.
gpr_timespec deadline_after(double seconds);

// A candidate on its way: one call at a time, shared by all requests that ask the same.
struct Job {
  std::string key;
  wire::VerifyRequest message;
  std::vector<std::string> waiting;  // request ids
  bool withdrawn = false;            // nobody waits any more
  int attempts = 0;
  int refused = 0;  // of the attempts: by servers without room
  std::optional<Clock::time_point> first_call;
  std::optional<size_t> last_server;
  std::string trouble;             // of the last attempt
  std::optional<Verdict> verdict;  // the last infrastructure outcome that a server reported
};
using JobPointer = std::shared_ptr<Job>;

// Something the completion queue will report.
struct Event {
  explicit Event(JobPointer event_job) : job(std::move(event_job)) {}
  virtual ~Event() = default;
  virtual void cancel() = 0;
  JobPointer job;
  Clock::time_point since = Clock::now();
};

struct Call : Event {
  using Event::Event;
  void cancel() override { context.TryCancel(); }
  size_t server = 0;
  grpc::ClientContext context;
  wire::Verdict reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<wire::Verdict>> reader;
};

struct Pause : Event {
  using Event::Event;
  void cancel() override { alarm.Cancel(); }
  grpc::Alarm alarm;
};

// Why a call brought no verdict that counts.
struct Problem {
  std::string reason;
  bool answered = false;  // the server itself is well
  bool retry = true;
  bool busy = false;  // the server is well and has no room now
};

// Takes the verdict out of a finished call to the server at `address`; nothing if it counts. If the
// server reported an infrastructure fault, `verdict` is that.
std::optional<Problem> find_problem(const Call& call, const std::string& address, Verdict& verdict);

}  // namespace bicrl::verification
