#include "sandbox/box/process/descriptors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace bicrl {
namespace {

[[noreturn]] void fail(const char* what) {
  throw Error(concat("cannot create ", what, ": ", strerror(errno)));
}

FdPair make_sockets(int type) {
  int fds[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) != 0) fail("a socket pair");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace

FdPair make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) fail("a pipe");
  FdPair pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return pair;
}

FdPair make_stream_pair() { return make_sockets(SOCK_STREAM); }
FdPair make_packet_pair() { return make_sockets(SOCK_SEQPACKET); }

UniqueFd make_memfd(const char* name, std::string_view bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd) fail("a memory file");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("a memory file");
    done += static_cast<size_t>(n);
  }
  if (lseek(fd.get(), 0, SEEK_SET) != 0) fail("a memory file");
  return fd;
}

std::string read_whole(int fd) {
  std::string bytes;
  read_whole(fd, bytes);
  return bytes;
}

void read_whole(int fd, std::string& into) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return into.clear();
  into.resize(static_cast<size_t>(info.st_size));
  for (size_t done = 0; done < into.size();) {
    const ssize_t n = pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return into.clear();
    done += static_cast<size_t>(n);
  }
}

}  // namespace bicrl
