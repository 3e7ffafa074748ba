#include <catch2/catch_test_macros.hpp>

#include "report/line_diff.h"

namespace bicrl::report {
namespace {

TEST_CASE("differing lines are those that a longest common subsequence leaves out") {
  const auto a = lines_of("one\ntwo\nthree\nfour\n"), b = lines_of("one\nthree\nfive\nfour");
  CHECK(differing_lines(a, b) == std::vector<bool>{false, true, false, false});
  CHECK(differing_lines(b, a) == std::vector<bool>{false, false, true, false});
  CHECK(differing_lines(a, a) == std::vector<bool>(4, false));
  CHECK(differing_lines(a, {}) == std::vector<bool>(4, true));
}

TEST_CASE("shared lines are the common head and tail, which do not overlap") {
  const SharedLines shared = shared_lines({lines_of("h\na\nt\n"), lines_of("h\nb\nc\nt\n")});
  CHECK(shared.head == 1);
  CHECK(shared.tail == 1);
  const SharedLines nested = shared_lines({lines_of("x\nx\n"), lines_of("x\nx\nx\n")});
  CHECK(nested.head + nested.tail <= 2);
  CHECK(shared_lines({lines_of("x\n")}).head == 0);
}

TEST_CASE("lines keep empty ones and do without a last newline") {
  CHECK(lines_of("a\n\nb") == std::vector<std::string>{"a", "", "b"});
  CHECK(lines_of("").empty());
}

}  // namespace
}  // namespace bicrl::report
