// Children of the warm interpreter: what they see, how each end is reported, and that the parent survives.
#include "sandbox/box/zygote.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

Zygote& zygote() {
  static const PythonInstall python = PythonInstall::find(testing::test_python());
  static Zygote instance(
      testing::box_host(), python,
      {"test", "zygote_probe", "run", {testing::source_path("tests/sandbox/box/modules")}});
  return instance;
}

// Limits of time that only a child without an end meets, however busy the machine is.
ChildLimits patient() {
  ChildLimits limits;
  limits.wall_s = limits.cpu_s = 600;
  return limits;
}

std::unique_ptr<ZygoteChild> fork_child(const ChildLimits& limits = patient()) {
  auto child = zygote().fork(limits);
  INFO((child ? "" : child.reason()));
  REQUIRE(child.ok());
  return std::move(child.value());
}

ChildResult run(const std::string& what, const ChildLimits& limits = patient()) {
  auto child = fork_child(limits);
  REQUIRE(child->send({{"do", what}}, {}));
  while (child->receive()) {
  }
  return child->finish();
}

nlohmann::json ask(const std::string& what) {
  auto child = fork_child();
  REQUIRE(child->send({{"do", what}}, {}));
  auto frame = child->receive();
  REQUIRE(frame.has_value());
  return frame->header;
}

void check_alive() {
  auto child = fork_child();
  const std::string large(3 << 20, 'x');
  REQUIRE(child->send({{"do", "echo"}}, {large, "", "abc"}));
  const auto frame = child->receive();
  REQUIRE(frame.has_value());
  REQUIRE(frame->blobs.size() == 3);
  CHECK(frame->blobs[0] == large);
  CHECK(frame->blobs[1].empty());
  CHECK(frame->blobs[2] == "abc");
}

TEST_CASE("a child sees nothing of its parent, its siblings or the host") {
  setenv("BICRL_TEST_SECRET", "planted", 1);
  auto sibling = fork_child();
  for (int round = 0; round < 2; ++round) {  // the second child must not find the first one's file
    const auto seen = ask("look");
    INFO(seen.dump());
    CHECK(seen["pid"] == 1);
    CHECK(seen["proc"] == false);
    CHECK(seen["threads"] == 1);
    CHECK(seen["written"] == nlohmann::json({"/scratch"}));
    CHECK(seen["files_in_scratch"] == nlohmann::json({"x"}));
    CHECK(seen["fds"] == nlohmann::json({0, 1, 2, 3}));
    CHECK(seen["signals"].empty());
    CHECK(seen["shared_memory"] == -1);
    CHECK(seen["mount"] == nlohmann::json({-1, 1}));
    CHECK(seen["environment"].dump().find("planted") == std::string::npos);
    if (geteuid() == 0) CHECK(seen["uid"] != 0);
  }
}

TEST_CASE("children may have a root that shows nothing but what is named") {
  static const PythonInstall python = PythonInstall::find(testing::test_python());
  const auto modules = testing::source_path("tests/sandbox/box/modules");
  Zygote narrow(testing::box_host(), python,
                {"narrow", "zygote_probe", "run", {modules}, {}, {{modules, "/shown"}}});
  for (int round = 0; round < 2; ++round) {
    auto child = narrow.fork(patient());
    INFO((child ? "" : child.reason()));
    REQUIRE(child.ok());
    REQUIRE(child.value()->send({{"do", "look"}}, {}));
    const auto frame = child.value()->receive();
    REQUIRE(frame.has_value());
    const auto& seen = frame->header;
    INFO(seen.dump());
    CHECK(seen["root"] == nlohmann::json({"dev", "keep", "scratch", "shown"}));
    CHECK(seen["written"] == nlohmann::json({"/scratch"}));
    CHECK(seen["proc"] == false);
    CHECK(seen["shared_memory"] == -1);
  }
}

TEST_CASE("a child's clock stands still while others have the processors") {
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 4 * std::max(2u, std::thread::hardware_concurrency()); ++i)
    others.emplace_back([](std::stop_token stop) {
      while (!stop.stop_requested()) {
      }
    });
  ChildLimits limits = patient();
  limits.wall_s = 1.5;
  const Stopwatch clock;
  auto child = fork_child(limits);
  REQUIRE(child->send({{"do", "work"}, {"cpu_s", 0.7}}, {}));
  const auto frame = child->receive();
  INFO("after " << clock.seconds() << " s");
  REQUIRE(frame.has_value());
  CHECK(frame->header["ok"] == true);
  // A sleeper has the same clock as on an idle machine.
  limits.wall_s = 0.5;
  const Stopwatch sleep;
  CHECK(run("sleep", limits).end == ChildEnd::kTimeout);
  CHECK(sleep.seconds() < 20);
}

