#include "reward/client/verifier_client.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/lru_cache.h"
#include "reward/client/call_failure.h"
#include "reward/client/server_pool.h"
#include "reward/client/transport_probe.h"
#include "reward/client/verification_call.h"
#include "reward/client/verifier_channel.h"
#include "verdict/verifier_wire.h"

namespace bicrl {
namespace {

// A server takes messages of 16 MiB, and programs of much less: a longer text would look like an outage.
constexpr size_t kMaxSentBytes = size_t{4} << 20;

Verdict refusal_of(const VerificationRequest& request) {
  Verdict verdict;
  verdict.outcome = Outcome::kCandidateFault;
  verdict.reached = verdict.fault_class = "extract";
  verdict.diagnostics =
      concat("the program has ", request.program.size(), " bytes, more than any verifier takes");
  verdict.tolerance = to_string(request.protocol.tolerance);
  verdict.trials = request.protocol.trials;
  return verdict;
}

using namespace verification;

// A server counts as well again in the log when it has not failed for so long.
constexpr auto kQuietAfterWarning = std::chrono::seconds(2);

}  // namespace

// All state below the mutex is guarded by it. Calls are started by whichever thread makes them possible; the
// engine's own thread only takes in completions.
class VerifierClient::Engine {
 public:
  explicit Engine(VerifierClientOptions options);
  ~Engine();

  void submit(const VerificationRequest& request);
  std::optional<Verdict> next(std::chrono::milliseconds timeout);
  std::vector<std::string> withdraw();
  size_t pending() const {
    const std::lock_guard lock(mutex_);
    return pending_ids_.size();
  }
  VerifierClientCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }
  std::string waiting_for() const;
  std::vector<Result<VerifierDescription>> describe(std::chrono::milliseconds timeout);

 private:
  void take_completions();
  void start_calls();
  void start_call(const JobPointer& job);
  void finish_call(const Call& call);
  // A failed call to a server that speaks TLS where this client does not, or the other way round, says so.
  void explain_transport(size_t server, Problem& problem);
  void note_answer(size_t server);
  void note_health(size_t server, const std::optional<Problem>& problem);
  void retry_or_give_up(const JobPointer& job, const Problem& problem);
  void give_up(const JobPointer& job, const std::string& reason);
  void deliver(const JobPointer& job, const Verdict& verdict);
  void hand_out(Verdict verdict, const std::string& request_id);
  Event* keep(std::unique_ptr<Event> event);

  const VerifierClientOptions options_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;      // by server
  std::vector<std::unique_ptr<wire::Verifier::Stub>> stubs_;  // by server
  grpc::CompletionQueue completions_;

  mutable std::mutex mutex_;
  std::condition_variable verdict_ready_;
  bool stopping_ = false;
  LruCache<Verdict> memory_;  // by key, each of cost 1
  ServerPool pool_;
  std::vector<std::optional<Clock::time_point>>
      warned_;  // by server: its last failure, while it is in trouble
  std::vector<std::string>
      transport_problems_;          // by server: what explain_transport() found, until it answers
  std::vector<bool> has_answered_;  // by server, until its port is closed: so it speaks what this client does
  std::deque<JobPointer> queue_;    // no call under way
  std::unordered_map<std::string, JobPointer> jobs_;  // by key, until delivered
  std::unordered_map<Event*, std::unique_ptr<Event>> events_;
  int calls_ = 0;
  std::unordered_set<std::string> pending_ids_;
  std::deque<Verdict> ready_;
  VerifierClientCounters counters_;

  std::thread thread_;
};

