#include "tasks/curriculum.h"

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

  std::vector<const Task*> next(size_t count) override {
    std::vector<const Task*> chosen;
    chosen.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      chosen.push_back(&tasks_[offset_]);
      offset_ = (offset_ + 1) % tasks_.size();
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
  LevelCurriculum(const std::vector<Task>& tasks, double promote_at, size_t window)
      : fingerprint_(fingerprint(tasks)), promote_at_(promote_at), window_(window) {
    require_tasks(tasks);
    BICRL_CHECK(window > 0 && promote_at > 0 && promote_at <= 1, window, " ", promote_at);
    std::map<int, std::vector<const Task*>> by_level;
    for (const Task& task : tasks) {
      by_level[task.level].push_back(&task);
      level_of_[task.id] = task.level;
    }
    for (auto& [level, members] : by_level) levels_.push_back({level, std::move(members)});
  }

  std::vector<const Task*> next(size_t count) override {
    const auto& members = levels_[current_].members;
    std::vector<const Task*> chosen;
    chosen.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      chosen.push_back(members[offset_]);
      offset_ = (offset_ + 1) % members.size();
    }
    return chosen;
  }

  void observe(std::span<const TaskOutcome> outcomes) override {
    for (const TaskOutcome& outcome : outcomes) {
      const auto found = level_of_.find(outcome.task_id);
      BICRL_CHECK(found != level_of_.end(), "outcome of an unknown task: ", outcome.task_id);
      BICRL_CHECK(outcome.pass_rate >= 0 && outcome.pass_rate <= 1, outcome.task_id, " ", outcome.pass_rate);
      // Outcomes that arrive after a promotion say nothing about the new level.
      if (found->second != levels_[current_].level) continue;
      recent_.push_back(outcome.pass_rate);
      if (recent_.size() > window_) recent_.pop_front();
      if (recent_.size() == window_ && mean() >= promote_at_ && current_ + 1 < levels_.size()) promote();
    }
  }

  std::string position() const override {
    return concat("level ", levels_[current_].level, " (", current_ + 1, " of ", levels_.size(), ") ",
                  offset_, "/", levels_[current_].members.size());
  }

  json state() const override {
    return {{"kind", "level"},     {"tasks", fingerprint_}, {"promote_at", promote_at_}, {"window", window_},
            {"current", current_}, {"offset", offset_},     {"recent", recent_}};
  }
  void restore(const json& state) override {
    const json own = this->state();
    for (const char* field : {"kind", "tasks", "promote_at", "window"}) require_equal(state, own, field);
    const size_t current = index_of(state, "current", levels_.size());
    const size_t offset = index_of(state, "offset", levels_[current].members.size());
    auto recent = rates(state, "recent", window_);
    current_ = current;
    offset_ = offset;
    recent_ = std::move(recent);
  }

 private:
  struct Level {
    int level;
    std::vector<const Task*> members;
  };

  double mean() const {
    double sum = 0;
    for (double rate : recent_) sum += rate;
    return sum / static_cast<double>(recent_.size());
  }
  void promote() {
    ++current_;
    offset_ = 0;
    recent_.clear();
  }

  std::vector<Level> levels_;  // ascending
  std::unordered_map<std::string, int> level_of_;
  std::string fingerprint_;
  double promote_at_;
  size_t window_;
  size_t current_ = 0;
  size_t offset_ = 0;
  std::deque<double> recent_;
};

}  // namespace

std::unique_ptr<Curriculum> make_sequential_curriculum(const std::vector<Task>& tasks, size_t first) {
  return std::make_unique<SequentialCurriculum>(tasks, first);
}

std::unique_ptr<Curriculum> make_level_curriculum(const std::vector<Task>& tasks, double promote_at,
                                                  size_t window) {
  return std::make_unique<LevelCurriculum>(tasks, promote_at, window);
}

CurriculumSettings CurriculumSettings::from_config(const ConfigSection& section) {
  CurriculumSettings s;
  const std::string kind = section.choice("kind", "sequential", {"sequential", "level", "adaptive"});
  if (kind != "level") {
    for (const char* key : {"promote_at", "window"})
      section.refuse_without_effect(key, concat("with 'kind: ", kind, "'"));
    if (kind == "adaptive") s.kind = CurriculumKind::kAdaptive;
    return s;
  }
  s.kind = CurriculumKind::kLevel;
  s.promote_at = section.real("promote_at", s.promote_at, 0.01, 1.0);
  s.window = static_cast<size_t>(section.integer("window", static_cast<int64_t>(s.window), 1, 1'000'000));
  return s;
}

std::unique_ptr<Curriculum> make_curriculum(const CurriculumSettings& settings,
                                            const std::vector<Task>& tasks, uint64_t key, size_t first) {
  switch (settings.kind) {
    case CurriculumKind::kLevel:
      return make_level_curriculum(tasks, settings.promote_at, settings.window);
    case CurriculumKind::kAdaptive:
      return make_adaptive_curriculum(tasks, key);
    case CurriculumKind::kSequential:
      break;
  }
  return make_sequential_curriculum(tasks, first);
}

}  // namespace bicrl
