// Hashes, files, errors and the clock.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <set>
#include <thread>

#include "common/clock.h"
#include "common/config/spelling.h"
#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "common/utf8.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
namespace fs = std::filesystem;

namespace {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

int entries_of(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("hashes are XXH3 of 128 bits") {
  CHECK(hash_hex("") == "99aa06d3014798d86001c324468d497f");  // as published with the algorithm
  CHECK(hash_hex("abc") == "06b05ab6733a618578af5f94892f3950");
  CHECK(hash_hex(std::string(100000, 'x')).size() == 32);
  std::set<std::string> hashes;
  std::string text;
  for (int i = 0; i < 1000; ++i) hashes.insert(hash_hex(text += static_cast<char>(i % 3)));
  CHECK(hashes.size() == 1000);
}

TEST_CASE("the boundaries between hashed parts count") {
  CHECK(hash_hex({"ab", "c"}) != hash_hex({"a", "bc"}));
  CHECK(hash_hex({"abc"}) != hash_hex({"abc", ""}));
  CHECK(hash_hex({"", "abc"}) != hash_hex({"abc", ""}));
  CHECK(hash_hex({"ab", "c"}) == hash_hex({std::string("ab"), std::string("c")}));
}

TEST_CASE("a hash of pieces is the hash of the whole, and so is a file's") {
  const testing::TemporaryFolder folder;
  const std::string bytes = [] {
    std::string text;
    for (unsigned i = 0; i < 3'000'000; ++i) text += static_cast<char>(i * i / 7);
    return text;
  }();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{240}, size_t{1} << 20, bytes.size()})
    for (const size_t piece : {size_t{1} << 10, size_t{4099}, size_t{1} << 22}) {
      const std::string_view whole = std::string_view(bytes).substr(0, size);
      Hasher hasher;
      for (size_t at = 0; at < size; at += piece) hasher.update(whole.substr(at, piece));
      CHECK(hasher.hex() == hash_hex(whole));
      write_file_atomically(folder.path() / "file", whole);
      const FileHash file = hash_file(folder.path() / "file");
      CHECK(file.hex == hash_hex(whole));
      CHECK(file.bytes == size);
    }
  CHECK_THROWS_AS(hash_file(folder.path() / "absent"), InputError);
  CHECK_THROWS_AS(hash_file(folder.path()), InputError);
}

TEST_CASE("a file is read as it was written, byte for byte") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes += static_cast<char>(i * 31);
  write_file_atomically(path, bytes);
  CHECK(read_file(path) == bytes);
  write_file_atomically(path, "");
  CHECK(read_file(path).empty());
  CHECK(entries_of(folder.path()) == 1);  // no temporary file stays
}

TEST_CASE("files that cannot be read are input errors with path and reason") {
  const testing::TemporaryFolder folder;
  const fs::path absent = folder.path() / "absent";
  CHECK_THROWS_AS(read_file(absent), InputError);
  CHECK(message_of([&] { read_file(absent); }) ==
        concat("cannot read ", absent.string(), ": No such file or directory"));
  CHECK_THAT(message_of([&] { read_file(folder.path()); }), EndsWith("is a folder"));
}

