#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "common/log.h"
#include "common/progress_bar.h"

namespace bicrl {
namespace {

std::string read_to_end(int fd) {
  std::string bytes;
  char buffer[4096];
  // A terminal whose other side is closed reads as an error.
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) bytes.append(buffer, static_cast<size_t>(n));
  return bytes;
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// What `work` writes to a terminal of its own, as it arrives there.
std::string on_terminal(int columns, const std::function<void()>& work, const char* kind = "xterm") {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  std::cout << std::flush;  // else the child would write it as well
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(pid >= 0);
  if (pid == 0) {
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("TERM", kind, 1);
    work();
    _exit(0);
  }
  const std::string bytes = read_to_end(terminal);
  close(terminal);
  CHECK(wait_for(pid) == 0);
  return bytes;
}

// The lines that are to be seen afterwards, and the longest that was ever to be seen.
struct Screen {
  std::vector<std::string> lines = {""};
  size_t widest = 0;
};

Screen screen_after(const std::string& bytes) {
  Screen screen;
  size_t column = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string& line = screen.lines.back();
    if (bytes[i] == '\r') {
      column = 0;
    } else if (bytes[i] == '\n') {
      screen.lines.emplace_back();
      column = 0;
    } else if (bytes.compare(i, 3, "\x1b[K") == 0) {
      line.resize(column);
      i += 2;
    } else {
      line.resize(std::max(line.size(), column + 1), ' ');
      line[column++] = bytes[i];
      screen.widest = std::max(screen.widest, line.size());
    }
  }
  return screen;
}

TEST_CASE("A progress bar stays on the last line, and lines take its place") {
  const std::string bytes = on_terminal(70, [] {
    {
      ProgressBar bar("evaluating", 20, "tasks");
      bar.set(5);
      print_line("a line");
      for (int i = 0; i < 4; ++i) {
        usleep(120'000);
        bar.advance();
      }
      log_info("a message");
      log_debug("one that nobody asked for");
      bar.set(20);
    }
    print_line("the end");
  });
  const Screen screen = screen_after(bytes);
  INFO(bytes);
  REQUIRE(screen.lines.size() == 4);
  CHECK(screen.lines[0] == "a line");
  CHECK(screen.lines[1].ends_with(" a message"));
  CHECK(screen.lines[1].find("evaluating") == std::string::npos);
  CHECK(screen.lines[2] == "the end");
  CHECK(screen.lines[3].empty());
  CHECK(bytes.find("0/20 tasks") != std::string::npos);
  CHECK(bytes.find("9/20 tasks  ") != std::string::npos);
  CHECK(bytes.find("ETA") != std::string::npos);
  CHECK(bytes.find("#]  20/20 tasks") != std::string::npos);
  CHECK(screen.widest == 69);
}

TEST_CASE("A progress bar is there until it ends") {
  const std::string bytes = on_terminal(60, [] {
    ProgressBar bar("training", 4);
    bar.set(4);
    _exit(0);  // without its destructor
  });
  const Screen screen = screen_after(bytes);
  REQUIRE(screen.lines.size() == 1);
  CHECK(screen.lines[0].starts_with("training  [####"));
}

TEST_CASE("A pace that the caller knows takes the place of the bar's own") {
  const std::string bytes = on_terminal(80, [] {
    if (!can_show_progress()) _exit(1);
    ProgressBar bar("generating", 4, "responses");
    usleep(120'000);
    bar.set(1, "830 tokens/s  ETA 0:12");
    _exit(0);  // without its destructor
  });
  CHECK(screen_after(bytes).lines.back().ends_with("]  1/4 responses  830 tokens/s  ETA 0:12"));
}

TEST_CASE("The younger of two progress bars is the one to be seen") {
  const std::string bytes = on_terminal(60, [] {
    ProgressBar outer("outer", 2);
    { ProgressBar inner("inner", 2); }
    _exit(0);
  });
  CHECK(screen_after(bytes).lines == std::vector<std::string>{""});
}

TEST_CASE("A progress bar is drawn rarely, however often it is set") {
  const std::string bytes = on_terminal(80, [] {
    ProgressBar bar("counting", 1'000'000);
    for (int i = 0; i < 100'000; ++i) bar.advance();
  });
  // A hundred thousand draws would be some eight megabytes.
  CHECK(bytes.size() < 100'000);
}

TEST_CASE("Without a terminal in front there is no progress bar") {
  const auto work = [] {
    if (can_show_progress()) _exit(1);
    ProgressBar bar("hidden", 3);
    bar.set(2);
    print_line("a line");
    bar.set(3);
  };
  CHECK(on_terminal(80, work, "dumb") == "a line\r\n");

  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::cout << std::flush;
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    work();
    _exit(0);
  }
  close(ends[1]);
  CHECK(read_to_end(ends[0]) == "a line\n");
  close(ends[0]);
  CHECK(wait_for(pid) == 0);

  // A job in the background of its terminal.
  CHECK(on_terminal(80, [&] {
          const pid_t job = fork();
          if (job == 0) {
            setpgid(0, 0);
            work();
            _exit(0);
          }
          if (wait_for(job) != 0) _exit(1);
        }) == "a line\r\n");
}

TEST_CASE("Under mpirun a progress bar is drawn where mpirun's output is a terminal") {
  // `work` runs in a child that writes to a pseudo-terminal of the parent's, as a rank of mpirun does.
  const auto as_rank = [] {
    winsize size{};
    size.ws_col = 200;
    int master = -1;
    int slave = -1;
    if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) _exit(1);
    const pid_t rank = fork();
    if (rank == 0) {
      setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
      dup2(slave, STDOUT_FILENO);
      close(slave);
      close(master);
      ProgressBar bar("ranks", 3);
      bar.set(3);
      print_line("a line");
      _exit(0);
    }
    close(slave);
    const std::string bytes = read_to_end(master);
    if (wait_for(rank) != 0) _exit(1);
    if (write(STDOUT_FILENO, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) _exit(1);
  };
  const std::string bytes = on_terminal(50, as_rank);
  CHECK(bytes.find("ranks  [####") != std::string::npos);
  CHECK(screen_after(bytes).widest == 49);

  const std::string piped = on_terminal(50, [&] {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    const int terminal = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    as_rank();
    dup2(terminal, STDOUT_FILENO);
    close(ends[1]);
    const std::string written = read_to_end(ends[0]);
    if (write(STDOUT_FILENO, written.data(), written.size()) < 0) _exit(1);
  });
  CHECK(piped.find("ranks") == std::string::npos);
  CHECK(piped.find("a line") != std::string::npos);
}

TEST_CASE("The text of a progress bar fits any width") {
  const std::string pace = progress_pace(37, 256, 5, 16);
  CHECK(pace == "2.0/s  ETA 1:50");
  for (int width = -1; width < 140; ++width) {
    const std::string text = progress_text("evaluating", 37, 256, "tasks", pace, width);
    CHECK(static_cast<int>(text.size()) <= std::max(width, 0));
  }
  CHECK(progress_text("evaluating", 37, 256, "tasks", pace, 80) ==
        "evaluating  [#####..............................]  37/256 tasks  2.0/s  ETA 1:50");
  CHECK(progress_text("evaluating", 37, 256, "tasks", pace, 45) ==
        "evaluating  37/256 tasks  2.0/s  ETA 1:50");
  CHECK(progress_text("evaluating", 37, 256, "tasks", pace, 30) == "evaluating  37/256 tasks");
  CHECK(progress_text("evaluating", 37, 256, "tasks", pace, 8) == "evaluati");
  // Slow work, none yet, nothing to do, more than all.
  CHECK(progress_pace(3, 4, 0, 30) == "10.0 s each  ETA 10 s");
  CHECK(progress_pace(4, 4, 0, 40) == "10.0 s each");
  CHECK(progress_pace(0, 4, 0, 30).empty());
  CHECK(progress_pace(9, 4, 9, 1).empty());
  CHECK(progress_pace(1, 4, 0, 0).empty());
  CHECK(progress_text("steps", 3, 4, "", "10.0 s each", 40) == "steps  [#########....]  3/4  10.0 s each");
  CHECK(progress_text("steps", 0, 4, "", "", 20) == "steps  0/4");
  CHECK(progress_text("steps", 0, 0, "", "", 24) == "steps  [##########]  0/0");
  CHECK(progress_text("steps", 9, 4, "", "", 24) == "steps  [##########]  9/4");
}

}  // namespace
}  // namespace bicrl
