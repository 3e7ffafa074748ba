// What signals do to a process with the stop handler: each case in a child of its own.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "launch/signals.h"

namespace bicrl {
namespace {

constexpr int kAsked = 3, kNotAsked = 4;

// The signal that ends a child which sends itself these, in order; 0 if it goes on, asked to stop.
int ended_by(const std::vector<int>& signals) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The test's own handlers would report a failed test.
    for (const int number : {SIGINT, SIGTERM, SIGUSR1}) signal(number, SIG_DFL);
    install_stop_handler("");
    for (const int number : signals) raise(number);
    _exit(stop_requested() ? kAsked : kNotAsked);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  CHECK(WEXITSTATUS(status) == kAsked);
  return 0;
}

TEST_CASE("the first signal asks to stop, and the second ends the process") {
  for (const int first : {SIGINT, SIGTERM}) {
    CAPTURE(first);
    CHECK(ended_by({first}) == 0);
    for (const int second : {SIGINT, SIGTERM}) CHECK(ended_by({first, second}) == second);
  }
}

TEST_CASE("SIGINT and SIGTERM are the first signal behind a batch system's warning") {
  CHECK(ended_by({SIGUSR1}) == 0);
  CHECK(ended_by({SIGUSR1, SIGUSR1}) == SIGUSR1);
  for (const int next : {SIGINT, SIGTERM}) {
    CAPTURE(next);
    CHECK(ended_by({SIGUSR1, next}) == 0);
    CHECK(ended_by({SIGUSR1, next, next}) == next);
  }
}

}  // namespace
}  // namespace bicrl