TEST_CASE("reading stops where a file is larger than anybody would want") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_file_atomically(path, std::string(100'000, 'x'));
  CHECK(read_file(path, 100'000).size() == 100'000);
  CHECK_THAT(message_of([&] { read_file(path, 99'999); }), EndsWith("file: holds more than 99999 bytes"));
  CHECK_THAT(message_of([&] { read_file("/dev/zero", 1 << 20); }), ContainsSubstring("holds more than"));
}

TEST_CASE("a failed write leaves the old content and no temporary file") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "occupied";
  fs::create_directory(path);
  write_file_atomically(path / "inside", "x");
  CHECK_THAT(message_of([&] { write_file_atomically(path, "new"); }),
             ContainsSubstring("cannot rename onto " + path.string()));
  CHECK(read_file(path / "inside") == "x");
  CHECK(entries_of(folder.path()) == 1);
  CHECK_THAT(message_of([&] { write_file_atomically(folder.path() / "no" / "file", "x"); }),
             ContainsSubstring("cannot create "));
}

TEST_CASE("a full disk is an error that names the file and leaves the old content") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_file_atomically(path, "old");
  // A limit on file sizes stands in for the full disk; it binds a child, so that the test program keeps its
  // own.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = message_of([&] { write_file_atomically(path, std::string(100000, 'x')); });
    const bool named =
        message.find("cannot write " + path.string() + ": File too large") != std::string::npos;
    _exit(named ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(read_file(path) == "old");
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("readers see the old or the new content, never a part") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  const std::string one(50000, 'a'), two(70000, 'b');
  write_file_atomically(path, one);
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) write_file_atomically(path, i % 2 ? one : two);
  });
  int whole = 0, reads = 0;
  for (; reads < 200; ++reads) {
    const std::string seen = read_file(path);
    whole += seen == one || seen == two;
  }
  writer.join();
  CHECK(whole == reads);
}

TEST_CASE("the program finds its own folder") {
  CHECK(fs::exists(program_folder() / "test_common"));
  setenv("BICRL_SHARE", "/somewhere/else", 1);
  CHECK(share_folder() == "/somewhere/else");
  unsetenv("BICRL_SHARE");
  CHECK(share_folder() == program_folder().parent_path() / "share" / "bicrl");
}

TEST_CASE("errors carry messages and exit codes") {
  CHECK(Error("x").code() == ExitCode::kFailure);
  CHECK(InputError("x").code() == ExitCode::kUsage);
  CHECK(Error("x", ExitCode::kUnavailable).code() == ExitCode::kUnavailable);
  CHECK(concat("a", 1, ' ', 2.5, true) == "a1 2.51");
  const int value = 3;
  CHECK_NOTHROW([&] { BICRL_CHECK(value == 3); }());
  CHECK_THAT(message_of([&] { BICRL_CHECK(value == 4, "value is ", value); }),
             ContainsSubstring("common/test_basics.cpp:") &&
                 ContainsSubstring("check failed: value == 4: value is 3"));
  CHECK_THAT(message_of([&] { BICRL_CHECK(value == 4); }), EndsWith("check failed: value == 4"));
}

TEST_CASE("a result is a value or a reason, also where the value is text") {
  const Result<std::string> good(std::string("text"));
  const auto bad = Result<std::string>::failure("busy");
  CHECK(good.ok());
  CHECK(good.value() == "text");
  CHECK_FALSE(bad);
  CHECK(bad.reason() == "busy");
  CHECK_THROWS_AS(bad.value(), std::bad_variant_access);
}

TEST_CASE("a stopwatch only goes forward") {
  Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double first_ms = watch.ms();
  CHECK(first_ms >= 5);
  CHECK(watch.seconds() * 1e3 >= first_ms);
}

TEST_CASE("a text's head ends where a character does") {
  CHECK(utf8_head("abc", 3) == "abc");
  CHECK(utf8_head("abc", 2) == "ab");
  CHECK(utf8_head("a\u00e9", 3) == "a\u00e9");
  CHECK(utf8_head("a\u00e9", 2) == "a");
  CHECK(utf8_head("\U0001F600", 3).empty());
  CHECK(utf8_head("\x80\x80\x80", 2).empty());
}

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("steps", "setps") == 1);
  CHECK(edit_distance("ca", "abc") == 3);
  CHECK(edit_distance("flaw", "lawn") == edit_distance("lawn", "flaw"));
}

TEST_CASE("the nearest spelling is near or there is none") {
  CHECK(nearest_spelling("stpes", {"steps", "seeds"}) == "steps");
  CHECK(nearest_spelling("temp", {"temperature", "top_k"}) == "temperature");
  CHECK_FALSE(nearest_spelling("completely_else", {"steps", "seeds"}).has_value());
  CHECK_FALSE(nearest_spelling("x", {}).has_value());
  CHECK(nearest_spelling(std::string(1000000, 'a'), {std::string(63, 'a')}) == std::string(63, 'a'));
}
