// The client's parts that need no server.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/utf8.h"
#include "proto/verifier.pb.h"
#include "reward/client/call_failure.h"
#include "reward/client/server_pool.h"

using namespace bicrl;
using namespace std::chrono_literals;

TEST_CASE("text becomes well-formed UTF-8") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(to_utf8("plain \x01 ü 中 😀") == "plain \x01 ü 中 😀");
  CHECK(to_utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(to_utf8("\x80") == bad);
  CHECK(to_utf8("\xc0\xaf") == bad + bad);                      // overlong
  CHECK(to_utf8("\xe4\xb8") == bad + bad);                      // cut off at the end
  CHECK(to_utf8("\xf4\x90\x80\x80") == bad + bad + bad + bad);  // beyond U+10FFFF
  CHECK(to_utf8("\xf0\x80\x80\x80").size() == 12);
  CHECK(to_utf8("\xe0\x80\xaf").size() == 9);
  // Whatever comes in, Protobuf takes what comes out.
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>((i * 7919 + i / 13 * 104729) >> 3);
  verifier::v1::VerifyRequest message, parsed;
  message.set_program(to_utf8(bytes));
  CHECK(parsed.ParseFromString(message.SerializeAsString()));
  CHECK(to_utf8(to_utf8(bytes)) == to_utf8(bytes));
}

TEST_CASE("the pool prefers the least loaded server that answers") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(3, 1s, 4s);
  CHECK(pool.begin(now, {}) == 0);
  CHECK(pool.begin(now, {}) == 1);
  CHECK(pool.begin(now, {}) == 2);
  pool.end(1);
  CHECK(pool.begin(now, {}) == 1);
}

TEST_CASE("a server that fails is left alone, longer each time") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(2, 1s, 4s);
  const auto is_paused = [&](auto at) { return !pool.another_is_up(1, at); };
  pool.failed(0, now);
  CHECK(is_paused(now + 900ms));
  CHECK_FALSE(is_paused(now + 1100ms));
  pool.failed(0, now);
  CHECK(is_paused(now + 1900ms));
  CHECK_FALSE(is_paused(now + 2100ms));
  for (int i = 0; i < 2; ++i) CHECK(pool.begin(now + 1900ms, {}) == 1);
  CHECK(pool.begin(now + 2100ms, {}) == 0);
  for (int i = 0; i < 40; ++i) pool.failed(0, now);
  CHECK(is_paused(now + 3900ms));
  CHECK_FALSE(is_paused(now + 4100ms));
  pool.succeeded(0);
  CHECK_FALSE(is_paused(now));
  pool.failed(0, now);
  CHECK_FALSE(is_paused(now + 1100ms));  // a success ends the doubling
}

TEST_CASE("a server without room is left alone for a moment, however often") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(2, 1s, 4s);
  for (int i = 0; i < 5; ++i) pool.refused(0, now);
  CHECK_FALSE(pool.another_is_up(1, now + 900ms));
  CHECK(pool.another_is_up(1, now + 1100ms));
}

TEST_CASE("a retry goes elsewhere, unless everybody else is down") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(2, 1s, 4s);
  for (int i = 0; i < 5; ++i) CHECK(pool.begin(now, 0) == 1);
  CHECK(pool.another_is_up(0, now));
  pool.failed(1, now);
  CHECK_FALSE(pool.another_is_up(0, now));
  CHECK(pool.begin(now, 0) == 0);
  ServerPool alone(1, 1s, 4s);
  CHECK_FALSE(alone.another_is_up(0, now));
  CHECK(alone.begin(now, 0) == 0);
}

TEST_CASE("pauses between attempts grow, stay bounded and differ between requests") {
  for (int attempts = 1; attempts < 100; ++attempts) {
    const double pause_s = backoff_s(attempts, 0.5, 8, "key");
    const double nominal_s = std::min(0.5 * std::pow(2.0, attempts - 1), 8.0);
    CHECK(pause_s >= 0.75 * nominal_s);
    CHECK(pause_s <= 1.25 * nominal_s);
  }
  CHECK(backoff_s(1, 1, 8, "a") != backoff_s(1, 1, 8, "b"));
}
