// Who gets the references' process next, of programs of several tasks that wait for it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/gpu/baseline.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

// The order in which sessions of these tasks get the process, which one of task "a" has meanwhile.
std::vector<std::string> order_of(const std::vector<std::string>& tasks, Baseline& baseline) {
  std::vector<std::string> order;
  std::mutex mutex;
  std::vector<std::jthread> waiting;
  {
    const Baseline::Session first(baseline, {}, "a");
    for (size_t i = 0; i < tasks.size(); ++i) {
      waiting.emplace_back([&, task = tasks[i]] {
        const Baseline::Session next(baseline, {}, task);
        const std::lock_guard lock(mutex);
        order.push_back(task);
      });
      while (baseline.waiting() <= i) std::this_thread::yield();
    }
  }
  waiting.clear();
  return order;
}

}  // namespace

TEST_CASE("programs of the task that the references' process had last come first, up to a number in a row") {
  BoxHost& host = testing::box_host();
  const PythonInstall python = PythonInstall::find(testing::test_python());
  Baseline baseline(host, python, {.device = "cpu"});
  CHECK(order_of({"b", "a", "c", "a", "b"}, baseline) == std::vector<std::string>{"a", "a", "b", "b", "c"});
  // Nobody waits for ever behind a task that has no end of programs.
  std::vector<std::string> many{"b"};
  many.resize(20, "a");
  const std::vector<std::string> order = order_of(many, baseline);
  CHECK(order.size() == 20);
  CHECK(std::ranges::find(order, "b") - order.begin() == 15);
}

TEST_CASE("a session that stops waiting leaves its place to the others") {
  BoxHost& host = testing::box_host();
  const PythonInstall python = PythonInstall::find(testing::test_python());
  Baseline baseline(host, python, {.device = "cpu"});
  std::stop_source stop;
  bool cancelled_has_it = true, next_has_it = false;
  std::jthread cancelled, next;
  {
    const Baseline::Session first(baseline, {}, "a");
    cancelled = std::jthread([&] {
      Baseline::Session session(baseline, stop.get_token(), "a");
      cancelled_has_it = session.hello().ok();
    });
    while (baseline.waiting() < 1) std::this_thread::yield();
    next = std::jthread([&] {
      Baseline::Session session(baseline, {}, "b");
      next_has_it = session.hello().ok();
    });
    while (baseline.waiting() < 2) std::this_thread::yield();
    stop.request_stop();
    cancelled.join();
  }
  next.join();
  CHECK_FALSE(cancelled_has_it);
  CHECK(next_has_it);
}

}  // namespace bicrl
