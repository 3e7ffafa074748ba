#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/config/config.h"
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
  for (const auto& id : tasks) outcomes.push_back({.task_id = id, .pass_rate = pass_rate});
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
  CHECK(ids(make_sequential_curriculum(tasks, /*first=*/3)->next(3)) == Ids{"t3", "t4", "t0"});
  CHECK(ids(make_sequential_curriculum(tasks, /*first=*/12)->next(1)) == Ids{"t2"});
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
  sequential->next(1);
  observe(*level, {"t0"}, 1.0);
  struct Case {
    std::unique_ptr<Curriculum> own;
    json saved;
  };
  std::vector<Case> cases;
  cases.push_back({make_level_curriculum(tasks, 0.5, 4), sequential->state()});
  cases.push_back({make_sequential_curriculum(others), sequential->state()});
  cases.push_back({make_level_curriculum(tasks, 0.6, 4), level->state()});
  cases.push_back({make_level_curriculum(tasks, 0.5, 8), level->state()});
  cases.push_back({make_adaptive_curriculum(tasks, 1), level->state()});
  for (const auto& [own, saved] : cases) {
    INFO(own->state() << saved);
    const json fresh = own->state();
    CHECK_THROWS_AS(own->restore(saved), OtherCurriculum);
    CHECK(own->state() == fresh);  // it can begin anew
  }
  const auto is_damage = [&](const json& broken) {
    try {
      level->restore(broken);
    } catch (const OtherCurriculum&) {
      return false;
    } catch (const InputError&) {
      return true;
    }
    return false;
  };
  for (const char* field : {"current", "kind", "tasks"}) {
    INFO(field);
    json broken = level->state();
    broken.erase(field);
    CHECK(is_damage(broken));
  }
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

namespace {

// Groups of these tasks have the deviation that the table names; others none.
void observe_spread(Curriculum& curriculum, const std::vector<const Task*>& drawn,
                    const std::map<std::string, double>& deviations) {
  std::vector<TaskOutcome> outcomes;
  for (const Task* task : drawn) {
    const auto known = deviations.find(task->id);
    outcomes.push_back({.task_id = task->id,
                        .pass_rate = 0,
                        .reward_deviation = known == deviations.end() ? 0 : known->second});
  }
  curriculum.observe(outcomes);
}

}  // namespace

TEST_CASE("adaptive: new tasks first, then those whose rewards differ, the others now and then") {
  const auto tasks = tasks_of_levels(std::vector<int>(40, 1));
  const auto curriculum = make_adaptive_curriculum(tasks, 7);
  const std::map<std::string, double> deviations = {{"t3", 0.5}, {"t17", 0.25}, {"t30", 0.5}};
  Ids met;
  for (int step = 0; step < 10; ++step) {
    const auto drawn = curriculum->next(4);
    for (const std::string& id : ids(drawn)) met.push_back(id);
    observe_spread(*curriculum, drawn, deviations);
  }
  Ids all;
  for (const Task& task : tasks) all.push_back(task.id);
  CHECK(met == all);
  CHECK(curriculum->position() == "adaptive, 40/40 asked, 40 graded, 3 informative");
  std::map<std::string, int> count;
  for (int step = 0; step < 3000; ++step) {
    const auto drawn = curriculum->next(1);
    ++count[drawn.front()->id];
    observe_spread(*curriculum, drawn, deviations);
  }
  const int telling = count["t3"] + count["t17"] + count["t30"];
  CHECK(telling > 0.87 * 3000);  // nine tenths of the weight
  CHECK(telling < 0.93 * 3000);
  CHECK(count["t3"] > 1.6 * count["t17"]);  // twice the deviation
  CHECK(count.size() == 40);                // nobody starves
  // A step asks for each task once, as long as there are others.
  for (int step = 0; step < 50; ++step) {
    const auto drawn = curriculum->next(40);
    CHECK(std::set<const Task*>(drawn.begin(), drawn.end()).size() == 40);
    CHECK(curriculum->next(3).size() == 3);
    observe_spread(*curriculum, drawn, deviations);
  }
}

