#include "sandbox/runtimes/box/fork_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/error.h"
#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/runtimes/box/child_box.h"
#include "sandbox/runtimes/box/frames.h"

namespace bicrl::box {
namespace {

using nlohmann::json;

[[noreturn]] void die(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int descriptor_from(const char* variable) {
  const char* text = getenv(variable);
  if (!text) die(variable);
  return atoi(text);
}

struct Request {
  json content;
  UniqueFd channel, status, output;
};

// False when the server is gone.
bool receive_request(int socket, Request& request) {
  Packet packet = receive_packet(socket);
  if (!packet.content.is_object() || packet.fds.size() != 3) return false;
  request = {std::move(packet.content), std::move(packet.fds[0]), std::move(packet.fds[1]),
             std::move(packet.fds[2])};
  return true;
}

class ForkServer {
 public:
  ForkServer();
  void serve();  // returns in children

 private:
  struct Child {
    pid_t pid;
    UniqueFd pidfd, status;
  };
  uint64_t data_bytes() const;
  pid_t fork_child(const Request& request);
  void enter_box(const Request& request, uint64_t base_bytes) const;
  bool accept();  // true in the child
  void report(const Child& child) const;

  int control_, statm_, own_;
  std::string filter_;
  std::vector<Child> children_;
};

ForkServer::ForkServer()
    : control_(descriptor_from("BICRL_CONTROL_FD")),
      statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      own_(open_pidfd(getpid())),
      filter_(1 << 16, '\0') {
  const ssize_t bytes = pread(descriptor_from("BICRL_FILTER_FD"), filter_.data(), filter_.size(), 0);
  if (bytes <= 0 || statm_ < 0 || own_ < 0) die("descriptors");
  filter_.resize(static_cast<size_t>(bytes));
  // Children see what this process sees.
  if (umount2("/proc", MNT_DETACH) != 0) die("cannot unmount /proc");
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Private writable memory of this process now: limits of the children count from here.
uint64_t ForkServer::data_bytes() const {
  char text[256] = {};
  unsigned long pages = 0;
  if (pread(statm_, text, sizeof text - 1, 0) <= 0 || sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
    die("memory of this process");
  return uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void ForkServer::enter_box(const Request& request, uint64_t base_bytes) const {
  const json& asked = request.content;
  const auto number = [&asked](const char* name) { return asked.at(name).get<uint64_t>(); };
  const uint64_t data = number("data_bytes");
  const ChildBox spec{number("tmp_bytes"),
                      number("cpu_s"),
                      number("file_bytes"),
                      number("open_files"),
                      number("processes"),
                      data ? base_bytes + data : 0,
                      asked.at("change_uid").get<int32_t>(),
                      asked.at("uid").get<uint32_t>(),
                      request.channel.get(),
                      request.output.get(),
                      filter_.data(),
                      static_cast<uint32_t>(filter_.size()),
                      nullptr};
  const int step = bicrl_enter_child_box(&spec);
  const int error = errno;
  if (step == 0 && send_frame(kChannelFd, {{"kind", "ready"}})) return;
  if (step != 0) send_frame(kChannelFd, {{"kind", "failed"}, {"step", step}, {"error", strerror(error)}});
  _exit(1);
}

// 0 in the child, negative with errno set on failure.
pid_t ForkServer::fork_child(const Request& request) {
  const uint64_t base_bytes = data_bytes();
  if (const int error = bicrl_next_fork_in_new_pid_namespace()) {
    errno = error;
    return -1;
  }
  const pid_t pid = fork();
  const int error = errno;
  if (pid == 0) {
    enter_box(request, base_bytes);
    return 0;
  }
  if (bicrl_back_to_own_pid_namespace(own_) != 0) _exit(1);  // the server starts another program
  errno = error;
  return pid;
}

bool ForkServer::accept() {
  Request request;
  if (!receive_request(control_, request)) _exit(0);
  const pid_t pid = fork_child(request);
  if (pid == 0) return true;
  UniqueFd pidfd(pid > 0 ? open_pidfd(pid) : -1);
  // The server may have given the child up: then nobody hears this.
  if (!pidfd) {
    send_packet(request.status.get(), json{{"error", concat("fork: ", strerror(errno))}}.dump(), {});
  } else {
    send_packet(request.status.get(), R"({"started": true})", {pidfd.get()});
    children_.push_back({pid, std::move(pidfd), std::move(request.status)});
  }
  return false;
}

void ForkServer::report(const Child& child) const {
  int wait_status = 0;
  rusage usage{};
  wait4(child.pid, &wait_status, 0, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3;
  };
  const json ended{{"wait_status", wait_status}, {"cpu_ms", ms(usage.ru_utime) + ms(usage.ru_stime)}};
  send_packet(child.status.get(), ended.dump(), {});
}

void ForkServer::serve() {
  send_packet(control_, R"({"ready": true})", {});
  for (;;) {
    std::vector<pollfd> events{{control_, POLLIN, 0}};
    for (const Child& child : children_) events.push_back({child.pidfd.get(), POLLIN, 0});
    if (poll(events.data(), events.size(), -1) < 0 && errno != EINTR) die("poll");
    for (size_t i = events.size(); i-- > 1;)
      if (events[i].revents) {
        report(children_[i - 1]);
        children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
      }
    if (events[0].revents && accept()) return;
  }
}

}  // namespace

void serve_forks() { ForkServer().serve(); }

}  // namespace bicrl::box
