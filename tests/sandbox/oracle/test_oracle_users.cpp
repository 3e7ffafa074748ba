// For whom a reference is at work, and when it is ended.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "sandbox/oracle/oracle.h"
#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// Without end, but for its limit of an hour.
std::string endless(const std::string& note) {
  return task_code("while True: pass", "[torch.randn(4)]") + "# " + note + "\n";
}

Oracle& lonely_oracle() {
  static Oracle oracle(box_host(), python_install(), [] {
    OracleOptions options = oracle_options(3600);
    options.concurrent = 1;
    return options;
  }());
  // Its interpreter takes its time on a busy machine.
  static bool is_warm = false;
  while (!is_warm) {
    const auto opened = oracle.open(task_code("return x.cos()", "[torch.randn(4, 4)]"), 1);
    is_warm = opened->answers() != nullptr;
    if (!is_warm) oracle.forget(*opened);
  }
  return oracle;
}

// While one reference runs without end, the next one waits: what answers has ended it.
void check_idle() {
  const auto opened = lonely_oracle().open(task_code("return x.exp()", "[torch.randn(4, 4)]"), 1);
  CHECK(opened->answers());
}

}  // namespace

TEST_CASE("a reference is ended with the last of those who were stopped") {
  std::stop_source first, second;
  auto one = lonely_oracle().open(endless("two users"), 4, TaskSize::kGiven, first.get_token());
  auto two = lonely_oracle().open(endless("two users"), 4, TaskSize::kGiven, second.get_token());
  REQUIRE(one.get() == two.get());
  REQUIRE(one->spec());  // it is at work
  first.request_stop();
  one.reset();
  std::this_thread::sleep_for(200ms);
  // It would know of its end.
  auto third = lonely_oracle().open(endless("two users"), 4);
  CHECK(third.get() == two.get());
  third.reset();
  second.request_stop();
  two.reset();
  check_idle();
}

TEST_CASE("a reference goes on for the next candidate if nobody was stopped, and is ended if that one was") {
  const auto first = lonely_oracle().open(endless("nobody stopped"), 4).get();
  std::stop_source source;
  auto again = lonely_oracle().open(endless("nobody stopped"), 4, TaskSize::kGiven, source.get_token());
  CHECK(again.get() == first);
  source.request_stop();
  again.reset();
  check_idle();
  // Asked for once more it begins anew.
  std::stop_source other;
  auto anew = lonely_oracle().open(endless("nobody stopped"), 4, TaskSize::kGiven, other.get_token());
  CHECK(anew->spec());
  other.request_stop();
  anew.reset();
  check_idle();
}

TEST_CASE("a reference that nobody has begun is not begun, and a known answer stays known") {
  std::stop_source source;
  auto running = lonely_oracle().open(endless("runs"), 4, TaskSize::kGiven, source.get_token());
  REQUIRE(running->spec());
  const std::string code = task_code("return x.sin()", "[torch.randn(4, 4)]");
  auto waiting = lonely_oracle().open(code, 1, TaskSize::kGiven, source.get_token());
  source.request_stop();
  waiting.reset();
  running.reset();
  check_idle();
  std::stop_source late;
  auto known = lonely_oracle().open(code, 1, TaskSize::kGiven, late.get_token());
  const auto answers = known->answers();
  REQUIRE(answers);
  late.request_stop();
  known.reset();
  CHECK(lonely_oracle().open(code, 1)->answers() == answers);
}

}  // namespace bicrl
