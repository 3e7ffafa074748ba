// A file of responses: after a killed writer the next one goes on, and the finished file does not differ.
#include "rollout/response_file.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <future>

#include "common/error.h"
#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

const ResponseOrigin kOrigin = {.yaml = "seed: 1\nlimit: 3\n", .free_keys = {"limit"}};

std::vector<ResponseName> names(int prompts, int64_t samples) {
  std::vector<ResponseName> all;
  for (int p = 0; p < prompts; ++p)
    for (int64_t s = 0; s < samples; ++s) all.push_back({"p" + std::to_string(p), s});
  return all;
}

void add(ResponseFile& file, size_t index) {
  file.add(index, {{"text", "text " + std::to_string(index)}, {"tokens", std::vector<size_t>(index, 7)}});
}

// The file that a process makes which nothing disturbs.
std::string undisturbed(const std::vector<ResponseName>& asked) {
  const testing::TemporaryFolder folder;
  ResponseFile file(folder.path() / "r.jsonl", "id", asked, kOrigin);
  for (size_t i = 0; i < asked.size(); ++i) add(file, i);
  file.finish();
  return read_file(folder.path() / "r.jsonl");
}

std::string refusal(const fs::path& path, const std::vector<ResponseName>& asked,
                    const ResponseOrigin& origin = kOrigin) {
  try {
    ResponseFile(path, "id", asked, origin);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a line names its response, then says what it is", "[response_file]") {
  CHECK(undisturbed(names(1, 2)) ==
        "{\"id\":\"p0\",\"sample\":0,\"text\":\"text 0\",\"tokens\":[]}\n"
        "{\"id\":\"p0\",\"sample\":1,\"text\":\"text 1\",\"tokens\":[7]}\n");
}

TEST_CASE("the finished file is the same in whatever order responses end, and wherever the writer was killed",
          "[response_file]") {
  const auto asked = names(5, 3);
  const std::string expected = undisturbed(asked);
  RandomStream stream(8);
  for (int round = 0; round < 60; ++round) {
    const testing::TemporaryFolder folder;
    const fs::path path = folder.path() / "r.jsonl";
    for (bool finished = false; !finished;) {
      ResponseFile file(path, "id", asked, kOrigin);
      std::vector<size_t> missing;
      for (size_t i = 0; i < asked.size(); ++i)
        if (!file.has(i)) missing.push_back(i);
      CHECK(file.count() + missing.size() == asked.size());
      stream.shuffle(missing);
      const size_t now = stream.below(missing.size() + 1);
      for (size_t i = 0; i < now; ++i) add(file, missing[i]);
      finished = now == missing.size();
      if (finished) file.finish();
      if (finished) break;
      // Cut off anywhere, as if the last writes had not been made.
      fs::resize_file(path, stream.below(fs::file_size(path) + 1));
    }
    CHECK(read_file(path) == expected);
    ResponseFile again(path, "id", asked, kOrigin);
    CHECK(again.count() == asked.size());
    again.finish();
    CHECK(read_file(path) == expected);
  }
}

TEST_CASE("more responses may be asked for, fewer not", "[response_file]") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "r.jsonl";
  write_file_atomically(path, undisturbed(names(2, 1)));
  write_file_atomically(path.string() + ".origin.yaml", kOrigin.yaml);
  const auto asked = names(2, 2);
  {
    ResponseFile file(path, "id", asked, {.yaml = "seed: 1\nlimit: 9\n", .free_keys = {"limit"}});
    CHECK(file.count() == 2);
    CHECK(file.has(0));
    CHECK(file.has(2));
    file.add(1, {{"text", "x"}});
    file.add(3, {{"text", "y"}});
    file.finish();
  }
  std::ifstream lines(path);
  for (size_t i = 0; i < asked.size(); ++i) {
    std::string line;
    std::getline(lines, line);
    CHECK(line.starts_with(concat("{\"id\":\"", asked[i].id, "\",\"sample\":", asked[i].sample, ",")));
  }
  CHECK_THAT(refusal(path, names(2, 1)), ContainsSubstring("holds sample 1 of p0, which is not asked for"));
  CHECK_THAT(refusal(path, names(1, 2)), ContainsSubstring("p1, which is not asked for"));
}

