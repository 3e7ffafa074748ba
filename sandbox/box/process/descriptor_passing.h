// Small messages with descriptors over sequenced-packet sockets, between the server and its warm processes.
#pragma once
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {

constexpr size_t kMaxDescriptors = 4;  // of a packet

struct Packet {
  nlohmann::json content;  // discarded if nothing came
  std::vector<UniqueFd> fds;
};

// At most kMaxDescriptors. False when the other side is gone.
bool send_packet(int socket, const std::string& text, const std::vector<int>& fds);
Packet receive_packet(int socket);  // does not block
// The timeout for poll() when a wait has `left_s` seconds left: at most 100 ms, after which a waiting thread
// looks at the clock and at its stop token again, and never negative, which would mean for ever.
int poll_timeout_ms(double left_s);
// True when readable before the time is over or a stop is asked for.
bool wait_readable(int fd, double seconds, const std::stop_token& stop);

}  // namespace bicrl
