#include "common/files/file_fingerprint.h"

#include <catch2/catch_test_macros.hpp>

#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {

TEST_CASE("a fingerprint tells files and folders apart by what lies in them") {
  testing::TemporaryFolder folder;
  const std::filesystem::path inside = folder.path() / "headers" / "deep";
  std::filesystem::create_directories(inside);
  CHECK(file_fingerprint(folder.path() / "headers").empty());
  CHECK(file_fingerprint(folder.path() / "missing").empty());
  write_file_atomically(inside / "one.h", "1");
  const std::string first = file_fingerprint(folder.path() / "headers");
  CHECK(first == file_fingerprint(folder.path() / "headers"));
  CHECK(first.find("deep/one.h 1 ") != std::string::npos);
  CHECK(file_fingerprint(inside / "one.h").starts_with("one.h 1 "));
  write_file_atomically(inside / "one.h", "12");
  CHECK(first != file_fingerprint(folder.path() / "headers"));
}

}  // namespace bicrl
