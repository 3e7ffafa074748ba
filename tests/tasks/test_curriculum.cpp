#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "common/config.h"
#include "common/error.h"
#include "tasks/curriculum.h"

using namespace bicrl;
using nlohmann::json;

namespace {

std::vector<Task> tasks_of_levels(const std::vector<int>& levels) {
  std::vector<Task> tasks;
  for (size_t i = 0; i < levels.size(); ++i) {
    Task task;
    task.id = "t" + std::to_string(i);
    task.level = levels[i];
    tasks.push_back(task);
  }
  return tasks;
}

std::vector<std::string> ids(const std::vector<const Task*>& chosen) {
  std::vector<std::string> names;
  for (const Task* task : chosen) names.push_back(task->id);
  return names;
}

using Ids = std::vector<std::string>;

void observe(Curriculum& curriculum, const Ids& tasks, double pass_rate) {
  std::vector<TaskOutcome> outcomes;
  for (const auto& id : tasks) outcomes.push_back({id, pass_rate});
  curriculum.observe(outcomes);
}

}  // namespace

TEST_CASE("sequential: step e takes the next n tasks modulo the set's size") {
  const auto tasks = tasks_of_levels({0, 0, 0, 0, 0});
  const auto curriculum = make_sequential_curriculum(tasks);
  CHECK(ids(curriculum->next(2)) == Ids{"t0", "t1"});
  CHECK(ids(curriculum->next(2)) == Ids{"t2", "t3"});
  observe(*curriculum, {"t0"}, 1.0);
  CHECK(ids(curriculum->next(2)) == Ids{"t4", "t0"});
  CHECK(ids(curriculum->next(7)) == Ids{"t1", "t2", "t3", "t4", "t0", "t1", "t2"});
  CHECK(curriculum->next(0).empty());
  CHECK(curriculum->position() == "sequential 3/5");
}

TEST_CASE("level: the lowest first, promoted when a full window passes") {
  const auto tasks = tasks_of_levels({2, 1, 2, 1, 5});
  const auto curriculum = make_level_curriculum(tasks, 0.5, 4);
  CHECK(ids(curriculum->next(3)) == Ids{"t1", "t3", "t1"});
  observe(*curriculum, {"t1", "t3", "t1"}, 1.0);
  CHECK(ids(curriculum->next(1)) == Ids{"t3"});  // three outcomes do not fill the window
  observe(*curriculum, {"t3"}, 0.0);             // 3 of 4
  CHECK(ids(curriculum->next(3)) == Ids{"t0", "t2", "t0"});
  observe(*curriculum, {"t1", "t3", "t1", "t3"}, 1.0);  // late news of the level below
  CHECK(ids(curriculum->next(1)) == Ids{"t2"});
  observe(*curriculum, {"t0", "t2", "t0", "t2", "t0"}, 0.25);
  CHECK(ids(curriculum->next(1)) == Ids{"t0"});
  observe(*curriculum, {"t0", "t2"}, 1.0);  // the window now holds 0.25, 0.25, 1, 1
  CHECK(ids(curriculum->next(2)) == Ids{"t4", "t4"});
  observe(*curriculum, {"t4", "t4", "t4", "t4", "t4"}, 1.0);
  CHECK(ids(curriculum->next(1)) == Ids{"t4"});  // the last level stays
}

TEST_CASE("level: outcomes that cannot be are programming faults") {
  const auto tasks = tasks_of_levels({1});
  const auto curriculum = make_level_curriculum(tasks, 0.5, 4);
  CHECK_THROWS_AS(observe(*curriculum, {"t9"}, 1.0), Error);
  CHECK_THROWS_AS(observe(*curriculum, {"t0"}, 1.5), Error);
}

