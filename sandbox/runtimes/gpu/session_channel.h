// Channel of the loader to the server for sessions, packet by packet, and the timings that both kinds of
// sessions share. Owns nothing. Not thread-safe.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "sandbox/gpu/loader/timed_run.h"

namespace bicrl {

class SessionChannel {
 public:
  explicit SessionChannel(int socket) : socket_(socket) {}

  // What is asked next; nothing of use if the other side is gone.
  nlohmann::json next() const;
  // False when the other side is gone.
  bool say(const nlohmann::json& what, const std::vector<int>& descriptors = {}) const;
  // The last words: a kernel that wrote beside its buffers may have written anywhere in the context. False.
  bool end(const ptx::KernelFault& fault) const;
  bool end(const gpu::DriverError& error) const;

 private:
  int socket_;
};

// The microseconds that launches of nothing take.
nlohmann::json launches_of_nothing_us(gpu::DeviceClock& clock, bool by_stream);
// Times the call that is prepared, and adds "event_ms" and "host_ms" to what is said.
std::optional<ptx::KernelFault> time_call(gpu::TimedRun& timed, bool by_stream, nlohmann::json& said);

}  // namespace bicrl
