#include "reward/client/server_pool.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace bicrl {

size_t ServerPool::begin(Clock::time_point now, std::optional<size_t> avoid) {
  const size_t count = servers_.size();
  const auto cost = [&](size_t i) {
    const bool paused = servers_[i].paused_until > now;
    // Distance from the one whose turn it is breaks ties.
    return std::tuple(paused, avoid == i, servers_[i].in_flight, (i + count - turn_) % count);
  };
  size_t best = 0;
  for (size_t i = 1; i < count; ++i)
    if (cost(i) < cost(best)) best = i;
  turn_ = (best + 1) % count;
  ++servers_[best].in_flight;
  return best;
}

void ServerPool::succeeded(size_t server) {
  servers_[server].failures = 0;
  servers_[server].paused_until = {};
}

void ServerPool::failed(size_t server, Clock::time_point now) {
  Server& s = servers_[server];
  const Seconds pause = std::min(first_pause_ * std::exp2(std::min(s.failures, 30)), max_pause_);
  ++s.failures;
  s.paused_until = now + std::chrono::duration_cast<Clock::duration>(pause);
}

void ServerPool::refused(size_t server, Clock::time_point now) {
  servers_[server].failures = 0;
  servers_[server].paused_until = now + std::chrono::duration_cast<Clock::duration>(first_pause_);
}

bool ServerPool::another_is_up(size_t server, Clock::time_point now) const {
  for (size_t i = 0; i < servers_.size(); ++i)
    if (i != server && servers_[i].paused_until <= now) return true;
  return false;
}

}  // namespace bicrl
