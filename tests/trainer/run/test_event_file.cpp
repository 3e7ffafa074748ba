#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"
#include "trainer/run/reports/event_file.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

const fs::path kReader = testing::source_path("tests/trainer/run/event_file_reader.py");

void check_by_reader(const fs::path& file, const nlohmann::json& expected) {
  const fs::path list = file.parent_path() / "expected.json";
  write_file_atomically(list, expected.dump());
  testing::run_python(kReader, {file.string(), list.string()});
}

// Limits the size of files that this process writes, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_CASE("An event file reads back by another reader") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / kEventFileName;
  {
    EventFile file(path);
    file.add_scalars(0, {{"train/reward", 0.0}, {"train/kl", -1.5e-9}});
    file.add_scalars(1, {{"train/reward", 0.1}});
    file.add_scalars(int64_t{1} << 40,
                     {{"train/grad_norm", 1e300}, {"train/loss", std::numeric_limits<double>::quiet_NaN()}});
    file.add_text(3, "samples/program", "__global__ void k() {}\n\"quoted\" \u00e4\u4e2d");
    file.add_text(4, "samples/broken",
                  std::string("a\xff"
                              "b"));
    file.add_text(5, "samples/long", std::string(300'000, 'x'));
    file.add_histogram(6, "responses/rewards", {3, -1, 0.5, std::numeric_limits<double>::quiet_NaN(), 3});
    file.add_histogram(7, "responses/equal", {2, 2});
    file.add_histogram(8, "responses/none", {});
    CHECK(file.position() == static_cast<int64_t>(fs::file_size(path)));
    file.sync();
  }
  check_by_reader(path, {{"scalar", 0, "train/reward", "0"},
                         {"scalar", 0, "train/kl", "-1.5e-9"},
                         {"scalar", 1, "train/reward", "0.1"},
                         {"scalar", int64_t{1} << 40, "train/grad_norm", "inf"},
                         {"scalar", int64_t{1} << 40, "train/loss", "nan"},
                         {"text", 3, "samples/program", "__global__ void k() {}\n\"quoted\" \u00e4\u4e2d"},
                         {"text", 4, "samples/broken", "a\ufffdb"},
                         {"text", 5, "samples/long", std::string(300'000, 'x')},
                         {"histogram", 6, "responses/rewards", {3, -1, 0.5, 3}},
                         {"histogram", 7, "responses/equal", {2, 2}}});
}

TEST_CASE("A resumed event file goes on where it was asked to and drops what came after") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / kEventFileName;
  int64_t saved = 0;
  {
    EventFile file(path);
    file.add_scalars(1, {{"a", 1}});
    saved = file.position();
    file.add_scalars(2, {{"a", -1}});
  }
  const std::string whole = read_file(path);
  // As a killed process leaves it: in the midst of a record.
  fs::resize_file(path, whole.size() - 3);
  {
    EventFile file(path, saved);
    CHECK(file.position() == saved);
    CHECK(static_cast<int64_t>(fs::file_size(path)) == saved);
    file.add_scalars(2, {{"a", 2}});
    CHECK(fs::file_size(path) == whole.size());
  }
  CHECK(read_file(path).substr(0, saved) == whole.substr(0, saved));
  check_by_reader(path, {{"scalar", 1, "a", "1"}, {"scalar", 2, "a", "2"}});

  EventFile anew(path);
  CHECK(anew.position() < saved);
}

TEST_CASE("Only the end of a record is a place to resume an event file at") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / kEventFileName;
  std::vector<int64_t> ends;
  {
    EventFile file(path);
    ends.push_back(file.position());
    for (int step = 0; step < 3; ++step) {
      file.add_scalars(step, {{"a", 1}});
      ends.push_back(file.position());
    }
  }
  const std::string whole = read_file(path);
  for (int64_t at = 1; at <= static_cast<int64_t>(whole.size()) + 1; ++at) {
    INFO("at byte " << at);
    write_file_atomically(path, whole);
    if (std::find(ends.begin(), ends.end(), at) != ends.end()) {
      CHECK(EventFile(path, at).position() == at);
    } else {
      CHECK_THROWS_AS(EventFile(path, at), InputError);
      CHECK(read_file(path) == whole);
    }
  }
  // A length that would overflow, with the checksum that belongs to nothing.
  std::string damaged = whole;
  damaged.replace(0, 8, 8, '\xff');
  write_file_atomically(path, damaged);
  CHECK_THROWS_AS(EventFile(path, ends.back()), InputError);
  fs::remove(path);
  CHECK_THROWS_AS(EventFile(path, ends.back()), InputError);
  CHECK_THROWS_AS(EventFile(folder.path() / "missing" / "file"), Error);
}

TEST_CASE("A full disk leaves an event file as it was") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / kEventFileName;
  EventFile file(path);
  file.add_scalars(1, {{"a", 1}});
  const std::string before = read_file(path);
  {
    const FileSizeLimit limit(before.size() + 10);
    CHECK_THROWS_AS(file.add_text(2, "b", "text that does not fit"), Error);
  }
  CHECK(read_file(path) == before);
  CHECK(file.position() == static_cast<int64_t>(before.size()));
  file.add_scalars(2, {{"a", 2}});
  check_by_reader(path, {{"scalar", 1, "a", "1"}, {"scalar", 2, "a", "2"}});
}

}  // namespace
}  // namespace bicrl
