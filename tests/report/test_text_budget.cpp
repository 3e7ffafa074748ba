#include <catch2/catch_test_macros.hpp>

#include "report/page/html.h"
#include "report/page/program_listing.h"
#include "report/page/text_budget.h"

namespace bicrl::report {
namespace {

TEST_CASE("common limit spends a budget on short texts first") {
  CHECK(common_limit({}, 100) == 100);
  CHECK(common_limit({30, 10, 20}, 60) == 30);
  CHECK(common_limit({30, 10, 20}, 50) == 20);       // 10 + 20 + 20
  CHECK(common_limit({1000, 10, 1000}, 110) == 50);  // 10 + 50 + 50
  CHECK(common_limit({1000, 1000}, 1) == 0);
}

TEST_CASE("cut text has no more markup than its limit and counts what is left out") {
  CHECK(cut_text("short", 5) == "short");
  CHECK(cut_text("a<<<<", 9) == "a<<\n… 2 more bytes");  // "<" is "&lt;"
  CHECK(cut_text("ééé", 5) == "éé\n… 2 more bytes");
  CHECK(cut_text("éé", 3) == "é\n… 2 more bytes");
  CHECK(cut_text("ab", 0) == "\n… 2 more bytes");
}

TEST_CASE("listing stops at its limit and counts the lines behind it") {
  ProgramLines program;
  for (int i = 0; i < 100; ++i) program.lines.push_back("int a;");
  const std::string whole = program_listing(program, "", false).markup();
  const std::string cut = program_listing(program, "", false, whole.size() / 2).markup();
  CHECK(cut.size() < whole.size() * 6 / 10);
  CHECK(cut.find("more lines") != std::string::npos);
  CHECK(whole.find("more lines") == std::string::npos);
}

}  // namespace
}  // namespace bicrl::report
