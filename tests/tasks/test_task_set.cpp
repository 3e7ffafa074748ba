#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "tasks/task_entry.h"
#include "tasks/task_set.h"
#include "tests/support/support.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

const std::string kModule =
    "class Model:\n  pass\ndef get_inputs():\n  pass\ndef get_init_inputs():\n  pass\n";

json infilling_record() {
  return {{"id", 7},          {"pytorch_code", kModule}, {"cuda_code", "headMIDDLEtail"},
          {"prefix", "head"}, {"middle", "MIDDLE"},      {"suffix", "tail"}};
}

json end_to_end_record() {
  return {
      {"idx", 3}, {"level", "2"}, {"pytorch_code", kModule}, {"cuda_code", ""}, {"raw_answer", "\\boxed{2}"}};
}

json kernelbench_record() {
  return {{"level", 1}, {"problem_id", 4}, {"name", "4_Product"}, {"pytorch_code", kModule}};
}

// The one error of a list that holds a good entry and then `broken`.
EntryError error_of(const json& broken) {
  json good = end_to_end_record();
  good["idx"] = "good";
  const TaskSet set = parse_task_set(json::array({good, broken}).dump(), "set.json");
  REQUIRE(set.tasks.size() == 1);
  REQUIRE(set.errors.size() == 1);
  CHECK(set.errors[0].file == "set.json");
  CHECK(set.errors[0].entry == 2);
  return set.errors[0];
}

void check_error(const json& broken, const std::string& field, const std::string& reason) {
  const EntryError error = error_of(broken);
  INFO(error.message());
  CHECK(error.field == field);
  CHECK_THAT(error.reason, ContainsSubstring(reason));
  CHECK_THAT(error.message(), ContainsSubstring("set.json: entry 2: "));
}

json with(json entry, const std::string& field, const json& value) {
  entry[field] = value;
  return entry;
}

json without(json entry, const std::string& field) {
  entry.erase(field);
  return entry;
}

}  // namespace

TEST_CASE("a middle that cannot be clamped is broken for clamped infilling, and a note otherwise") {
  const auto record = [](const std::string& middle) {
    return with(with(infilling_record(), "middle", middle), "cuda_code", "head" + middle + "tail");
  };
  json alternative = record("a = \"\"\"text\"\"\"");
  alternative["alternatives"] =
      json::array({{{"cuda_code", "aBc"}, {"prefix", "a"}, {"middle", "B"}, {"suffix", "c"}}});
  for (const auto& [entry, field, reason] :
       {std::tuple{record("kernel"), "middle", "has no opening \"\"\""},
        std::tuple{record("a = \"\"\"kernel"), "middle", "has no closing \"\"\""},
        std::tuple{alternative, "alternatives[0].middle", "has no opening \"\"\""}}) {
    const std::string text = json::array({end_to_end_record(), entry}).dump();
    const TaskSet any = parse_task_set(text, "set.json");
    CHECK(any.tasks.size() == 2);
    CHECK(any.errors.empty());
    const TaskSet clamped = parse_task_set(text, "set.json", TaskUse::kClampedInfilling);
    CHECK(clamped.tasks.size() == 1);
    CHECK(clamped.not_clampable.empty());
    for (const auto& errors : {any.not_clampable, clamped.errors}) {
      REQUIRE(errors.size() == 1);
      CHECK_THAT(errors[0].message(), ContainsSubstring("set.json: entry 2: " + std::string(field)) &&
                                          ContainsSubstring(reason) &&
                                          ContainsSubstring("`rollout.scaffold: prompt`"));
    }
  }
  const std::string good = json::array({record("a = \"\"\"text\"\"\"")}).dump();
  CHECK(parse_task_set(good, "set.json").not_clampable.empty());
  CHECK(parse_task_set(good, "set.json", TaskUse::kClampedInfilling).errors.empty());
}

TEST_CASE("the column `code` of the hub stands for pytorch_code") {
  json entry = without(kernelbench_record(), "pytorch_code");
  entry["code"] = kModule;
  const TaskSet set = parse_task_set(json::array({entry}).dump(), "set.json");
  REQUIRE(set.tasks.size() == 1);
  CHECK(set.tasks[0].pytorch_code == kModule);
  CHECK(set.tasks[0].id == "level_1_problem_4");
  check_error(with(entry, "code", "class Model"), "code", "does not contain 'def get_inputs'");
  check_error(without(entry, "code"), "pytorch_code", "is missing");
  // Where both are there, it is something else.
  entry["pytorch_code"] = kModule;
  entry["code"] = 7;
  CHECK(parse_task_set(json::array({entry}).dump(), "set.json").tasks.size() == 1);
}