TEST_CASE("adaptive: what has no spread any more is asked rarely, and comes back with it") {
  const auto tasks = tasks_of_levels({1, 1, 1, 1});
  const auto curriculum = make_adaptive_curriculum(tasks, 3);
  const auto share = [&](const std::string& id, const std::map<std::string, double>& deviations) {
    int drawn_so_often = 0;
    for (int step = 0; step < 600; ++step) {
      const auto drawn = curriculum->next(1);
      if (step >= 100) drawn_so_often += drawn.front()->id == id;
      observe_spread(*curriculum, drawn, deviations);
    }
    return drawn_so_often / 500.0;
  };
  CHECK(share("t1", {{"t0", 0.4}, {"t1", 0.4}}) > 0.35);
  const double solved = share("t1", {{"t0", 0.4}});
  CHECK(solved < 0.1);
  CHECK(solved > 0);
  CHECK(share("t1", {{"t0", 0.4}, {"t1", 0.4}}) > 0.35);
  // Without any spread all are alike.
  CHECK(share("t1", {}) > 0.15);
}

TEST_CASE("adaptive: a restored curriculum goes on bit for bit, and the key decides the draws") {
  const auto tasks = tasks_of_levels(std::vector<int>(9, 1));
  const std::map<std::string, double> deviations = {{"t1", 0.1}, {"t4", 0.7}};
  const auto original = make_adaptive_curriculum(tasks, 5), other = make_adaptive_curriculum(tasks, 6);
  bool differs = false;
  for (int step = 0; step < 30; ++step) {
    const auto copy = make_adaptive_curriculum(tasks, 5);
    copy->restore(json::parse(original->state().dump()));
    CHECK(copy->state() == original->state());
    // Also in the middle of a round.
    const auto drawn = original->next(2);
    CHECK(ids(copy->next(2)) == ids(drawn));
    const auto within = make_adaptive_curriculum(tasks, 5);
    within->restore(json::parse(original->state().dump()));
    CHECK(ids(within->next(11)) == ids(copy->next(11)));
    const auto others = other->next(2);
    differs |= ids(others) != ids(drawn);
    observe_spread(*original, drawn, deviations);
    observe_spread(*other, others, deviations);
  }
  CHECK(differs);
  const json state = original->state();
  for (const char* field : {"kind", "tasks", "round", "taken", "asked", "groups", "means"}) {
    INFO(field);
    json broken = state;
    broken[field] = -1;
    CHECK_THROWS_AS(original->restore(broken), InputError);
    broken.erase(field);
    CHECK_THROWS_AS(original->restore(broken), InputError);
  }
  for (const char* field : {"asked", "groups", "means"})
    for (const json& value : {json(-1), json("1"), json(nullptr), json::array()}) {
      json broken = state;
      broken[field][2] = value;
      CHECK_THROWS_AS(original->restore(broken), InputError);
    }
  json unseen = state;
  unseen["groups"][4] = 0;  // a mean of nothing
  CHECK_THROWS_AS(original->restore(unseen), InputError);
  CHECK(original->state() == state);
  CHECK_THROWS_AS(make_adaptive_curriculum(tasks_of_levels({1}), 5)->restore(state), InputError);
  CHECK_THROWS_AS(make_sequential_curriculum(tasks)->restore(state), InputError);
  CHECK_THROWS_AS(original->observe(std::vector<TaskOutcome>{{"t9", 0, 0.5}}), Error);
  CHECK_THROWS_AS(original->observe(std::vector<TaskOutcome>{{"t1", 0, -0.5}}), Error);
}

TEST_CASE("curricula from a configuration") {
  const auto tasks = tasks_of_levels({2, 1});
  const auto first = [&](const std::string& yaml) {
    const auto document = ConfigDocument::from_text(yaml, "c.yaml");
    const auto curriculum =
        make_curriculum(CurriculumSettings::from_config(document.root()), tasks, /*key=*/1, /*first=*/0);
    document.finish();
    return curriculum->next(1)[0]->id;
  };
  CHECK(first("{}") == "t0");
  CHECK(first("kind: level\npromote_at: 0.7\nwindow: 16") == "t1");
  CHECK(first("kind: adaptive") == "t0");
  CHECK_THROWS_AS(first("kind: adaptive\nwindow: 8"), InputError);
  CHECK_THROWS_AS(first("kind: random"), InputError);
  CHECK_THROWS_AS(first("kind: level\nwindow: 0"), InputError);
  CHECK_THROWS_AS(first("kind: sequential\nwindow: 8"), InputError);  // means nothing there
}

