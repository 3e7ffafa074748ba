#include "sandbox/runtimes/box/frames.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace bicrl::box {
namespace {

bool send_all(int channel, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(channel, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

std::optional<Frame> receive_frame(int channel) {
  FrameReader reader{FrameLimits()};
  for (;;) {
    const auto state = reader.read_from(channel);
    if (state == FrameReader::State::kComplete) return reader.take();
    if (state == FrameReader::State::kMalformed || reader.closed()) return std::nullopt;
    pollfd ready{channel, POLLIN, 0};
    poll(&ready, 1, -1);
  }
}

bool send_frame(int channel, const nlohmann::json& header, const std::vector<std::string_view>& blobs) {
  bool sent = send_all(channel, encode_header(header, blobs));
  for (const std::string_view blob : blobs) sent = sent && send_all(channel, blob);
  return sent;
}

}  // namespace bicrl::box
