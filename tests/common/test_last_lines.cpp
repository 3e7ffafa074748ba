#include "common/files/last_lines.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {

TEST_CASE("the end of what a process printed is reported, in whole lines where there are some") {
  CHECK(last_lines("") == "");
  CHECK(last_lines("why\n\n") == "why");
  CHECK(last_lines(std::string(300, 'a') + "\n" + std::string(300, 'b') + "\n") == std::string(300, 'b'));
  CHECK(last_lines("first\n" + std::string(500, 'c') + "\n") == std::string(400, 'c'));
}

}  // namespace bicrl
