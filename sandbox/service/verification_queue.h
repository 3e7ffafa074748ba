// The queue in front of the pipeline: bounded, served by a fixed number of threads, with a cache of verdicts;
// identical candidates that wait or run at the same time are verified once. Thread-safe.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/lru_cache.h"
#include "verdict/verdict.h"
#include "verdict/verification_request.h"

namespace bicrl {

struct QueueOptions {
  int workers = 2;
  size_t capacity = 4096;          // verifications waiting for a worker
  size_t cache_bytes = 64u << 20;  // of verdicts
};

struct QueueStatistics {
  int64_t verified = 0;             // verifications that ran
  int64_t cache_hits = 0;           // verdicts given without one: stored, or shared with one in flight
  int64_t rejected = 0;             // found the queue full
  int64_t cancelled = 0;            // given up by whoever asked
  size_t waiting = 0, running = 0;  // now
  bool stopping = false;
};

class VerificationQueue {
 public:
  using VerifyOne = std::function<Verdict(const VerificationRequest&, std::stop_token)>;
  // Told of a request some time before its turn; returns at once. What it returns is kept until the request
  // has its verdict or is given up, which the token then says.
  using Announce = std::function<std::shared_ptr<const void>(const VerificationRequest&, std::stop_token)>;
  // Told of each verification's end, by the workers, and how long it had waited for its turn.
  using Observe = std::function<void(const Verdict&, double waited_s)>;
  using Done = std::function<void(const Verdict&)>;
  using Ticket = uint64_t;

  // `verify_one` is called by the workers, several at a time. `key_salt` is part of every cache key: backend,
  // secrets.
  VerificationQueue(VerifyOne verify_one, std::string key_salt, const QueueOptions& options,
                    Announce announce = {}, Observe observe = {});
  ~VerificationQueue();  // as stop()
  // Takes nothing more, gives whoever waits for a turn an infrastructure verdict, and waits for what runs,
  // but no longer than that or until `hurry` is asked for. Whether nothing runs any more. stop() comes next.
  bool drain(double limit_s, std::stop_token hurry);
  // Takes nothing more, stops running verifications and gives whoever waits an infrastructure verdict. Blocks
  // until the workers have ended. Call from one thread.
  void stop();

  // `done` is called exactly once, from a worker or from within this call, unless cancel() comes first. Fails
  // when the queue is full, or is being drained.
  Result<Ticket> submit(VerificationRequest request, Done done);
  // True: `done` will not be called. False: it was or is being called.
  bool cancel(Ticket ticket);
  Verdict verify(VerificationRequest request);  // blocks; a full queue is an infrastructure verdict
  QueueStatistics statistics() const;

 private:
  struct Waiter {
    Ticket ticket = 0;
    std::string request_id;
    Done done;
  };
  struct Work {
    std::string key;
    VerificationRequest request;
    std::vector<Waiter> waiters;
    std::stop_source stop;
    std::shared_ptr<const void> prepared;  // after `stop`, which its end looks at
    Stopwatch since;
    bool running = false;
  };
  std::string key_of(const VerificationRequest& request) const;
  void worker(std::stop_token stop);
  void announce(const std::shared_ptr<Work>& work);
  void answer_waiting();
  void finish(const std::shared_ptr<Work>& work, const Verdict& verdict);

  VerifyOne verify_one_;
  Announce announce_;
  Observe observe_;
  std::string key_salt_;
  QueueOptions options_;
  LruCache<Verdict> verdicts_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Work>> queue_;
  std::unordered_map<std::string, std::shared_ptr<Work>> in_flight_;  // by key, waiting or running
  std::unordered_map<Ticket, std::shared_ptr<Work>> tickets_;
  Ticket next_ticket_ = 1;
  QueueStatistics statistics_;
  bool stopping_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace bicrl
