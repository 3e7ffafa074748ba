#include "sandbox/service/verifier_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <future>
#include <optional>
#include <thread>

#include "common/log.h"
#include "proto/verifier.grpc.pb.h"
#include "sandbox/service/canary.h"
#include "sandbox/service/listening_port.h"
#include "sandbox/service/verifier_metrics.h"
#include "verdict/verifier_wire.h"

namespace bicrl {
namespace v1 = verifier::v1;
namespace {

constexpr int kMaxMessageBytes = 16 << 20;
// Requests of one stream that wait or run at a time; the rest stay in the network until verdicts leave.
constexpr int kStreamWindow = 256;

// What is asked, with nothing left open; fails, with the reason, if this verifier cannot do it.
Result<VerificationRequest> accepted(const v1::VerifyRequest& message, const VerifierOptions& options) {
  auto request = from_wire(message);
  if (!request) return request;
  VerificationProtocol& protocol = request.value().protocol;
  protocol = protocol.or_else(options.protocol);
  if (const std::string problem = times_problem(protocol, options.pipeline.clock()); !problem.empty())
    return Result<VerificationRequest>::failure(problem);
  if (protocol.tolerance == TolerancePolicy::kTf32 && !options.pipeline.oracle.tf32)
    return Result<VerificationRequest>::failure(
        "protocol.tolerance is tf32, and this verifier makes no allowances for it: start one with "
        "protocol.tolerance=tf32");
  return request;
}

// One Verify call. Deletes itself when gRPC is done with it.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(VerificationQueue& queue, VerificationRequest request, v1::Verdict* reply) : queue_(queue) {
    const auto ticket = queue.submit(std::move(request), [this, reply](const Verdict& verdict) {
      to_wire(verdict, *reply);
      Finish(grpc::Status::OK);
    });
    if (ticket)
      ticket_ = ticket.value();
    else
      Finish(grpc::Status(
          queue.statistics().stopping ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::RESOURCE_EXHAUSTED,
          ticket.reason()));
  }
  void OnCancel() override {
    if (ticket_ && queue_.cancel(ticket_)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  VerificationQueue& queue_;
  VerificationQueue::Ticket ticket_ = 0;
};

class RefusedCall : public grpc::ServerUnaryReactor {
 public:
  explicit RefusedCall(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// One VerifyStream call: reads while its window has room, writes verdicts as they come. Deletes itself when
// gRPC is done with it and no verification is left that would call it.
class StreamCall : public grpc::ServerBidiReactor<v1::VerifyRequest, v1::Verdict> {
 public:
  StreamCall(VerificationQueue& queue, const VerifierOptions& options) : queue_(queue), options_(options) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    std::unique_lock lock(mutex_);
    reading_ = false;
    if (!ok) {
      reads_ended_ = true;
      return step(lock);
    }
    ++open_;
    lock.unlock();
    take(incoming_);
    lock.lock();
    step(lock);
  }

  void OnWriteDone(bool ok) override {
    std::unique_lock lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (!ok) broken_ = true;
    step(lock);
  }

  void OnCancel() override {
    std::vector<VerificationQueue::Ticket> tickets;
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
      tickets.assign(tickets_.begin(), tickets_.end());
    }
    int cancelled = 0;
    for (const auto ticket : tickets) cancelled += queue_.cancel(ticket);
    std::unique_lock lock(mutex_);
    open_ -= cancelled;
    step(lock);
  }

  void OnDone() override { delete this; }

 private:
  void take(const v1::VerifyRequest& message) {
    auto request = accepted(message, options_);
    if (!request) return answer_failure(message.request_id(), "invalid request: " + request.reason());
    // The verdict may arrive before submit() returns; the ticket is then of no use and is not kept.
    const auto answered = std::make_shared<std::atomic<bool>>(false);
    const auto ticket_slot = std::make_shared<std::atomic<VerificationQueue::Ticket>>(0);
    const auto ticket =
        queue_.submit(std::move(request.value()), [this, answered, ticket_slot](const Verdict& verdict) {
          std::unique_lock lock(mutex_);
          answered->store(true);
          std::erase(tickets_, ticket_slot->load());
          push(verdict);
          step(lock);
        });
    if (!ticket) return answer_failure(message.request_id(), ticket.reason());
    const std::lock_guard lock(mutex_);
    if (answered->load()) return;
    ticket_slot->store(ticket.value());
    tickets_.push_back(ticket.value());
  }

  void answer_failure(const std::string& request_id, const std::string& reason) {
    Verdict verdict;
    verdict.request_id = request_id;
    verdict.outcome = Outcome::kInfrastructure;
    verdict.diagnostics = reason;
    std::unique_lock lock(mutex_);
    push(verdict);
    step(lock);
  }

  void push(const Verdict& verdict) {
    --open_;
    if (!broken_) to_wire(verdict, outgoing_.emplace_back());
  }

  // Starts what can be started. Called with the lock held; releases it before it may end this object.
  void step(std::unique_lock<std::mutex>& lock) {
    if (finished_) return;
    if (broken_ && !writing_) outgoing_.clear();
    if (!writing_ && !outgoing_.empty()) {
      writing_ = true;
      StartWrite(&outgoing_.front());
    }
    if (!reading_ && !reads_ended_ && !broken_ &&
        open_ + static_cast<int>(outgoing_.size()) < kStreamWindow) {
      reading_ = true;
      StartRead(&incoming_);
    }
    const bool over = (reads_ended_ || broken_) && open_ == 0 && outgoing_.empty() && !reading_ && !writing_;
    if (!over) return;
    finished_ = true;
    lock.unlock();
    Finish(broken_ ? grpc::Status::CANCELLED : grpc::Status::OK);
  }

  VerificationQueue& queue_;
  const VerifierOptions& options_;
  std::mutex mutex_;
  v1::VerifyRequest incoming_;
  std::deque<v1::Verdict> outgoing_;  // the front is being written while writing_
  std::vector<VerificationQueue::Ticket> tickets_;
  int open_ = 0;  // requests without a verdict
  bool reading_ = true, writing_ = false, reads_ended_ = false, broken_ = false, finished_ = false;
};

class Service : public v1::Verifier::CallbackService {
 public:
  Service(VerificationQueue& queue, const Pipeline& pipeline, const VerifierOptions& options)
      : queue_(queue), pipeline_(pipeline), options_(options) {}

  grpc::ServerUnaryReactor* Verify(grpc::CallbackServerContext*, const v1::VerifyRequest* request,
                                   v1::Verdict* reply) override {
    auto asked = accepted(*request, options_);
    if (!asked) return new RefusedCall(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, asked.reason()));
    return new UnaryCall(queue_, std::move(asked.value()), reply);
  }

  grpc::ServerBidiReactor<v1::VerifyRequest, v1::Verdict>* VerifyStream(
      grpc::CallbackServerContext*) override {
    return new StreamCall(queue_, options_);
  }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext*, const v1::DescribeRequest*,
                                     v1::DescribeReply* reply) override {
    const QueueStatistics statistics = queue_.statistics();
    const auto with = [](std::vector<std::string> of_boxes, const std::vector<std::string>& of_backend) {
      of_boxes.insert(of_boxes.end(), of_backend.begin(), of_backend.end());
      return of_boxes;
    };
    to_wire({.address = "",
             .backend = pipeline_.name(),
             .protocol_version = kProtocolVersion,
             .workers = options_.queue.workers,
             .sandbox_features = with(pipeline_.features().present, pipeline_.backend().present),
             .missing_features =
                 with(with(pipeline_.features().missing, pipeline_.backend().missing), lost_devices()),
             .verified = statistics.verified,
             .cache_hits = statistics.cache_hits,
             .protocol = options_.protocol,
             .clock = options_.pipeline.clock(),
             .device = pipeline_.device()},
            *reply);
    return new RefusedCall(grpc::Status::OK);
  }

