// Waiting for a descriptor: how long, and what ends it.
#include "sandbox/box/process/descriptor_passing.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <stop_token>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {
namespace {

// A thread that the machine lets wait between two looks at its clock has less than nothing left: with a
// negative number poll() would never return, and who joins the thread would wait with it.
TEST_CASE("a wait whose time is over asks poll() for no wait, and a long one for a short wait") {
  for (const double over_s : {0.0, -1e-9, -0.0011, -0.173, -1e12}) CHECK(poll_timeout_ms(over_s) == 0);
  CHECK(poll_timeout_ms(1e-9) == 1);
  CHECK(poll_timeout_ms(0.05) == 50);
  for (const double long_s : {0.1, 3600.0, 1e12}) CHECK(poll_timeout_ms(long_s) == 100);
}

TEST_CASE("waiting ends with something to read, with the time, and with a stop") {
  const FdPair pipe = make_pipe();
  std::stop_source stop;
  CHECK(!wait_readable(pipe.ours.get(), -1, stop.get_token()));
  CHECK(!wait_readable(pipe.ours.get(), 0.001, stop.get_token()));
  REQUIRE(write(pipe.theirs.get(), "x", 1) == 1);
  CHECK(wait_readable(pipe.ours.get(), 3600, stop.get_token()));
  stop.request_stop();
  CHECK(!wait_readable(pipe.ours.get(), 3600, stop.get_token()));
}

}  // namespace
}  // namespace bicrl
