// Keeps the first bytes that a pipe yields and notices when there were more. Not thread-safe.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace bicrl {

class BoundedLog {
 public:
  explicit BoundedLog(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Takes what is there from a non-blocking descriptor. False when the other end is closed.
  bool read_from(int fd) {
    char buffer[16384];
    // Bounded, so that a flood cannot keep the reader from looking at its clock.
    for (int round = 0; round < 16; ++round) {
      const ssize_t n = read(fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      if (n == 0) return false;
      const size_t room = limit_bytes_ - text_.size();
      text_.append(buffer, std::min(room, static_cast<size_t>(n)));
      if (static_cast<size_t>(n) > room) overflowed_ = true;
    }
    return true;
  }

  bool overflowed() const { return overflowed_; }
  const std::string& text() const { return text_; }

 private:
  size_t limit_bytes_;
  std::string text_;
  bool overflowed_ = false;
};

}  // namespace bicrl
