#include "trainer/ranks/line_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace bicrl {
namespace {

// Far more than any line has: the other end does not speak this language.
constexpr size_t kLongestLine = 1 << 16;

int tcp_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

sockaddr* generic(sockaddr_in& place) { return reinterpret_cast<sockaddr*>(&place); }

bool is_connected(int descriptor) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

LineSocket::LineSocket(int descriptor) : descriptor_(descriptor) {}

LineSocket::~LineSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

LineSocket::LineSocket(LineSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      ended_(other.ended_),
      partial_(std::move(other.partial_)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  ended_ = other.ended_;
  partial_ = std::move(other.partial_);
  return *this;
}

std::optional<LineSocket> LineSocket::to(const std::string& address, double limit_s) {
  const size_t colon = address.rfind(':');
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  if (inet_pton(AF_INET, address.substr(0, colon).c_str(), &place.sin_addr) != 1) return std::nullopt;
  LineSocket made(tcp_socket());
  if (made.descriptor_ < 0) return std::nullopt;
  if (connect(made.descriptor_, generic(place), sizeof place) == 0) return made;
  if (errno != EINPROGRESS) return std::nullopt;
  pollfd ready{made.descriptor_, POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(1000 * limit_s)) != 1 || !is_connected(made.descriptor_))
    return std::nullopt;
  return made;
}

void LineSocket::send(const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t sent = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) ended_ = true;
}

std::vector<std::string> LineSocket::receive() {
  char bytes[4096];
  ssize_t count = 0;
  while ((count = recv(descriptor_, bytes, sizeof bytes, 0)) > 0) {
    partial_.append(bytes, static_cast<size_t>(count));
    if (partial_.size() > kLongestLine) break;
  }
  if (count >= 0 || (errno != EAGAIN && errno != EINTR)) ended_ = true;
  std::vector<std::string> lines;
  for (size_t end; (end = partial_.find('\n')) != std::string::npos; partial_.erase(0, end + 1))
    lines.push_back(partial_.substr(0, end));
  return lines;
}

LineListener::LineListener(bool loopback_only) : descriptor_(tcp_socket()), loopback_only_(loopback_only) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  if (descriptor_ < 0 || bind(descriptor_, generic(place), sizeof place) != 0 ||
      listen(descriptor_, SOMAXCONN) != 0) {
    const std::string reason = strerror(errno);
    if (descriptor_ >= 0) close(descriptor_);
    throw Error("cannot listen for other ranks: " + reason);
  }
}

LineListener::~LineListener() { close(descriptor_); }

std::vector<std::string> LineListener::addresses() const {
  sockaddr_in place{};
  socklen_t size = sizeof place;
  getsockname(descriptor_, generic(place), &size);
  const std::string port = ":" + std::to_string(ntohs(place.sin_port));
  std::vector<std::string> found = {"127.0.0.1" + port};
  ifaddrs* interfaces = nullptr;
  if (loopback_only_ || getifaddrs(&interfaces) != 0) return found;
  for (const ifaddrs* i = interfaces; i; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || (i->ifa_flags & IFF_UP) == 0 ||
        (i->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(i->ifa_addr);
    found.push_back(inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) + port);
  }
  freeifaddrs(interfaces);
  return found;
}

std::optional<LineSocket> LineListener::accept() {
  const int descriptor = accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  return LineSocket(descriptor);
}

}  // namespace bicrl
