#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "common/single_flight.h"

namespace bicrl {

TEST_CASE("one at a time works on a key, and on other keys others") {
  SingleFlight turns;
  std::atomic<int> at_work = 0, most = 0, done = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 50; ++k) {
          const auto turn = turns.take("a");
          if (!turn) continue;
          most = std::max(most.load(), ++at_work);
          std::this_thread::yield();
          --at_work;
          ++done;
        }
      });
    const auto other = turns.take("b");
    CHECK(other);
  }
  CHECK(most == 1);
  CHECK(done == 400);
}

TEST_CASE("who waits for a turn hears a stop, and a turn ends with its holder however that ends") {
  SingleFlight turns;
  std::stop_source stop;
  auto held = turns.take("a");
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  CHECK_FALSE(turns.take("a", stop.get_token()));
  held.reset();
  try {
    const auto turn = turns.take("a");
    throw 1;
  } catch (int) {
  }
  CHECK(turns.take("a"));
}

}  // namespace bicrl
