#include "verdict/verifier_access.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

using namespace bicrl;
using bicrl::testing::TemporaryFolder;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("what is on loopback") {
  for (const char* address : {"127.0.0.1:0", "localhost:7410", "[::1]:7410"}) CHECK(is_loopback(address));
  for (const char* address : {"0.0.0.0:7410", "[::]:7410", "10.0.0.1:7410", "localhost.example.org:7410",
                              "127.0.0.1.example.org:1", ":7410", ""})
    CHECK_FALSE(is_loopback(address));
}

TEST_CASE("tokens are equal or not, of whatever length") {
  CHECK(same_token("abc", "abc"));
  for (const char* other : {"abd", "ab", "abcd", "", "Abc"}) CHECK_FALSE(same_token("abc", other));
}

TEST_CASE("a token comes from a file that nobody else reads") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "token", token(32, 't');
  const auto read = [&](const std::string& content, mode_t mode) {
    write_file_atomically(path, content);
    REQUIRE(chmod(path.c_str(), mode) == 0);
    return read_token(path);
  };
  CHECK(read(token + "\n", 0600) == token);
  CHECK(read("  " + token + "\r\n", 0400) == token);
  CHECK_THROWS_WITH(read(token, 0640), ContainsSubstring("chmod 600") && ContainsSubstring(path));
  CHECK_THROWS_WITH(read(token, 0604), ContainsSubstring("chmod 600"));
  for (const std::string& bad : {std::string(31, 't'), std::string(), token + " " + token, token + "\x80"})
    CHECK_THROWS_WITH(read(bad, 0600), ContainsSubstring("at least 32"));
  CHECK_THROWS_AS(read_token(folder.path() / "absent"), InputError);
}
