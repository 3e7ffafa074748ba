#include "common/progress_bar.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string_view>

namespace bicrl {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr int kNarrowestBar = 8;
constexpr int kWidestBar = 40;
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::mutex mutex;
// Guarded by the mutex: the bar whose text is on the terminal at this moment.
const ProgressBar* shown = nullptr;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n <= 0) return;  // a bar is not worth an error
    text.remove_prefix(static_cast<size_t>(n));
  }
}

// Width of the terminal that standard output ends in, 0 if there is none that a bar may be drawn on.
int terminal_width() {
  if (!isatty(STDOUT_FILENO)) return 0;
  const char* kind = getenv("TERM");
  if (!kind || std::string_view(kind) == "dumb") return 0;
  // A rank's own terminal is a pipe by another name: mpirun passes on what it reads there.
  const bool rank = getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
  const pid_t owner = rank ? getppid() : getpid();
  const int fd = rank ? open(("/proc/" + std::to_string(owner) + "/fd/1").c_str(),
                             O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
                      : STDOUT_FILENO;
  winsize size{};
  // A job in the background leaves the terminal to the one in front.
  const bool usable =
      fd >= 0 && isatty(fd) && tcgetpgrp(fd) == getpgid(owner) && ioctl(fd, TIOCGWINSZ, &size) == 0;
  if (rank && fd >= 0) close(fd);
  if (!usable) return 0;
  return size.ws_col > 0 ? size.ws_col : 80;
}

void hide() {
  if (shown) write_all(kEraseLine);
  shown = nullptr;
}

}  // namespace

std::string progress_pace(int64_t done, int64_t total, int64_t done_before, double seconds) {
  if (done <= done_before || seconds <= 0) return "";
  const double rate = static_cast<double>(done - done_before) / seconds;
  char text[64];
  snprintf(text, sizeof text, rate < 0.95 ? "%.1f s each" : "%.1f/s", rate < 0.95 ? 1 / rate : rate);
  if (done >= total) return text;
  return text + ("  ETA " + clock_text(static_cast<double>(total - done) / rate));
}

std::string progress_text(const std::string& label, int64_t done, int64_t total, const std::string& unit,
                          const std::string& its_pace, int width) {
  const std::string count =
      std::to_string(done) + "/" + std::to_string(total) + (unit.empty() ? "" : " " + unit);
  const std::string pace = its_pace.empty() ? "" : "  " + its_pace;
  const auto room = [&](const std::string& tail) {
    return width - static_cast<int>(label.size() + count.size() + tail.size()) - 6;  // brackets and blanks
  };
  std::string line = label + "  " + count;
  if (static_cast<int>(line.size() + pace.size()) <= width) line += pace;
  if (const int bar = std::min(room(pace), kWidestBar); bar >= kNarrowestBar) {
    const double share =
        total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 1.0;
    const int full = static_cast<int>(share * bar);
    line = label + "  [" + std::string(full, '#') + std::string(bar - full, '.') + "]  " + count + pace;
  }
  return line.substr(0, static_cast<size_t>(std::max(width, 0)));
}

ProgressBar::ProgressBar(std::string label, int64_t total, std::string unit, int64_t done)
    : label_(std::move(label)), total_(total), unit_(std::move(unit)), first_(done), done_(done) {
  set(done);
}

ProgressBar::~ProgressBar() {
  const std::lock_guard lock(mutex);
  if (shown == this) hide();
}

void ProgressBar::set(int64_t done) {
  const std::lock_guard lock(mutex);
  update(done);
}

void ProgressBar::set(int64_t done, const std::string& pace) {
  const std::lock_guard lock(mutex);
  update(done, &pace);
}

void ProgressBar::advance(int64_t by) {
  const std::lock_guard lock(mutex);
  update(done_ + by);
}

void ProgressBar::update(int64_t done, const std::string* pace) {
  done_ = done;
  if (drawn_ && done < total_ && since_drawn_.seconds() < kSecondsBetweenDraws) return;
  drawn_ = true;
  since_drawn_.restart();
  const int width = terminal_width();
  if (width == 0) return;
  // One column stays free: a full last line would make some terminals scroll.
  write_all(std::string(kEraseLine) +
            progress_text(label_, done_, total_, unit_,
                          pace ? *pace : progress_pace(done_, total_, first_, since_start_.seconds()),
                          width - 1));
  shown = this;
}

bool can_show_progress() { return terminal_width() > 0; }

void print_line(const std::string& line) {
  const std::lock_guard lock(mutex);
  hide();
  std::cout << line << std::endl;
}

void hide_progress_bar() {
  const std::lock_guard lock(mutex);
  hide();
}

}  // namespace bicrl