VerifierClient::Engine::Engine(VerifierClientOptions options)
    : options_(std::move(options)),
      memory_(static_cast<size_t>(options_.memory_verdicts)),
      pool_(options_.addresses.size(), Seconds(options_.backoff_s), Seconds(options_.max_backoff_s)),
      warned_(options_.addresses.size()),
      transport_problems_(options_.addresses.size()),
      has_answered_(options_.addresses.size()) {
  if (options_.addresses.empty()) throw InputError("no verifier address is given");
  if (const std::string problem = address_problem(options_.addresses); !problem.empty())
    throw InputError(problem);
  if (const std::string problem = access_problem(options_.access, options_.addresses); !problem.empty())
    throw InputError(problem);
  BICRL_CHECK(options_.max_in_flight > 0 && options_.max_attempts > 0 && options_.memory_verdicts >= 0);
  BICRL_CHECK(options_.attempt_s > 0 && options_.deadline_s > 0 && options_.backoff_s > 0);
  for (const auto& address : options_.addresses) {
    channels_.push_back(connect_verifier(address, options_.access));
    stubs_.push_back(wire::Verifier::NewStub(channels_.back()));
  }
  thread_ = std::thread([this] { take_completions(); });
}

VerifierClient::Engine::~Engine() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;  // nothing is started from here on
    for (auto& entry : events_) entry.second->cancel();
  }
  completions_.Shutdown();
  thread_.join();
}

void VerifierClient::Engine::submit(const VerificationRequest& request) {
  VerificationRequest asked = request;
  asked.protocol = asked.protocol.or_else(options_.protocol);
  const std::string content = hash_hex(
      {asked.task_id, asked.pytorch_code, asked.program, asked.reduced_sizes, to_string(asked.protocol)});
  std::lock_guard lock(mutex_);
  const bool is_new = pending_ids_.insert(request.request_id).second;
  BICRL_CHECK(is_new, "the request id ", request.request_id, " is pending already");
  ++counters_.submitted;
  // A fresh request shares its verdict with nobody.
  const std::string key = request.fresh ? concat(content, " fresh ", counters_.submitted) : content;
  if (auto known = memory_.find(key)) {
    ++counters_.remembered;
    known->cached = true;
    hand_out(std::move(*known), request.request_id);
    return;
  }
  if (request.program.size() > kMaxSentBytes) {
    hand_out(refusal_of(asked), request.request_id);
    return;
  }
  if (const auto same = jobs_.find(key); same != jobs_.end()) {
    ++counters_.joined;
    same->second->waiting.push_back(request.request_id);
    return;
  }
  ++counters_.unique;
  auto job = std::make_shared<Job>();
  job->key = key;
  job->waiting = {request.request_id};
  to_wire(asked, job->message);
  jobs_[key] = job;
  queue_.push_back(job);
  start_calls();
}

std::optional<Verdict> VerifierClient::Engine::next(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (ready_.empty()) {
    const Stopwatch watch;
    verdict_ready_.wait_for(lock, timeout, [this] { return !ready_.empty(); });
    counters_.waited_s += watch.seconds();
    if (ready_.empty()) return std::nullopt;
  }
  Verdict verdict = std::move(ready_.front());
  ready_.pop_front();
  pending_ids_.erase(verdict.request_id);
  ++counters_.returned;
  return verdict;
}

std::vector<std::string> VerifierClient::Engine::withdraw() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [key, job] : jobs_) {
    job->withdrawn = true;
    ids.insert(ids.end(), job->waiting.begin(), job->waiting.end());
  }
  for (const std::string& id : ids) pending_ids_.erase(id);
  counters_.withdrawn += static_cast<int64_t>(ids.size());
  jobs_.clear();
  queue_.clear();
  for (auto& entry : events_) entry.second->cancel();  // the queue of completions reports each soon
  return ids;
}

std::string VerifierClient::Engine::waiting_for() const {
  std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::vector<double> oldest_s(stubs_.size(), 0);
  size_t pauses = 0;
  std::string trouble;
  for (const auto& [event, owner] : events_) {
    if (const auto* call = dynamic_cast<const Call*>(event)) {
      oldest_s[call->server] = std::max(oldest_s[call->server], Seconds(now - call->since).count());
    } else {
      ++pauses;
      trouble = event->job->trouble;
    }
  }
  std::ostringstream out;
  out.precision(3);
  out << pending_ids_.size() << " pending, " << ready_.size() << " ready";
  for (size_t i = 0; i < stubs_.size(); ++i)
    if (pool_.in_flight(i))
      out << ", " << pool_.in_flight(i) << " at " << options_.addresses[i] << " (oldest " << oldest_s[i]
          << " s)";
  if (pauses) out << ", " << pauses << " to be tried again (" << trouble << ")";
  if (!queue_.empty()) out << ", " << queue_.size() << " not sent";
  return out.str();
}