TEST_CASE("each end of a child has its name, and the interpreter forks on") {
  ChildLimits brief = patient();
  brief.wall_s = 0.5;
  CHECK(run("sleep", brief).end == ChildEnd::kTimeout);
  CHECK(run("spin", brief).end == ChildEnd::kTimeout);
  ChildLimits little_cpu = patient();
  little_cpu.cpu_s = 1;
  CHECK(run("spin", little_cpu).end == ChildEnd::kTimeout);
  CHECK(run("flood").end == ChildEnd::kOutputLimit);
  const ChildResult exited = run("exit");
  CHECK(exited.end == ChildEnd::kExited);
  CHECK(exited.code == 3);
  const ChildResult crashed = run("crash");
  CHECK(crashed.end == ChildEnd::kSignalled);
  CHECK(crashed.code == SIGSEGV);
  const ChildResult forked = run("fork");
  CHECK(forked.end == ChildEnd::kSignalled);
  CHECK(forked.code == SIGSYS);
  CHECK(ask("thread")["ok"] == true);
  for (const char* lie : {"garbage", "lie", "huge"}) CHECK(run(lie).end == ChildEnd::kBadFrame);
  CHECK(run("deaf").end == ChildEnd::kSignalled);
  ChildLimits small = patient();
  small.memory_bytes = 256ull << 20;
  const ChildResult hoarder = run("memory", small);
  INFO(hoarder.output);
  const bool bounded =
      hoarder.end == ChildEnd::kMemory || hoarder.output.find("MemoryError") != std::string::npos;
  CHECK(bounded);
  check_alive();
  CHECK(zygote().starts() == 1);
}

TEST_CASE("many children at a time") {
  std::vector<std::jthread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&good] {
      for (int k = 0; k < 5; ++k) {
        auto child = zygote().fork(patient());
        if (child && child.value()->send({{"do", "echo"}, {"k", k}}, {"abc"}))
          good += child.value()->receive().has_value();
      }
    });
  threads.clear();
  CHECK(good == 40);
}

TEST_CASE("a stop request ends a child") {
  std::stop_source stop;
  auto child = fork_child();
  REQUIRE(child->send({{"do", "sleep"}}, {}));
  std::jthread asker([&] { stop.request_stop(); });
  CHECK_FALSE(child->receive(stop.get_token()).has_value());
  CHECK(child->finish().end == ChildEnd::kCancelled);
}

TEST_CASE("a dead interpreter is replaced") {
  check_alive();
  const int before = zygote().starts();
  auto child = fork_child();
  REQUIRE(child->send({{"do", "sleep"}}, {}));
  kill(zygote().box_pid(), SIGKILL);
  CHECK_FALSE(child->receive().has_value());
  CHECK(child->finish().end == ChildEnd::kBoxFailed);
  // A fork in the moment of the death may still fail: callers try again.
  for (int attempt = 0; attempt < 100 && zygote().starts() == before; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  check_alive();
  CHECK(zygote().starts() == before + 1);
}

void wait_for_spare() {
  for (int attempt = 0; attempt < 1200 && !zygote().has_spare(); ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  REQUIRE(zygote().has_spare());
}

TEST_CASE("the next child waits where one was dismissed") {
  auto first = fork_child();
  REQUIRE(first->send({{"do", "look"}}, {}));
  REQUIRE(first->receive().has_value());
  zygote().dismiss(std::move(first));
  wait_for_spare();
  const auto seen = ask("look");
  CHECK_FALSE(zygote().has_spare());  // that one was it
  INFO(seen.dump());
  CHECK(seen["pid"] == 1);
  CHECK(seen["files_in_scratch"] == nlohmann::json({"x"}));
}

TEST_CASE("a child in waiting is for its own limits only, and its time begins when it is asked for") {
  ChildLimits short_limits = patient();
  short_limits.wall_s = 2;
  zygote().dismiss(fork_child(short_limits));
  wait_for_spare();
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  check_alive();  // of other limits
  CHECK(zygote().has_spare());
  auto child = fork_child(short_limits);
  CHECK_FALSE(zygote().has_spare());
  REQUIRE(child->send({{"do", "echo"}}, {"abc"}));
  CHECK(child->receive().has_value());
}

TEST_CASE("a child in waiting that died with its interpreter is not handed out") {
  zygote().dismiss(fork_child());
  wait_for_spare();
  const int before = zygote().starts();
  kill(zygote().box_pid(), SIGKILL);
  for (int attempt = 0; attempt < 1200 && zygote().starts() == before; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  check_alive();
}

TEST_CASE("an interpreter that cannot start says why, soon") {
  const PythonInstall python = PythonInstall::find(testing::test_python());
  Zygote broken(testing::box_host(), python, {"broken", "no_such_module", "run", {}});
  const auto child = broken.fork(patient());
  REQUIRE_FALSE(child.ok());
  INFO(child.reason());
  CHECK(child.reason().find("no_such_module") != std::string::npos);
}

}  // namespace
}  // namespace bicrl
