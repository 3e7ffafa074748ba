// An owned file descriptor. Move-only; closes on destruction. Not thread-safe.
#pragma once
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace bicrl {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct FdPair {
  UniqueFd ours;
  UniqueFd theirs;
};

// All are close-on-exec. They throw Error with the system's reason (out of descriptors).
FdPair make_pipe();         // ours reads without blocking, theirs writes
FdPair make_stream_pair();  // connected Unix stream sockets
FdPair make_packet_pair();  // connected Unix sequenced-packet sockets
UniqueFd make_memfd(const char* name, std::string_view bytes = {});

// All of the file behind a descriptor, wherever its position is; empty if it cannot be read.
std::string read_whole(int fd);
// Likewise, into memory that is kept where it has the size already.
void read_whole(int fd, std::string& into);

}  // namespace bicrl
