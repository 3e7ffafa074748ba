#include "sandbox/box/process/descriptor_passing.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/clock.h"
#include "common/error.h"

namespace bicrl {

bool send_packet(int socket, const std::string& text, const std::vector<int>& fds) {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

Packet receive_packet(int socket) {
  char text[65536];
  iovec part{text, sizeof text};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  Packet packet;
  packet.content = nlohmann::json(nlohmann::json::value_t::discarded);
  if (n <= 0) return packet;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) {
    int fds[kMaxDescriptors];
    const size_t bytes = header->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(header), bytes);
    for (size_t i = 0; i < bytes / sizeof(int); ++i) packet.fds.emplace_back(fds[i]);
  }
  packet.content = nlohmann::json::parse(text, text + n, nullptr, false);
  return packet;
}

int poll_timeout_ms(double left_s) {
  return static_cast<int>(std::clamp(std::ceil(left_s * 1e3), 0.0, 100.0));
}

bool wait_readable(int fd, double seconds, const std::stop_token& stop) {
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop.stop_requested()) {
    pollfd one{fd, POLLIN, 0};
    // The time may have run out since it was asked for.
    if (poll(&one, 1, poll_timeout_ms(seconds - clock.seconds())) > 0) return true;
  }
  return false;
}

}  // namespace bicrl
