// Load balancer over several servers: the next call goes to the one with the least to do among those that
// answer. Not thread-safe.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace bicrl {

class ServerPool {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  // A server that failed is left alone for `first_pause`, doubled with every further failure up to
  // `max_pause`.
  ServerPool(size_t servers, Seconds first_pause, Seconds max_pause)
      : servers_(servers), first_pause_(first_pause), max_pause_(max_pause) {}

  // Counts the call. Prefers a server that is not paused, then one other than `avoid`, then the least loaded
  // one, in turn if several are equal.
  size_t begin(Clock::time_point now, std::optional<size_t> avoid);
  void end(size_t server) { --servers_[server].in_flight; }

  void succeeded(size_t server);
  void failed(size_t server, Clock::time_point now);
  // It answers, but takes nothing now: left alone for `first_pause`, however often.
  void refused(size_t server, Clock::time_point now);

  // Whether some server other than `server` is not paused.
  bool another_is_up(size_t server, Clock::time_point now) const;
  int in_flight(size_t server) const { return servers_[server].in_flight; }

 private:
  struct Server {
    int in_flight = 0;
    int failures = 0;  // since the last success
    Clock::time_point paused_until{};
  };
  std::vector<Server> servers_;
  Seconds first_pause_;
  Seconds max_pause_;
  size_t turn_ = 0;
};

}  // namespace bicrl
