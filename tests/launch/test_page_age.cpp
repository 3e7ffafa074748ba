// How long a watched page is shown before the next one is made.
#include "launch/report/page_age.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {

using namespace std::chrono_literals;

TEST_CASE("watched page that takes long to make is made less often") {
  CHECK(least_page_age(0s) == 3s);
  CHECK(least_page_age(200ms) == 3s);
  CHECK(least_page_age(4s) == 40s);
}

}  // namespace bicrl