std::vector<Result<VerifierDescription>> VerifierClient::Engine::describe(std::chrono::milliseconds timeout) {
  std::vector<Result<VerifierDescription>> results;
  for (size_t i = 0; i < channels_.size(); ++i) {
    const std::string problem = transport_problem(options_.addresses[i], options_.access.given());
    results.push_back(problem.empty() ? describe_verifier(channels_[i], options_.addresses[i], timeout)
                                      : Result<VerifierDescription>::failure(problem));
    if (!results.back()) continue;
    const std::lock_guard lock(mutex_);
    note_answer(i);
  }
  return results;
}

void VerifierClient::Engine::take_completions() {
  void* tag = nullptr;
  bool ok = false;
  while (completions_.Next(&tag, &ok)) {
    std::lock_guard lock(mutex_);
    const auto owner = events_.extract(static_cast<Event*>(tag));
    if (auto* call = dynamic_cast<Call*>(owner.mapped().get())) {
      --calls_;
      pool_.end(call->server);
      if (!stopping_ && !call->job->withdrawn) finish_call(*call);
    } else if (!stopping_ && !owner.mapped()->job->withdrawn) {
      queue_.push_front(owner.mapped()->job);
    }
    if (!stopping_) start_calls();
  }
}

Event* VerifierClient::Engine::keep(std::unique_ptr<Event> event) {
  Event* tag = event.get();
  events_.emplace(tag, std::move(event));
  return tag;
}

void VerifierClient::Engine::start_calls() {
  while (calls_ < options_.max_in_flight && !queue_.empty()) {
    const JobPointer job = queue_.front();
    queue_.pop_front();
    start_call(job);
  }
}

void VerifierClient::Engine::start_call(const JobPointer& job) {
  const Clock::time_point now = Clock::now();
  if (!job->first_call) job->first_call = now;
  const double left_s = options_.deadline_s - Seconds(now - *job->first_call).count();
  if (left_s <= 0) return give_up(job, job->trouble);
  auto owner = std::make_unique<Call>(job);
  Call& call = *owner;
  call.server = pool_.begin(now, job->last_server);
  job->last_server = call.server;
  if (++job->attempts > 1) ++counters_.retried;
  ++calls_;
  call.context.set_deadline(deadline_after(std::min(options_.attempt_s, left_s)));
  call.reader = stubs_[call.server]->AsyncVerify(&call.context, job->message, &completions_);
  call.reader->Finish(&call.reply, &call.status, keep(std::move(owner)));
}

void VerifierClient::Engine::finish_call(const Call& call) {
  const JobPointer job = call.job;
  Verdict verdict;
  std::optional<Problem> problem = find_problem(call, options_.addresses[call.server], verdict);
  if (problem && !problem->answered)
    explain_transport(call.server, *problem);
  else
    note_answer(call.server);
  note_health(call.server, problem);
  if (problem) {
    if (call.status.ok() && problem->answered) job->verdict = verdict;
    return retry_or_give_up(job, *problem);
  }
  if (!job->message.bypass_cache()) memory_.insert(job->key, verdict, 1);
  deliver(job, verdict);
}

void VerifierClient::Engine::note_answer(size_t server) {
  transport_problems_[server].clear();
  has_answered_[server] = true;
}

// With the mutex held, which a server that takes connections and says nothing can make last a second. One
// that has answered dies or is started again: it closes connections without a word as one with TLS does.
void VerifierClient::Engine::explain_transport(size_t server, Problem& problem) {
  std::string& known = transport_problems_[server];
  if (problem.reason.find("Connection refused") != std::string::npos) {
    // The next one to listen there is another server.
    known.clear();
    has_answered_[server] = false;
    return;
  }
  if (known.empty() && !has_answered_[server])
    known = transport_problem(options_.addresses[server], options_.access.given());
  if (!known.empty()) problem.reason = known;
  const bool is_refusal =
      has_answered_[server] ? is_certificate_refusal(problem.reason) : is_tls_refusal(problem.reason);
  // No retry helps, unless there is another server.
  if ((!known.empty() || is_refusal) && options_.addresses.size() == 1) problem.retry = false;
}

