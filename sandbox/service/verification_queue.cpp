#include "sandbox/service/verification_queue.h"

#include <algorithm>
#include <future>

#include "common/hash.h"

namespace bicrl {
namespace {

constexpr const char* kStopping = "the verifier is stopping";

Verdict lost_verdict(const std::string& reason) {
  Verdict verdict;
  verdict.outcome = Outcome::kInfrastructure;
  verdict.diagnostics = reason;
  return verdict;
}

size_t cost_bytes(const Verdict& verdict) { return sizeof(Verdict) + 256 + verdict.diagnostics.size(); }

}  // namespace

VerificationQueue::VerificationQueue(VerifyOne verify_one, std::string key_salt, const QueueOptions& options,
                                     Announce announce, Observe observe)
    : verify_one_(std::move(verify_one)),
      announce_(std::move(announce)),
      observe_(std::move(observe)),
      key_salt_(std::move(key_salt)),
      options_(options),
      verdicts_(options.cache_bytes) {
  for (int i = 0; i < std::max(1, options_.workers); ++i)
    workers_.emplace_back([this](std::stop_token stop) { worker(stop); });
}

VerificationQueue::~VerificationQueue() { stop(); }

void VerificationQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [ticket, work] : tickets_) work->stop.request_stop();
  }
  for (auto& thread : workers_) thread.request_stop();
  workers_.clear();
  answer_waiting();
}

bool VerificationQueue::drain(double limit_s, std::stop_token hurry) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  answer_waiting();
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, hurry, std::chrono::duration<double>(limit_s),
                           [this] { return statistics_.running == 0; });
}

void VerificationQueue::answer_waiting() {
  std::deque<std::shared_ptr<Work>> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(queue_);
  }
  for (const auto& work : left) finish(work, lost_verdict(kStopping));
}

std::string VerificationQueue::key_of(const VerificationRequest& request) const {
  return hash_hex(
      {key_salt_, request.program, request.pytorch_code, request.reduced_sizes, to_string(request.protocol)});
}

Result<VerificationQueue::Ticket> VerificationQueue::submit(VerificationRequest request, Done done) {
  std::string key = key_of(request);
  if (!request.fresh) {
    if (auto known = verdicts_.find(key)) {
      known->request_id = request.request_id;
      known->cached = true;
      {
        const std::lock_guard lock(mutex_);
        ++statistics_.cache_hits;
      }
      done(*known);
      return Result<Ticket>(Ticket{0});
    }
  }
  const std::lock_guard lock(mutex_);
  if (stopping_) return Result<Ticket>::failure(kStopping);
  const Ticket ticket = next_ticket_++;
  if (request.fresh) key += concat("/", ticket);  // shares with nobody
  const auto found = in_flight_.find(key);
  if (found != in_flight_.end() && !found->second->stop.stop_requested()) {
    ++statistics_.cache_hits;
    found->second->waiters.push_back({ticket, request.request_id, std::move(done)});
    tickets_[ticket] = found->second;
    return Result<Ticket>(ticket);
  }
  if (queue_.size() >= options_.capacity) {
    ++statistics_.rejected;
    return Result<Ticket>::failure(
        concat("the verifier's queue is full (", options_.capacity, " candidates wait)"));
  }
  auto work = std::make_shared<Work>();
  work->key = key;
  work->waiters.push_back({ticket, request.request_id, std::move(done)});
  work->request = std::move(request);
  in_flight_[key] = work;
  tickets_[ticket] = work;
  queue_.push_back(std::move(work));
  changed_.notify_one();
  return Result<Ticket>(ticket);
}

bool VerificationQueue::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return false;
  const auto work = found->second;
  ++statistics_.cancelled;
  tickets_.erase(found);
  std::erase_if(work->waiters, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
  if (!work->waiters.empty()) return true;
  // Nobody waits any more.
  work->stop.request_stop();
  const auto kept = in_flight_.find(work->key);
  if (kept != in_flight_.end() && kept->second == work) in_flight_.erase(kept);
  if (!work->running) std::erase(queue_, work);
  return true;
}

Verdict VerificationQueue::verify(VerificationRequest request) {
  const auto promise = std::make_shared<std::promise<Verdict>>();
  auto answer = promise->get_future();
  const std::string id = request.request_id;
  const auto ticket =
      submit(std::move(request), [promise](const Verdict& verdict) { promise->set_value(verdict); });
  if (ticket) return answer.get();
  Verdict verdict = lost_verdict(ticket.reason());
  verdict.request_id = id;
  return verdict;
}

QueueStatistics VerificationQueue::statistics() const {
  const std::lock_guard lock(mutex_);
  QueueStatistics now = statistics_;
  now.waiting = queue_.size();
  now.stopping = stopping_;
  return now;
}

void VerificationQueue::worker(std::stop_token stop) {
  while (true) {
    std::shared_ptr<Work> work, coming;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !queue_.empty(); }) || stop.stop_requested()) return;
      work = queue_.front();
      queue_.pop_front();
      work->running = true;
      ++statistics_.verified;
      ++statistics_.running;
      // As far ahead as there are workers, so that each request is announced, and about once.
      const auto ahead = static_cast<size_t>(std::max(1, options_.workers));
      if (!queue_.empty()) coming = queue_[std::min(ahead, queue_.size()) - 1];
    }
    if (coming) announce(coming);
    const double waited_s = work->since.seconds();
    const Verdict verdict = verify_one_(work->request, work->stop.get_token());
    if (observe_) observe_(verdict, waited_s);
    finish(work, verdict);
    work.reset();
    const std::lock_guard lock(mutex_);
    if (--statistics_.running == 0) changed_.notify_all();
  }
}

void VerificationQueue::announce(const std::shared_ptr<Work>& work) {
  if (!announce_) return;
  auto prepared = announce_(work->request, work->stop.get_token());
  const std::lock_guard lock(mutex_);
  work->prepared = std::move(prepared);
}

void VerificationQueue::finish(const std::shared_ptr<Work>& work, const Verdict& verdict) {
  std::vector<Waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    const auto kept = in_flight_.find(work->key);
    if (kept != in_flight_.end() && kept->second == work) in_flight_.erase(kept);
    waiters.swap(work->waiters);
    for (const auto& waiter : waiters) tickets_.erase(waiter.ticket);
  }
  // Faults of the verifier itself are not kept, nor what was cut short.
  if (verdict.outcome != Outcome::kInfrastructure && !work->stop.stop_requested())
    verdicts_.insert(key_of(work->request), verdict, cost_bytes(verdict));
  bool first = true;
  for (const auto& waiter : waiters) {
    Verdict answer = verdict;
    answer.request_id = waiter.request_id;
    answer.cached = !first;
    first = false;
    waiter.done(answer);
  }
}

}  // namespace bicrl