TEST_CASE("forms are told apart by their fields") {
  const TaskSet set = parse_task_set(
      json::array({infilling_record(), end_to_end_record(), kernelbench_record()}).dump(), "set.json");
  REQUIRE(set.errors.empty());
  REQUIRE(set.tasks.size() == 3);
  CHECK(set.tasks[0].id == "7");
  CHECK(set.tasks[0].level == 0);
  CHECK(set.tasks[0].middle == "MIDDLE");
  CHECK(set.tasks[0].has_scaffold());
  CHECK(set.tasks[1].id == "3");
  CHECK(set.tasks[1].level == 2);
  CHECK_FALSE(set.tasks[1].has_scaffold());
  CHECK(set.tasks[2].id == "level_1_problem_4");
  CHECK(set.tasks[2].level == 1);
}

TEST_CASE("a broken entry is named with its field and costs only itself") {
  SECTION("shape of the entry") {
    check_error(json("text"), "", "must be an object");
    check_error(json(nullptr), "", "must be an object");
    check_error(json::array(), "", "must be an object");
  }
  SECTION("id") {
    check_error(without(end_to_end_record(), "idx"), "id", "is missing");
    check_error(with(end_to_end_record(), "idx", 1.5), "idx", "integer or a string");
    check_error(with(end_to_end_record(), "idx", ""), "idx", "is empty");
    check_error(with(infilling_record(), "id", nullptr), "id", "integer or a string");
    check_error(with(infilling_record(), "id", "a\nb"), "id", "control character");
    check_error(with(end_to_end_record(), "idx", "good"), "id", "is taken by entry 1");
    check_error(with(kernelbench_record(), "problem_id", "four"), "problem_id", "\"four\"");
    check_error(without(kernelbench_record(), "level"), "level", "is missing");
    check_error(without(kernelbench_record(), "name"), "name", "is missing");
  }
  SECTION("level") {
    check_error(with(end_to_end_record(), "level", "two"), "level", "\"two\"");
    check_error(with(end_to_end_record(), "level", "2x"), "level", "\"2x\"");
    check_error(with(end_to_end_record(), "level", ""), "level", "must be an integer");
    check_error(with(end_to_end_record(), "level", -1), "level", "-1");
    check_error(with(end_to_end_record(), "level", 1.5), "level", "1.5");
    check_error(with(end_to_end_record(), "level", UINT64_MAX), "level", "must be an integer");
  }
  SECTION("code") {
    check_error(without(end_to_end_record(), "pytorch_code"), "pytorch_code", "is missing");
    check_error(with(end_to_end_record(), "pytorch_code", 5), "pytorch_code", "must be a string");
    check_error(with(end_to_end_record(), "pytorch_code", " \n"), "pytorch_code", "is empty");
    check_error(with(end_to_end_record(), "pytorch_code", "class Model: pass"), "pytorch_code",
                "def get_inputs");
    check_error(with(end_to_end_record(), "pytorch_code", kModule + std::string(1, '\0')), "pytorch_code",
                "NUL");
    check_error(with(end_to_end_record(), "cuda_code", nullptr), "cuda_code", "must be a string");
    check_error(without(infilling_record(), "cuda_code"), "cuda_code", "is missing");
  }
  SECTION("scaffold") {
    check_error(without(infilling_record(), "prefix"), "prefix", "is missing");
    check_error(without(infilling_record(), "middle"), "middle", "is missing");
    check_error(without(infilling_record(), "suffix"), "suffix", "is missing");
    check_error(with(infilling_record(), "middle", ""), "middle", "is empty");
    check_error(with(infilling_record(), "cuda_code", "headMIDtail"), "cuda_code", "differ from byte 7");
    check_error(with(infilling_record(), "composition", "relu"), "composition", "must be a list");
    check_error(with(infilling_record(), "composition", json::array({1})), "composition",
                "must hold strings");
  }
  SECTION("reduced sizes") {
    const auto check = [](const json& sizes, const std::string& reason) {
      check_error(with(infilling_record(), "reduced_sizes", sizes), "reduced_sizes", reason);
    };
    check("M=3", "must be a list");
    check(json::array(), "must be a list that is not empty");
    check(json::array({3}), "must hold objects");
    check(json::array({{{"M", 0}}}), "whole numbers from 1 on");
    check(json::array({{{"M", 2.5}}}), "whole numbers from 1 on");
  }
  SECTION("alternatives") {
    const json other = {
        {"technique", "kernels=1"}, {"cuda_code", "aBc"}, {"prefix", "a"}, {"middle", "B"}, {"suffix", "c"}};
    const auto check = [](const json& list, const std::string& field, const std::string& reason) {
      check_error(with(infilling_record(), "alternatives", list), field, reason);
    };
    check("aBc", "alternatives", "must be a list");
    check(json::array({other, 1}), "alternatives[1]", "must be an object");
    check(json::array({with(other, "technique", 1)}), "alternatives[0].technique", "must be a string");
    check(json::array({without(other, "cuda_code")}), "alternatives[0].cuda_code", "is missing");
    check(json::array({with(other, "cuda_code", " ")}), "alternatives[0].cuda_code", "is empty");
    check(json::array({other, without(other, "middle")}), "alternatives[1].middle", "is missing");
    check(json::array({with(other, "middle", "C")}), "alternatives[0].cuda_code", "differ from byte 1");
    check_error(with(end_to_end_record(), "alternatives", json::array({other})), "alternatives",
                "there is none");
  }
}

