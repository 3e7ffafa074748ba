// An append-only file: what is kept, what is cut off, and what a full disk leaves behind.
#include "common/files/line_log.h"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <fstream>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a log goes on after the bytes that a checkpoint knows") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  int64_t kept = 0;
  {
    LineLog log(path, 0);
    log.append("one");
    kept = log.size_bytes();
    log.append("two");
    CHECK(read_file(path) == "one\ntwo\n");
  }
  LineLog log(path, kept);
  CHECK(read_file(path) == "one\n");
  log.append("other");
  log.sync();
  CHECK(read_file(path) == "one\nother\n");
  CHECK(log.size_bytes() == 10);
}

TEST_CASE("a torn last line is cut off, complete lines stay") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  std::ofstream(path) << "one\ntw";
  { LineLog log(path, -1); }
  CHECK(read_file(path) == "one\n");
  std::ofstream(path) << "torn";
  { LineLog log(path, -1); }
  CHECK(read_file(path).empty());
}

TEST_CASE("a log that was shortened is refused, with both lengths") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  std::ofstream(path) << "one\n";
  CHECK_THROWS_WITH(LineLog(path, 40), ContainsSubstring("has 4 bytes") && ContainsSubstring("40"));
  CHECK(read_file(path) == "one\n");
}

TEST_CASE("a line that does not fit leaves nothing of itself behind") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  LineLog log(path, 0);
  log.append("first");
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{12, old.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_WITH(log.append("longer than the rest"),
                    ContainsSubstring("cannot append") && ContainsSubstring("log.jsonl"));
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  CHECK(read_file(path) == "first\n");
  log.append("second");
  CHECK(read_file(path) == "first\nsecond\n");
}

TEST_CASE("an unwritable place is an error with the reason") {
  CHECK_THROWS_WITH(LineLog("/proc/no/such.jsonl", 0), ContainsSubstring("cannot write /proc/no/such.jsonl"));
}

}  // namespace
}  // namespace bicrl
