// Task files of a run: names, ids, and what is both trained on and held out.
#include "trainer/inputs/task_files.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"
#include "trainer/inputs/task_pool.h"

using namespace bicrl;
namespace fs = std::filesystem;
using bicrl::testing::TemporaryFolder;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string module_text(const std::string& mark) {
  return concat("class Model: ", mark, "\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n");
}

// Tasks with the ids 1, 2, ... and these modules.
fs::path write_tasks(const fs::path& path, const std::vector<std::string>& modules, bool scaffold = false) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < modules.size(); ++i) {
    nlohmann::json entry = {
        {scaffold ? "id" : "idx", i + 1}, {"pytorch_code", modules[i]}, {"cuda_code", "pms"}};
    if (scaffold) entry.update({{"prefix", "p"}, {"middle", "m"}, {"suffix", "s"}});
    list.push_back(entry);
  }
  fs::create_directories(path.parent_path());
  write_file_atomically(path, list.dump());
  return path;
}

TaskSource source_of(const std::vector<fs::path>& train, const std::vector<fs::path>& held_out) {
  TaskSource source;
  source.train_files = train;
  source.held_out_files = held_out;
  return source;
}

std::vector<std::string> ids(const std::vector<Task>& tasks) {
  std::vector<std::string> all;
  for (const Task& task : tasks) all.push_back(task.id);
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("task files are named by as much of their path as tells them apart") {
  CHECK(task_file_names({"/t/kernel_infilling.json", "/t/end_to_end_tasks.json"}) ==
        Names{"kernel_infilling", "end_to_end_tasks"});
  CHECK(task_file_names({"/a/x/tasks.json", "/b/x/tasks.json", "/c/other.json"}) ==
        Names{"a/x/tasks", "b/x/tasks", "other"});
  CHECK(task_file_names({"/a/tasks.json", "/a/tasks.jsonl"}) == Names{"/a/tasks.json", "/a/tasks.jsonl"});
  CHECK(task_file_names({"/a/tasks.json", "/a/../a/tasks.json"}) == Names{"tasks", "tasks"});
}

TEST_CASE("ids of several files do not collide") {
  const TemporaryFolder folder;
  const auto infilling =
      write_tasks(folder.path() / "infilling.json", {module_text("a"), module_text("b")}, true);
  const auto whole = write_tasks(folder.path() / "whole.json", {module_text("c"), module_text("d")});
  const auto held_out = write_tasks(folder.path() / "eval.json", {module_text("e")});
  const TaskPool pool = TaskPool::load(source_of({infilling, whole}, {held_out}));
  CHECK(ids(pool.train) == Names{"infilling:1", "infilling:2", "whole:1", "whole:2"});
  CHECK(ids(pool.held_out) == Names{"eval:1"});
  CHECK(pool.train[2].published_id() == "1");
  CHECK(ids(pool.usable(Stage::kEndToEnd, {"whole"})) == Names{"whole:1", "whole:2"});
  CHECK(ids(pool.usable(Stage::kEndToEnd)).size() == 4);
  CHECK(ids(pool.usable(Stage::kInfilling)) == Names{"infilling:1", "infilling:2"});
  CHECK_THROWS_WITH(pool.usable(Stage::kInfilling, {"whole"}), ContainsSubstring("stages[].tasks"));
  CHECK_THROWS_WITH(TaskPool::load(source_of({whole, infilling, whole}, {})), ContainsSubstring("twice"));
}

TEST_CASE("held-out tasks that are trained on are refused unless they are allowed") {
  const TemporaryFolder folder;
  const auto train = write_tasks(folder.path() / "train.json", {module_text("a"), module_text("b")});
  const auto other = write_tasks(folder.path() / "eval.json", {module_text("c"), module_text("b ") + "\n"});
  CHECK_THROWS_WITH(
      TaskPool::load(source_of({train}, {other})),
      ContainsSubstring("1 of 2 held-out tasks are training tasks as well: for example eval:2, whose "
                        "module is that of train:2") &&
          ContainsSubstring("tasks.allow_overlap: true"));
  CHECK_THROWS_WITH(TaskPool::load(source_of({train}, {train})),
                    ContainsSubstring("2 of 2") && ContainsSubstring("file train"));
  TaskSource allowed = source_of({train}, {train});
  allowed.allow_overlap = true;
  const TaskPool pool = TaskPool::load(allowed);
  CHECK(ids(pool.train) == ids(pool.held_out));
  CHECK(overlap_of(pool.train, {}).empty());
}