TEST_CASE("JSON lines: blank lines are skipped and a broken line is named by its number") {
  const std::string text = "\xEF\xBB\xBF" + end_to_end_record().dump() + "\n\n{\"idx\": 5,\n" +
                           infilling_record().dump() + "\r\n[1]\n" + kernelbench_record().dump();
  const TaskSet set = parse_task_set(text, "set.jsonl");
  REQUIRE(set.tasks.size() == 3);
  CHECK(set.tasks[2].id == "level_1_problem_4");
  REQUIRE(set.errors.size() == 2);
  CHECK(set.errors[0].entry == 3);
  CHECK_THAT(set.errors[0].reason, ContainsSubstring("is not JSON"));
  CHECK(set.errors[1].entry == 5);
  CHECK_THAT(set.errors[1].reason, ContainsSubstring("must be an object"));
}

TEST_CASE("a file that is no task set is refused as a whole") {
  for (const std::string text : {"", "  \n", "[]", "[{\"idx\": 1", "hello", "[1] x"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_task_set(text, "set.json"), InputError);
  }
  CHECK_THROWS_AS(load_task_set("/nonexistent/set.json"), InputError);
}

TEST_CASE("a entry nested without end costs only itself, or the file") {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  const std::string good = end_to_end_record().dump();
  const TaskSet lines = parse_task_set(good + "\n{\"level\": " + deep + "}\n", "set.jsonl");
  CHECK(lines.tasks.size() == 1);
  REQUIRE(lines.errors.size() == 1);
  CHECK_THAT(lines.errors[0].message(), ContainsSubstring("entry 2: is not JSON: nested more than"));
  CHECK_THROWS_AS(parse_task_set("[" + good + "," + deep + "]", "set.json"), InputError);
}

TEST_CASE("strict loading names every broken entry") {
  const bicrl::testing::TemporaryFolder folder;
  json list = json::array({end_to_end_record()});
  for (int i = 0; i < 12; ++i) list.push_back(with(end_to_end_record(), "level", "bad"));
  write_file_atomically(folder.path() / "set.json", list.dump());
  CHECK(load_task_set(folder.path() / "set.json").tasks.size() == 1);
  try {
    load_tasks(folder.path() / "set.json");
    FAIL("broken entries were accepted");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("entry 2: level"));
    CHECK_THAT(error.what(), ContainsSubstring("entry 11: level"));
    CHECK_THAT(error.what(), ContainsSubstring("and 2 more"));
  }
}

