// Files under names that a user gives: links are followed, pipes written to, and all of them stay.
#include "common/files/named_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <future>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a plain name is replaced as a whole") {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "out.json";
  write_named_file(file, "first");
  write_named_file(file, "second");
  CHECK(read_file(file) == "second");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a link stays a link, and the file that it leads to is written, there or not") {
  const testing::TemporaryFolder folder;
  fs::create_directory(folder.path() / "elsewhere");
  const fs::path target = folder.path() / "elsewhere/target.json";
  const fs::path link = folder.path() / "link", over_two = folder.path() / "over_two";
  fs::create_symlink("elsewhere/target.json", link);
  fs::create_symlink(link, over_two);
  for (const fs::path& name : {link, over_two, link}) {
    check_writable(name);
    write_named_file(name, name.string());
    CHECK(fs::is_symlink(name));
    CHECK(read_file(target) == name.string());
  }
  CHECK(fs::is_regular_file(fs::symlink_status(target)));
  fs::create_symlink("missing/file", folder.path() / "astray");
  CHECK_THROWS_AS(check_writable(folder.path() / "astray"), Error);
  fs::create_symlink("loop", folder.path() / "loop");
  CHECK_THROWS_AS(write_named_file(folder.path() / "loop", "x"), Error);
}

TEST_CASE("a pipe gets the bytes and stays a pipe, also behind a link") {
  const testing::TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe", link = folder.path() / "link";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink(pipe, link);
  for (const fs::path& name : {pipe, link}) {
    CHECK(is_stream(name));
    check_writable(name);
    auto reader = std::async(std::launch::async, [&] { return read_file(pipe); });
    write_named_file(name, "through the pipe");
    CHECK(reader.get() == "through the pipe");
    CHECK(fs::is_fifo(fs::symlink_status(pipe)));
  }
  CHECK(fs::is_symlink(link));
}

TEST_CASE("a file that is open already is written where its writer stands") {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "redirected";
  const int open_file = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(open_file >= 0);
  REQUIRE(write(open_file, "before\n", 7) == 7);
  const fs::path name = "/dev/fd/" + std::to_string(open_file);
  CHECK(is_stream(name));
  write_named_file(name, "named\n");
  REQUIRE(write(open_file, "after\n", 6) == 6);
  close(open_file);
  CHECK(read_file(file) == "before\nnamed\nafter\n");
}

TEST_CASE("a folder is no file to write") {
  const testing::TemporaryFolder folder;
  CHECK_FALSE(is_stream(folder.path()));
  CHECK_THROWS_AS(check_writable(folder.path()), Error);
  CHECK_THROWS_AS(write_named_file(folder.path(), "x"), Error);
}

}  // namespace
}  // namespace bicrl