 private:
  std::vector<std::string> lost_devices() const {
    std::vector<std::string> lost;
    for (const BackendDevice& device : pipeline_.devices())
      if (!device.trouble.empty())
        lost.push_back(concat("gpu ", device.name, ": lost (", device.trouble, "); it is looked at again"));
    return lost;
  }

  VerificationQueue& queue_;
  const Pipeline& pipeline_;
  const VerifierOptions& options_;
};

// SIGTERM and SIGINT, blocked for all threads and waited for by one: the first stops the server in order,
// also while it starts, and another one hurries.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    listener_ = std::jthread([this](std::stop_token over) { listen(over); });
  }
  std::stop_token token() const { return asked_.get_token(); }
  std::stop_token hurry() const { return hurried_.get_token(); }
  // Blocks until one comes; its number. Call once.
  int wait() { return first_.get_future().get(); }

 private:
  void listen(std::stop_token over) {
    const timespec moment{0, 100'000'000};
    while (!over.stop_requested()) {
      const int number = sigtimedwait(&signals_, nullptr, &moment);
      if (number < 0) continue;
      if (asked_.stop_requested()) {
        hurried_.request_stop();
      } else {
        asked_.request_stop();
        first_.set_value(number);
      }
    }
  }

  sigset_t signals_;
  std::promise<int> first_;
  std::stop_source asked_, hurried_;
  std::jthread listener_;  // last: it uses the others
};

