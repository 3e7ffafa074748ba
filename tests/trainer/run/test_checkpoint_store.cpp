// Checkpoints are complete or absent: truncated at any byte, killed at any point, out of space.
#include "trainer/run/checkpoints/checkpoint_store.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <fstream>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

void fill(const fs::path& folder, const std::string& content) {
  write_file_atomically(folder / "model", content);
  fs::create_directories(folder / "trainer");
  write_file_atomically(folder / "trainer" / "state", content + " state");
}

TEST_CASE("the latest checkpoint is the one saved last, with every file") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CHECK(!store.latest());
  store.save("a-1", [](const fs::path& place) { fill(place, "first"); });
  store.save("a-2", [](const fs::path& place) { fill(place, "second"); });
  CHECK(store.latest() == folder.path() / "a-2");
  CHECK(read_file(*store.latest() / "trainer" / "state") == "second state");
  CHECK(store.names() == std::vector<std::string>{"a-1", "a-2"});
  store.remove("a-2");  // the latest stays
  store.remove("a-1");
  CHECK(store.names() == std::vector<std::string>{"a-2"});
}

TEST_CASE("a checkpoint that is cut short or changed anywhere is refused by name") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save("older", [](const fs::path& place) { fill(place, "other weights"); });
  store.save("a", [](const fs::path& place) { fill(place, "some weights"); });
  for (const char* name : {"model", "trainer/state", "manifest.json"}) {
    const fs::path file = folder.path() / "a" / name;
    const std::string bytes = read_file(file);
    for (size_t length = 0; length < bytes.size(); ++length) {
      std::ofstream(file, std::ios::trunc) << bytes.substr(0, length);
      INFO(name << " cut to " << length << " of " << bytes.size());
      // The last newline of the manifest says nothing.
      if (std::string(name) == "manifest.json" && length == bytes.size() - 1) continue;
      CHECK_THROWS_WITH(store.latest(), ContainsSubstring(file.string()) && ContainsSubstring("'older'") &&
                                            ContainsSubstring((folder.path() / "latest").string()));
    }
    std::string flipped = bytes;
    flipped[bytes.size() / 2] ^= 1;
    std::ofstream(file, std::ios::trunc) << flipped;
    CHECK_THROWS_AS(store.latest(), InputError);
    std::ofstream(file, std::ios::trunc) << bytes;
    CHECK(store.latest());
    fs::rename(file, folder.path() / "aside");
    CHECK_THROWS_AS(store.latest(), InputError);
    fs::rename(folder.path() / "aside", file);
  }
  // What is offered is whole itself.
  for (const char* name : {"a", "older"}) fs::remove(folder.path() / name / "model");
  CHECK_THROWS_WITH(store.latest(), ContainsSubstring("No other checkpoint is whole"));
  std::ofstream(folder.path() / "latest") << "../a\n";
  CHECK_THROWS_WITH(store.latest(), ContainsSubstring("not there"));
}

TEST_CASE("a checkpoint that is saved again under the name of the latest replaces it, and is never missing") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save("a", [](const fs::path& place) { fill(place, "first"); });
  const auto breaking = [&](const fs::path& place) {
    CHECK(read_file(*store.latest() / "model") == "first");
    fill(place, "second");
    throw Error("killed");
  };
  CHECK_THROWS_AS(store.save("a", breaking), Error);
  CHECK(read_file(*CheckpointStore(folder.path()).latest() / "model") == "first");
  store.save("a", [](const fs::path& place) { fill(place, "second"); });
  CHECK(store.latest() == folder.path() / "a");
  CHECK(read_file(*store.latest() / "model") == "second");
  CHECK(store.names() == std::vector<std::string>{"a"});
}

TEST_CASE("without the file that names the latest, one checkpoint is taken and several are shown") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save("a-1", [](const fs::path& place) { fill(place, "first"); });
  fs::remove(folder.path() / "latest");
  CHECK(store.latest() == folder.path() / "a-1");
  store.save("a-2", [](const fs::path& place) { fill(place, "second"); });
  fs::remove(folder.path() / "latest");
  CHECK_THROWS_WITH(store.latest(), ContainsSubstring("a-1, a-2"));
}

