#include "tasks/curriculum.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/error.h"
#include "tasks/curriculum_state.h"

namespace bicrl {
namespace {

using nlohmann::json;
using namespace curriculum_state;

class SequentialCurriculum : public Curriculum {
 public:
  SequentialCurriculum(const std::vector<Task>& tasks, size_t first)
      : tasks_(tasks), fingerprint_(fingerprint(tasks)) {
    require_tasks(tasks);
    offset_ = first % tasks.size();
  }

  std::vector<const Task*> next(size_t count, const LeftOut& left_out) override {
    std::vector<const Task*> chosen;
    chosen.reserve(count);
    for (size_t passed = 0; chosen.size() < count;) {
      const Task& task = tasks_[offset_];
      offset_ = (offset_ + 1) % tasks_.size();
      if (!is_left_out(task, left_out)) {
        chosen.push_back(&task);
        passed = 0;
      } else if (++passed == tasks_.size()) {
        refuse_to_go_on();
      }
    }
    return chosen;
  }
  void observe(std::span<const TaskOutcome>) override {}  // the order does not depend on results
  std::string position() const override { return concat("sequential ", offset_, "/", tasks_.size()); }

  json state() const override {
    return {{"kind", "sequential"}, {"tasks", fingerprint_}, {"offset", offset_}};
  }
  void restore(const json& state) override {
    const json own = this->state();
    require_equal(state, own, "kind");
    require_equal(state, own, "tasks");
    offset_ = index_of(state, "offset", tasks_.size());
  }

 private:
  const std::vector<Task>& tasks_;
  std::string fingerprint_;
  size_t offset_ = 0;
};

class LevelCurriculum : public Curriculum {
 public:
  LevelCurriculum(const std::vector<Task>& tasks, double promote_at, size_t window, size_t min_level_tasks)
      : fingerprint_(fingerprint(tasks)),
        promote_at_(promote_at),
        window_(window),
        min_level_tasks_(min_level_tasks) {
    require_tasks(tasks);
    BICRL_CHECK(window > 0 && promote_at > 0 && promote_at <= 1, window, " ", promote_at);
    std::map<int, std::vector<const Task*>> by_level;
    for (const Task& task : tasks) by_level[task.level].push_back(&task);
    for (auto& [level, members] : by_level) add_level(level, members);
    join_last_if_small();
    for (size_t i = 0; i < levels_.size(); ++i)
      for (const Task* task : levels_[i].members) level_of_[task->id] = i;
  }

  std::vector<const Task*> next(size_t count, const LeftOut& left_out) override {
    leave_dead_level(left_out);
    const auto& members = levels_[current_].members;
    std::vector<const Task*> chosen;
    chosen.reserve(count);
    while (chosen.size() < count) {
      const Task* task = members[offset_];
      offset_ = (offset_ + 1) % members.size();
      if (!is_left_out(*task, left_out)) chosen.push_back(task);
    }
    return chosen;
  }

  void observe(std::span<const TaskOutcome> outcomes) override {
    for (const TaskOutcome& outcome : outcomes) {
      const auto found = level_of_.find(outcome.task_id);
      BICRL_CHECK(found != level_of_.end(), "outcome of an unknown task: ", outcome.task_id);
      BICRL_CHECK(outcome.pass_rate >= 0 && outcome.pass_rate <= 1, outcome.task_id, " ", outcome.pass_rate);
      // Outcomes that arrive after a promotion say nothing about the new level.
      if (found->second != current_) continue;
      recent_.push_back(outcome.pass_rate);
      if (recent_.size() > window_) recent_.pop_front();
      if (recent_.size() == window_ && mean() >= promote_at_ && current_ + 1 < levels_.size())
        enter(current_ + 1);
    }
  }

  std::string position() const override {
    return concat("level ", levels_[current_].name(), " (", current_ + 1, " of ", levels_.size(), ") ",
                  offset_, "/", levels_[current_].members.size());
  }

  json state() const override {
    return {{"kind", "level"},
            {"tasks", fingerprint_},
            {"promote_at", promote_at_},
            {"window", window_},
            {"min_level_tasks", min_level_tasks_},
            {"current", current_},
            {"offset", offset_},
            {"recent", recent_}};
  }
  void restore(const json& state) override {
    const json own = this->state();
    for (const char* field : {"kind", "tasks", "promote_at", "window", "min_level_tasks"})
      require_equal(state, own, field);
    const size_t current = index_of(state, "current", levels_.size());
    const size_t offset = index_of(state, "offset", levels_[current].members.size());
    auto recent = rates(state, "recent", window_);
    current_ = current;
    offset_ = offset;
    recent_ = std::move(recent);
  }

