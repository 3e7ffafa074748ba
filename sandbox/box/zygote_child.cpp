#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/box/process/processor_wait.h"
#include "sandbox/box/zygote.h"

namespace bicrl {
namespace {

constexpr double kSetUpPatience_s = 60;

// Short limits are for tests and quick answers: a machine may well be busy for some seconds.
double most_patience_s(double wall_s) { return kBusyMachineFactor * std::max(wall_s, 10.0); }

}  // namespace

ZygoteChild::ZygoteChild(BoxHost& host, const ChildLimits& limits)
    : limits_(limits),
      slot_(host.take_slot({limits.memory_bytes, limits.threads})),
      before_(slot_->cgroup->events()),
      wall_s_(kSetUpPatience_s),
      reader_(limits.frames),
      log_(limits.output_bytes) {}

ZygoteChild::~ZygoteChild() { finish(); }

void ZygoteChild::begin() {
  clock_.restart();
  server_thread_ = gettid();
  waited_before_s_ = processor_wait_s(pid_) + processor_wait_s(server_thread_);
  wall_s_ = limits_.wall_s;
}

bool ZygoteChild::waits() const {
  pollfd fds[2] = {{channel_.get(), POLLIN, 0}, {status_.get(), POLLIN, 0}};
  return poll(fds, 2, 0) == 0;
}

void ZygoteChild::kill_child() {
  if (pidfd_) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

bool ZygoteChild::read_status() {
  const Packet packet = receive_packet(status_.get());
  if (!packet.content.is_object()) return false;
  wait_status_ = packet.content.value("wait_status", 0);
  cpu_ms_ = packet.content.value("cpu_ms", 0.0);
  return true;
}

// Until when the child may run: its limit, and what it and its reader waited for a processor. A child that
// sends hundreds of MiB stands still whenever the server does not read.
double ZygoteChild::patience_s() const {
  const double waited_s =
      pid_ > 0 ? processor_wait_s(pid_) + processor_wait_s(server_thread_) - waited_before_s_ : 0;
  return std::min(wall_s_ + std::max(0.0, waited_s), most_patience_s(wall_s_));
}

bool ZygoteChild::keep_waiting(short channel_events, std::stop_token& stop) {
  channel_ready_ = false;
  while (!ended_) {
    double left_s = wall_s_ - clock_.seconds();
    if (left_s <= 0) left_s = patience_s() - clock_.seconds();
    if (left_s <= 0) {
      ended_ = ChildEnd::kTimeout;
      if (clock_.seconds() >= most_patience_s(wall_s_)) {
        ended_ = ChildEnd::kBoxFailed;
        reason_ = "the machine is too busy: it got hardly any time on a processor";
      }
      break;
    }
    if (stop.stop_requested()) {
      ended_ = ChildEnd::kCancelled;
      break;
    }
    pollfd fds[2] = {{channel_.get(), channel_events, 0}, {output_.get(), POLLIN, 0}};
    poll(fds, output_open_ ? 2 : 1, poll_timeout_ms(left_s));
    if (output_open_ && fds[1].revents) output_open_ = log_.read_from(output_.get());
    if (log_.overflowed()) ended_ = ChildEnd::kOutputLimit;
    if (!ended_ && fds[0].revents) {
      channel_ready_ = true;
      return true;
    }
  }
  kill_child();
  return false;
}

std::optional<Frame> ZygoteChild::receive(std::stop_token stop) {
  while (!ended_ && channel_) {
    const auto state = reader_.read_from(channel_.get());
    if (state == FrameReader::State::kComplete) return reader_.take();
    if (state == FrameReader::State::kMalformed) {
      ended_ = ChildEnd::kBadFrame;
      reason_ = reader_.complaint();
      kill_child();
      break;
    }
    if (reader_.closed() || !keep_waiting(POLLIN, stop)) break;
  }
  return std::nullopt;
}

bool ZygoteChild::send(const nlohmann::json& header, const std::vector<std::string_view>& blobs,
                       std::stop_token stop) {
  const std::string text = encode_header(header, blobs);
  std::vector<std::string_view> parts{text};
  parts.insert(parts.end(), blobs.begin(), blobs.end());
  for (std::string_view part : parts)
    while (!part.empty()) {
      const ssize_t n = ::send(channel_.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) {
        part.remove_prefix(static_cast<size_t>(n));
      } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (!keep_waiting(POLLOUT, stop)) return false;
      } else if (n < 0 && errno != EINTR) {
        deaf_ = true;
        return false;
      }
    }
  return true;
}

ChildResult ZygoteChild::finish() {
  ChildResult result;
  if (reaped_) return result;
  reaped_ = true;
  // Closing the channel is the end of the conversation; a child that lingers is ended. One that died on its
  // own gets a moment, so that its own signal is what is reported.
  if (!ended_ && status_ && !reader_.closed() && !deaf_) ended_ = ChildEnd::kCancelled;
  if (ended_) kill_child();
  std::stop_token never;
  bool known = status_ && wait_readable(status_.get(), ended_ ? 10.0 : 0.5, never) && read_status();
  if (!known && !ended_ && pidfd_) {  // closed its channel and lingers
    kill_child();
    known = wait_readable(status_.get(), 10, never) && read_status();
  }
  if (output_) log_.read_from(output_.get());
  const MemoryEnd memory = memory_end(before_, slot_->cgroup->events());
  result.output = log_.text();
  result.reason = reason_;
  result.total_ms = clock_.ms();
  result.cpu_ms = cpu_ms_;
  if (ended_ && (*ended_ != ChildEnd::kBoxFailed || !reason_.empty())) {
    result.end = *ended_;
  } else if (memory == MemoryEnd::kLimit) {
    result.end = ChildEnd::kMemory;
  } else if (memory == MemoryEnd::kMachine) {
    result.end = ChildEnd::kBoxFailed;
    result.reason = kMachineOutOfMemory;
  } else if (!known) {
    result.end = ChildEnd::kBoxFailed;
    result.reason = reason_.empty() ? "the warm interpreter died" : reason_;
  } else if (log_.overflowed()) {
    result.end = ChildEnd::kOutputLimit;
  } else {
    result.end = WIFSIGNALED(wait_status_) ? ChildEnd::kSignalled : ChildEnd::kExited;
    result.code = WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
    if (result.end == ChildEnd::kSignalled && result.code == SIGKILL && cpu_ms_ >= limits_.cpu_s * 700.0)
      result.end = ChildEnd::kTimeout;
  }
  return result;
}

}  // namespace bicrl