TEST_CASE("tasks survive writing and reading in both file forms") {
  Task scaffolded{.id = "a \"quoted\" \u00e9",
                  .level = 3,
                  .pytorch_code = kModule,
                  .cuda_code = "p\nmid\tdle\ns",
                  .prefix = "p\n",
                  .middle = "mid\tdle\n",
                  .suffix = "s",
                  .composition = {"relu", "sum"},
                  .reduced_sizes = R"([{"K":33,"M":5},{"M":7}])",
                  .alternatives = {{"kernels=1 map=row", "p\nslow\ns", "p\n", "slow\n", "s"},
                                   {"", "whole program", "", "", ""}}};
  Task plain{.id = "007",
             .level = 1,
             .pytorch_code = kModule,
             .cuda_code = "",
             .prefix = "",
             .middle = "",
             .suffix = "",
             .composition = {},
             .alternatives = {}};
  Task numbered = plain;
  numbered.id = "12";
  const std::vector<Task> tasks = {scaffolded, plain, numbered};
  const bicrl::testing::TemporaryFolder folder;
  for (const char* name : {"set.json", "set.jsonl"}) {
    save_tasks(folder.path() / name, tasks);
    CHECK(load_tasks(folder.path() / name) == tasks);
  }
  CHECK(json::parse(read_file(folder.path() / "set.json"))[2]["idx"] == 12);
  CHECK(json::parse(read_file(folder.path() / "set.json"))[1]["idx"] == "007");
}

TEST_CASE("alternatives and reduced sizes count in the hash of the tasks") {
  Task task{};
  task.id = "a";
  std::set<std::string> hashes = {hash_of({task})};
  const KnownProgram program{"kernels=1", "abc", "a", "b", "c"};
  for (std::string KnownProgram::*field :
       {&KnownProgram::technique, &KnownProgram::cuda_code, &KnownProgram::prefix, &KnownProgram::middle,
        &KnownProgram::suffix}) {
    task.alternatives = {program};
    hashes.insert(hash_of({task}));
    task.alternatives[0].*field += "x";
    hashes.insert(hash_of({task}));
  }
  task.alternatives = {program, program};
  hashes.insert(hash_of({task}));
  task.reduced_sizes = "[{\"M\": 3}]";
  hashes.insert(hash_of({task}));
  CHECK(hashes.size() == 9);
}

TEST_CASE("infilling files load whole and are written as they were") {
  for (const auto& path : bicrl::testing::task_files("infilling_tasks.json")) {
    INFO(path);
    const json document = json::parse(read_file(path));
    const TaskSet set = load_task_set(path);
    CHECK(set.errors.empty());
    REQUIRE(set.tasks.size() == document.size());
    for (const Task& task : set.tasks) {
      CHECK(task.has_scaffold());
      CHECK(task.prefix + task.middle + task.suffix == task.cuda_code);
    }
    CHECK(json::parse(tasks_to_json(set.tasks)) == document);
  }
}

TEST_CASE("end-to-end files load whole and survive as JSON lines") {
  for (const auto& path : bicrl::testing::task_files("end_to_end_tasks.json")) {
    INFO(path);
    const json document = json::parse(read_file(path));
    const TaskSet set = load_task_set(path);
    CHECK(set.errors.empty());
    REQUIRE(set.tasks.size() == document.size());
    for (size_t i = 0; i < set.tasks.size(); ++i) {
      CHECK(std::to_string(set.tasks[i].level) == document[i]["level"].get<std::string>());
      CHECK_FALSE(set.tasks[i].has_scaffold());
    }
    CHECK(parse_task_set(tasks_to_json_lines(set.tasks), "again").tasks == set.tasks);
  }
}

TEST_CASE("KernelBench files load whole") {
  for (const auto& path : bicrl::testing::task_files("kernelbench_level1.json")) {
    INFO(path);
    const TaskSet set = load_task_set(path);
    CHECK(set.errors.empty());
    REQUIRE(set.tasks.size() == json::parse(read_file(path)).size());
    CHECK(set.tasks[0].id == "level_1_problem_1");
    std::set<std::string> ids;
    for (const Task& task : set.tasks) ids.insert(task.id);
    CHECK(ids.size() == set.tasks.size());
  }
}

TEST_CASE("the published sets have the published sizes") {
  using bicrl::testing::published_file;
  const auto infilling = published_file("infilling_tasks.json");
  const auto kernelbench = published_file("kernelbench_level1.json");
  const auto end_to_end = published_file("end_to_end_tasks.json");
  CHECK(load_tasks(infilling).size() == 50);
  CHECK(load_tasks(kernelbench).size() == 100);
  std::vector<size_t> per_level(4);
  for (const Task& task : load_tasks(end_to_end)) ++per_level.at(static_cast<size_t>(task.level));
  CHECK(per_level == std::vector<size_t>{1, 590, 3407, 2});
}