TEST_CASE("adaptive: tasks that never yield a verdict are asked rarely, not first for ever") {
  const auto tasks = tasks_of_levels(std::vector<int>(200, 1));
  const auto curriculum = make_adaptive_curriculum(tasks, 11);
  const auto is_dead = [](const Task& task) { return std::stoi(task.id.substr(1)) % 12 == 5; };  // 17 of them
  int64_t dead_groups = 0;
  for (int step = 0; step < 80; ++step) {
    std::vector<TaskOutcome> outcomes;
    for (const Task* task : curriculum->next(16)) {
      if (is_dead(*task))
        dead_groups += step >= 40;
      else
        outcomes.push_back({.task_id = task->id, .pass_rate = 0.5, .reward_deviation = 0.5});
    }
    curriculum->observe(outcomes);
  }
  CHECK(curriculum->position() == "adaptive, 200/200 asked, 183 graded, 183 informative");
  CHECK(dead_groups > 0);             // now and then, as the policy changes
  CHECK(dead_groups < 40 * 16 / 10);  // the floor is a tenth of all weight
}

TEST_CASE("level: small levels are joined with their neighbours") {
  std::vector<int> levels = {0, 3, 3};
  levels.insert(levels.end(), 20, 1);
  levels.insert(levels.end(), 30, 2);
  const auto tasks = tasks_of_levels(levels);
  const auto curriculum = make_level_curriculum(tasks, 0.5, 4, /*min_level_tasks=*/16);
  CHECK(curriculum->next(1).front()->id == "t0");
  CHECK(curriculum->position() == "level 0 to 1 (1 of 2) 1/21");
  CHECK(ids(curriculum->next(2)) == Ids{"t3", "t4"});
  observe(*curriculum, {"t0", "t3", "t4", "t5"}, 1.0);
  CHECK(curriculum->position() == "level 2 to 3 (2 of 2) 0/32");
  CHECK(make_level_curriculum(tasks, 0.5, 4, 1)->position() == "level 0 (1 of 4) 0/1");
  CHECK_THROWS_AS(make_level_curriculum(tasks, 0.5, 4, 2)->restore(curriculum->state()), InputError);
}

TEST_CASE("curricula pass tasks that are left out, and levels of such tasks alone") {
  const auto tasks = tasks_of_levels({1, 2, 1, 2, 3});
  const auto without = [](std::set<std::string> gone) {
    return [gone = std::move(gone)](const Task& task) { return gone.contains(task.id); };
  };
  const auto level = make_level_curriculum(tasks, 0.5, 4);
  CHECK(ids(level->next(3, without({"t0"}))) == Ids{"t2", "t2", "t2"});
  CHECK(ids(level->next(2, without({"t0", "t2", "t1"}))) == Ids{"t3", "t3"});
  CHECK(ids(level->next(1, without({"t0", "t2", "t1", "t3"}))) == Ids{"t4"});
  CHECK(ids(level->next(1, without({"t4", "t2", "t1", "t3"}))) == Ids{"t0"});  // nothing behind: back
  const auto all = without({"t0", "t1", "t2", "t3", "t4"});
  for (const auto& curriculum : {make_sequential_curriculum(tasks), make_level_curriculum(tasks, 0.5, 4),
                                 make_adaptive_curriculum(tasks, 3)})
    CHECK_THROWS_AS(curriculum->next(1, all), InputError);
  CHECK(ids(make_sequential_curriculum(tasks)->next(3, without({"t0", "t2"}))) == Ids{"t1", "t3", "t4"});
  CHECK(ids(make_adaptive_curriculum(tasks, 3)->next(3, without({"t0", "t2"}))) == Ids{"t1", "t3", "t4"});
}