 private:
  // One published level, or several neighbours of which each is too small.
  struct Level {
    int lowest;
    int highest;
    std::vector<const Task*> members;

    std::string name() const { return lowest == highest ? concat(lowest) : concat(lowest, " to ", highest); }
  };

  void add_level(int level, const std::vector<const Task*>& members) {
    const bool joins = !levels_.empty() && levels_.back().members.size() < min_level_tasks_;
    if (!joins) levels_.push_back({level, level, {}});
    levels_.back().highest = level;
    levels_.back().members.insert(levels_.back().members.end(), members.begin(), members.end());
  }

  // The last level has no next one.
  void join_last_if_small() {
    if (levels_.size() < 2 || levels_.back().members.size() >= min_level_tasks_) return;
    const Level last = std::move(levels_.back());
    levels_.pop_back();
    levels_.back().highest = last.highest;
    levels_.back().members.insert(levels_.back().members.end(), last.members.begin(), last.members.end());
  }

  bool is_dead(size_t level, const LeftOut& left_out) const {
    const auto& members = levels_[level].members;
    return std::all_of(members.begin(), members.end(),
                       [&](const Task* task) { return is_left_out(*task, left_out); });
  }

  // To the next level that has a task to ask; to the nearest before it if none behind it has.
  void leave_dead_level(const LeftOut& left_out) {
    if (!is_dead(current_, left_out)) return;
    for (size_t level = current_ + 1; level < levels_.size(); ++level)
      if (!is_dead(level, left_out)) return enter(level);
    for (size_t level = current_; level-- > 0;)
      if (!is_dead(level, left_out)) return enter(level);
    refuse_to_go_on();
  }

  double mean() const {
    double sum = 0;
    for (double rate : recent_) sum += rate;
    return sum / static_cast<double>(recent_.size());
  }
  void enter(size_t level) {
    current_ = level;
    offset_ = 0;
    recent_.clear();
  }

  std::vector<Level> levels_;                         // ascending
  std::unordered_map<std::string, size_t> level_of_;  // index of a task's level
  std::string fingerprint_;
  double promote_at_;
  size_t window_;
  size_t min_level_tasks_;
  size_t current_ = 0;
  size_t offset_ = 0;
  std::deque<double> recent_;
};

}  // namespace

std::unique_ptr<Curriculum> make_sequential_curriculum(const std::vector<Task>& tasks, size_t first) {
  return std::make_unique<SequentialCurriculum>(tasks, first);
}

std::unique_ptr<Curriculum> make_level_curriculum(const std::vector<Task>& tasks, double promote_at,
                                                  size_t window, size_t min_level_tasks) {
  return std::make_unique<LevelCurriculum>(tasks, promote_at, window, min_level_tasks);
}

CurriculumSettings CurriculumSettings::from_config(const ConfigSection& section) {
  CurriculumSettings s;
  const std::string kind = section.choice("kind", "sequential", {"sequential", "level", "adaptive"});
  if (kind != "level") {
    for (const char* key : {"promote_at", "window", "min_level_tasks"})
      section.refuse_without_effect(key, concat("with 'kind: ", kind, "'"));
    if (kind == "adaptive") s.kind = CurriculumKind::kAdaptive;
    return s;
  }
  s.kind = CurriculumKind::kLevel;
  s.promote_at = section.real("promote_at", s.promote_at, 0.01, 1.0);
  s.window = static_cast<size_t>(section.integer("window", static_cast<int64_t>(s.window), 1, 1'000'000));
  s.min_level_tasks = static_cast<size_t>(
      section.integer("min_level_tasks", static_cast<int64_t>(s.min_level_tasks), 1, 1'000'000));
  return s;
}

std::unique_ptr<Curriculum> make_curriculum(const CurriculumSettings& settings,
                                            const std::vector<Task>& tasks, uint64_t key, size_t first) {
  switch (settings.kind) {
    case CurriculumKind::kLevel:
      return make_level_curriculum(tasks, settings.promote_at, settings.window, settings.min_level_tasks);
    case CurriculumKind::kAdaptive:
      return make_adaptive_curriculum(tasks, key);
    case CurriculumKind::kSequential:
      break;
  }
  return make_sequential_curriculum(tasks, first);
}

}  // namespace bicrl