void follow_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) throw Error("the process that started the verifier is gone");
}

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

}  // namespace

int run_verifier_server(const VerifierOptions& options) {
  StopSignals stop_signals;
  signal(SIGPIPE, SIG_IGN);
  if (options.die_with_parent) follow_parent();
  const auto credentials = server_credentials(options.access, options.listen);
  // Before the self-check, which takes seconds.
  require_free_port("verifier.listen", options.listen);
  if (!options.metrics_listen.empty()) require_free_port("verifier.metrics_listen", options.metrics_listen);
  Pipeline pipeline(options.pipeline);
  for (const auto& missing : pipeline.features().missing) log_warning("sandbox without ", missing);
  if (const size_t gpus = pipeline.devices().size(); gpus > 0)
    log_info("verifier: ", gpus, gpus == 1 ? " GPU; " : " GPUs of one model; ", pipeline.cores().set_aside(),
             " of ", pipeline.cores().total(), " cores are left to what feeds them");
  const CanaryTimes self_check = run_canaries(pipeline, stop_signals.token());
  log_info("verifier: self-check passed (", std::lround(self_check.correct_ms), " ms with the start, then ",
           std::lround(self_check.incorrect_ms), " ms)");
  std::optional<VerificationQueue> queue;
  VerifierMetrics metrics(pipeline.name(), [&] {
    return VerifierState{queue->statistics(), pipeline.devices(), options.queue.workers};
  });
  queue.emplace([&pipeline](const VerificationRequest& request,
                            std::stop_token stop) { return pipeline.verify(request, std::move(stop)); },
                concat(pipeline.name(), "/", options.pipeline.clock(), " ", pipeline.device()), options.queue,
                [&pipeline](const VerificationRequest& request, std::stop_token stop) {
                  return pipeline.prepare(request, std::move(stop));
                },
                [&metrics](const Verdict& verdict, double waited_s) { metrics.count(verdict, waited_s); });
  if (!options.metrics_listen.empty())
    log_info("verifier: metrics at http://", host_of(options.metrics_listen), ":",
             metrics.serve(options.metrics_listen), "/metrics");
  Service service(*queue, pipeline, options);

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  // Two servers on one port would share its callers at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(options.listen, credentials, &port);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server || port == 0) throw InputError(concat("verifier.listen: cannot listen on ", options.listen));
  printf("listening on %s:%d\n", host_of(options.listen).c_str(), port);
  fflush(stdout);

  log_info("verifier: stopping (", strsignal(stop_signals.wait()), ")");
  if (auto* health = server->GetHealthCheckService()) health->SetServingStatus(false);
  if (!queue->drain(options.drain_s, stop_signals.hurry()))
    log_warning("verifier: ", queue->statistics().running, " verifications are given up");
  // Calls under way get their verdicts from the dying queue, or are cut off.
  std::jthread closing([&] { server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2)); });
  queue->stop();
  closing.join();
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace bicrl