TEST_CASE("a manifest of another form is damaged") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save("a", [](const fs::path& place) { fill(place, "weights"); });
  for (const char* entry :
       {"3", "{}", "{\"bytes\": -1, \"xxh128\": \"\"}", "{\"bytes\": 7, \"xxh128\": 7}"}) {
    std::ofstream(folder.path() / "a" / "manifest.json") << "{\"files\": {\"model\": " << entry << "}}";
    CHECK_THROWS_WITH(store.latest(), ContainsSubstring("manifest.json") && ContainsSubstring("model"));
  }
}

TEST_CASE("a disk that fills up at any write leaves the checkpoint before") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save("a-1", [](const fs::path& place) { fill(place, "first"); });
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  int failures = 0;
  for (rlim_t room = 0; room < 400; room += 7) {
    const rlimit small{room, old.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    bool failed = false;
    try {
      store.save("a-2", [](const fs::path& place) { fill(place, "second, and longer than the first"); });
    } catch (const Error& error) {
      failed = true;
      CHECK_THAT(error.what(), ContainsSubstring(folder.path().string()));
    }
    setrlimit(RLIMIT_FSIZE, &old);
    INFO("room for " << room << " bytes");
    if (!failed) break;
    ++failures;
    CHECK(store.latest() == folder.path() / "a-1");
    CHECK(read_file(*store.latest() / "model") == "first");
  }
  signal(SIGXFSZ, handler);
  CHECK(failures > 10);
  CHECK(store.latest() == folder.path() / "a-2");
}

TEST_CASE("a writer killed within the folder leaves the checkpoint before, and the next start cleans up") {
  const testing::TemporaryFolder folder;
  {
    CheckpointStore store(folder.path());
    store.save("a-1", [](const fs::path& place) { fill(place, "first"); });
    const pid_t child = fork();
    if (child == 0) {
      store.save("a-2", [](const fs::path& place) {
        fill(place, "second");
        kill(getpid(), SIGKILL);
      });
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
  }
  CheckpointStore store(folder.path());
  CHECK(store.latest() == folder.path() / "a-1");
  CHECK(store.names() == std::vector<std::string>{"a-1"});
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++entries;
  CHECK(entries == 2);  // a-1 and latest
  store.save("a-2", [](const fs::path& place) { fill(place, "second"); });
  CHECK(store.latest() == folder.path() / "a-2");
}

// Private writable memory of this process.
rlim_t data_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmData:") {
      rlim_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes << 10;
    }
  return 0;
}

TEST_CASE("files far larger than the memory that is left are saved and checked") {
  const testing::TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    constexpr rlim_t kRoom = rlim_t{24} << 20;
    const rlimit limit{data_bytes() + kRoom, data_bytes() + kRoom};
    setrlimit(RLIMIT_DATA, &limit);
    try {
      CheckpointStore store(folder.path());
      store.save("a-1", [](const fs::path& place) {
        fill(place, "small");
        fs::resize_file(place / "model", 10 * kRoom);  // a hole, which takes no disk
      });
      _exit(store.latest() ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("the best checkpoint is kept until another is marked") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CHECK(store.best_name().empty());
  const auto save = [&](const char* name) {
    store.save(name, [](const fs::path& place) { fill(place, "weights"); });
  };
  save("a-1");
  store.mark_best();
  CHECK(store.best_name() == "a-1");
  save("a-2");
  store.remove("a-1");
  CHECK(store.names() == std::vector<std::string>{"a-1", "a-2"});
  store.mark_best();
  save("a-3");
  store.remove("a-1");
  store.remove("a-2");
  CHECK(store.names() == std::vector<std::string>{"a-2", "a-3"});
  CHECK(store.latest() == folder.path() / "a-3");
}

TEST_CASE("a checkpoint that the disk has no room for is not begun") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  CHECK_THROWS_WITH(store.begin("a", uint64_t{1} << 60),
                    ContainsSubstring((folder.path() / "a").string()) && ContainsSubstring("MB left"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a name that a killed run had written already is written again") {
  const testing::TemporaryFolder folder;
  CheckpointStore store(folder.path());
  store.save("a-1", [](const fs::path& place) { fill(place, "first"); });
  store.save("a-2", [](const fs::path& place) { fill(place, "second"); });
  std::ofstream(folder.path() / "latest") << "a-1\n";  // killed before `latest` was replaced
  store.save("a-2", [](const fs::path& place) { fill(place, "again"); });
  CHECK(read_file(*store.latest() / "model") == "again");
}

}  // namespace
}  // namespace bicrl