TEST_CASE("a restored curriculum goes on as the saved one does") {
  const auto tasks = tasks_of_levels({1, 1, 1, 2, 2, 3, 3});
  const auto make = [&](bool level) {
    return level ? make_level_curriculum(tasks, 0.4, 5) : make_sequential_curriculum(tasks);
  };
  for (bool level : {false, true}) {
    const auto original = make(level);
    for (int step = 0; step < 12; ++step) {
      const auto copy = make(level);
      copy->restore(json::parse(original->state().dump()));
      CHECK(copy->state() == original->state());
      for (int later = 0; later < 4; ++later) {
        const auto expected = make(level);
        expected->restore(original->state());
        CHECK(ids(copy->next(2)) == ids(expected->next(2)));
        copy->restore(original->state());
      }
      observe(*original, ids(original->next(3)), step / 12.0);
    }
  }
}

TEST_CASE("a state of other tasks, another kind or other parameters is refused") {
  const auto tasks = tasks_of_levels({1, 2, 3});
  const auto others = tasks_of_levels({1, 2, 2});
  const auto sequential = make_sequential_curriculum(tasks);
  const auto level = make_level_curriculum(tasks, 0.5, 4);
  CHECK_THROWS_AS(level->restore(sequential->state()), InputError);
  CHECK_THROWS_AS(make_sequential_curriculum(others)->restore(sequential->state()), InputError);
  CHECK_THROWS_AS(make_level_curriculum(tasks, 0.6, 4)->restore(level->state()), InputError);
  CHECK_THROWS_AS(make_level_curriculum(tasks, 0.5, 8)->restore(level->state()), InputError);
  for (const char* field : {"current", "offset", "recent", "kind"}) {
    INFO(field);
    json broken = level->state();
    broken[field] = -1;
    CHECK_THROWS_AS(level->restore(broken), InputError);
    broken.erase(field);
    CHECK_THROWS_AS(level->restore(broken), InputError);
  }
  // Numbers that no index is, and values too deep to copy.
  json deep = 1;
  for (int i = 0; i < 200'000; ++i) deep = json::array({std::move(deep)});
  for (const json& value :
       {json(1e300), json(1.5), json(true), json("1"), json(~uint64_t{0}), json(nullptr)}) {
    INFO(value);
    for (const char* field : {"current", "offset", "recent"}) {
      json broken = level->state();
      broken[field] = value;
      CHECK_THROWS_AS(level->restore(broken), InputError);
    }
  }
  for (const char* field : {"current", "offset", "recent", "kind", "tasks"}) {
    json broken = level->state();
    broken[field].swap(deep);
    CHECK_THROWS_AS(level->restore(broken), InputError);
    broken[field].swap(deep);
  }
  for (const json& rates : {json{0.5, 2.0}, json{-0.1}, json{true}, json{nullptr}, json{0, 0, 0, 0, 0}}) {
    INFO(rates);
    json broken = level->state();
    broken["recent"] = rates;
    CHECK_THROWS_AS(level->restore(broken), InputError);
  }
  json beyond = sequential->state();
  beyond["offset"] = 3;
  CHECK_THROWS_AS(sequential->restore(beyond), InputError);
  CHECK_THROWS_AS(sequential->restore(json::array()), InputError);
  CHECK_THROWS_AS(make_sequential_curriculum({}), InputError);
}

TEST_CASE("curricula from a configuration") {
  const auto tasks = tasks_of_levels({2, 1});
  const auto first = [&](const std::string& yaml) {
    const auto document = ConfigDocument::from_text(yaml, "c.yaml");
    const auto curriculum = make_curriculum(CurriculumSettings::from_config(document.root()), tasks);
    document.finish();
    return curriculum->next(1)[0]->id;
  };
  CHECK(first("{}") == "t0");
  CHECK(first("kind: level\npromote_at: 0.7\nwindow: 16") == "t1");
  CHECK_THROWS_AS(first("kind: random"), InputError);
  CHECK_THROWS_AS(first("kind: level\nwindow: 0"), InputError);
  CHECK_THROWS_AS(first("kind: sequential\nwindow: 8"), InputError);  // means nothing there
}