TEST_CASE("a file that was made otherwise is refused and left as it is", "[response_file]") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "r.jsonl", origin = path.string() + ".origin.yaml";
  const auto asked = names(2, 1);
  const std::string whole = undisturbed(asked);
  write_file_atomically(path, whole);
  CHECK_THAT(refusal(path, asked),
             ContainsSubstring("no r.jsonl.origin.yaml") && ContainsSubstring("remove it"));
  write_file_atomically(origin, "seed: 2\nlimit: 1\nadded: 3\n");
  CHECK_THAT(refusal(path, asked), ContainsSubstring("seed: 2 -> 1") &&
                                       ContainsSubstring("added: 3 -> (absent)") &&
                                       !ContainsSubstring("limit"));
  CHECK(read_file(origin).starts_with("seed: 2"));
  write_file_atomically(origin, kOrigin.yaml);
  for (const char* line :
       {"nothing\n", "[1]\n", "{\"id\": 1, \"sample\": 0}\n", "{\"id\": \"p0\"}\n", "\n"}) {
    write_file_atomically(path, whole + line);
    CHECK_THAT(refusal(path, asked), ContainsSubstring("r.jsonl:3: is no response"));
  }
  write_file_atomically(path, whole + whole);
  CHECK_THAT(refusal(path, asked), ContainsSubstring("r.jsonl:3: holds sample 0 of p0 again"));
  CHECK(read_file(path) == whole + whole);
  // A file without responses is anybody's.
  write_file_atomically(path, "");
  write_file_atomically(origin, "seed: 2\n");
  CHECK(refusal(path, asked) == "accepted");
  CHECK(read_file(origin) == kOrigin.yaml);
}

TEST_CASE("one process writes a file at a time", "[response_file]") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "r.jsonl";
  {
    const ResponseFile file(path, "id", names(1, 1), kOrigin);
    CHECK_THAT(refusal(path, names(1, 1)), ContainsSubstring("is being written by another process"));
  }
  CHECK(refusal(path, names(1, 1)) == "accepted");
  CHECK_THROWS_AS(ResponseFile(folder.path() / "none/r.jsonl", "id", names(1, 1), kOrigin), Error);
}

TEST_CASE("a file behind a link is written there, and the link stays", "[response_file]") {
  const testing::TemporaryFolder folder;
  const auto asked = names(2, 2);
  fs::create_directory(folder.path() / "elsewhere");
  const fs::path link = folder.path() / "link", target = folder.path() / "elsewhere/r.jsonl";
  fs::create_symlink("elsewhere/r.jsonl", link);
  {
    ResponseFile file(link, "id", asked, kOrigin);
    for (const size_t index : {3, 1, 0}) add(file, index);
  }
  ResponseFile file(link, "id", asked, kOrigin);
  CHECK(file.count() == 3);
  add(file, 2);
  file.finish();  // in another order than they ended
  CHECK(fs::is_symlink(link));
  CHECK(read_file(target) == undisturbed(asked));
}

TEST_CASE("into a pipe the lines go as they end, and it stays a pipe", "[response_file]") {
  const testing::TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  auto reader = std::async(std::launch::async, [&] { return read_file(pipe); });
  const auto asked = names(1, 2);
  {
    ResponseFile file(pipe, "id", asked, kOrigin);
    for (const size_t index : {1, 0}) add(file, index);
    file.finish();
  }
  const std::string lines = undisturbed(asked);
  const size_t second = lines.find('\n') + 1;
  CHECK(reader.get() == lines.substr(second) + lines.substr(0, second));
  CHECK(fs::is_fifo(fs::symlink_status(pipe)));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // nothing beside it
}

}  // namespace bicrl