// An outage is one line in the log, not hundreds, even if the server answers now and then.
void VerifierClient::Engine::note_health(size_t server, const std::optional<Problem>& problem) {
  const Clock::time_point now = Clock::now();
  std::optional<Clock::time_point>& warned = warned_[server];
  if (problem && problem->busy) return pool_.refused(server, now);
  if (!problem || problem->answered) {
    pool_.succeeded(server);
    if (!warned || now - *warned < kQuietAfterWarning) return;
    log_info("verifier ", options_.addresses[server], " answers again");
    warned.reset();
  } else {
    pool_.failed(server, now);
    if (!warned) log_warning("verifier ", problem->reason);
    warned = now;
  }
}

void VerifierClient::Engine::retry_or_give_up(const JobPointer& job, const Problem& problem) {
  job->trouble = problem.reason;
  const Clock::time_point now = Clock::now();
  job->refused += problem.busy;
  const double wait_s = pool_.another_is_up(*job->last_server, now)
                            ? 0
                            : backoff_s(job->attempts, options_.backoff_s, options_.max_backoff_s, job->key);
  const double left_s = options_.deadline_s - Seconds(now - *job->first_call).count();
  // A server without room costs time, not attempts.
  const bool used_up = job->attempts - job->refused >= options_.max_attempts;
  if (!problem.retry || used_up || wait_s >= left_s) return give_up(job, problem.reason);
  if (wait_s == 0) {
    queue_.push_front(job);
    return;
  }
  auto owner = std::make_unique<Pause>(job);
  Pause& pause = *owner;
  pause.alarm.Set(&completions_, deadline_after(wait_s), keep(std::move(owner)));
}

void VerifierClient::Engine::give_up(const JobPointer& job, const std::string& reason) {
  Verdict verdict = job->verdict.value_or(Verdict{});
  verdict.outcome = Outcome::kInfrastructure;
  std::ostringstream seconds;
  seconds.precision(3);
  seconds << Seconds(Clock::now() - *job->first_call).count();
  verdict.diagnostics =
      concat("no verdict after ", job->attempts, job->attempts == 1 ? " call in " : " calls in ",
             seconds.str(), " s; the last: ", reason);
  deliver(job, verdict);
}

void VerifierClient::Engine::deliver(const JobPointer& job, const Verdict& verdict) {
  jobs_.erase(job->key);
  for (size_t i = 0; i < job->waiting.size(); ++i) {
    Verdict copy = verdict;
    copy.cached = verdict.cached || i > 0;
    hand_out(std::move(copy), job->waiting[i]);
  }
}

void VerifierClient::Engine::hand_out(Verdict verdict, const std::string& request_id) {
  verdict.request_id = request_id;
  if (verdict.outcome == Outcome::kInfrastructure) ++counters_.infrastructure;
  ready_.push_back(std::move(verdict));
  verdict_ready_.notify_one();
}

VerifierClient::VerifierClient(VerifierClientOptions options)
    : engine_(std::make_unique<Engine>(std::move(options))) {}
VerifierClient::~VerifierClient() = default;
void VerifierClient::submit(const VerificationRequest& request) { engine_->submit(request); }
std::optional<Verdict> VerifierClient::next(std::chrono::milliseconds timeout) {
  return engine_->next(timeout);
}
std::vector<std::string> VerifierClient::withdraw() { return engine_->withdraw(); }
size_t VerifierClient::pending() const { return engine_->pending(); }
std::string VerifierClient::waiting_for() const { return engine_->waiting_for(); }
VerifierClientCounters VerifierClient::counters() const { return engine_->counters(); }
std::vector<Result<VerifierDescription>> VerifierClient::describe(std::chrono::milliseconds timeout) {
  return engine_->describe(timeout);
}

}  // namespace bicrl
