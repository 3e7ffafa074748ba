#include "tasks/curriculum.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"

namespace bicrl {
namespace {

using nlohmann::json;

// Ids and levels in order: a state is only valid for the tasks it was taken on.
std::string fingerprint(const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& task : tasks) text += concat(task.id, '\n', task.level, '\n');
  return hash_hex(text);
}

void require_tasks(const std::vector<Task>& tasks) {
  if (tasks.empty()) throw InputError("curriculum: there are no tasks");
}

const json& raw_field(const json& state, const char* field) {
  const auto found = state.is_object() ? state.find(field) : state.end();
  if (!state.is_object() || found == state.end())
    throw InputError(concat("curriculum state: field '", field, "' is missing"));
  return *found;
}

[[noreturn]] void refuse_field(const char* field, const json& value) {
  throw InputError(
      concat("curriculum state: field '", field, "' has the unusable value ", json_excerpt(value)));
}

void require_equal(const json& state, const json& own, const char* field) {
  const json& saved = raw_field(state, field);
  if (saved != own.at(field))
    throw InputError(concat("curriculum state: field '", field, "' is ", json_excerpt(saved), ", expected ",
                            json_excerpt(own.at(field)),
                            ": it was saved with another curriculum or other tasks"));
}

size_t state_index(const json& state, const char* field, size_t bound) {
  const json& value = raw_field(state, field);
  // What was written by hand may be signed.
  const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  if (!whole) refuse_field(field, value);
  if (value.get<uint64_t>() >= bound)
    throw InputError(
        concat("curriculum state: field '", field, "' is ", json_excerpt(value), ", expected below ", bound));
  return value.get<size_t>();
}

std::deque<double> state_rates(const json& state, const char* field, size_t most) {
  const json& list = raw_field(state, field);
  if (!list.is_array() || list.size() > most) refuse_field(field, list);
  std::deque<double> rates;
  for (const json& rate : list) {
    if (!rate.is_number() || rate.get<double>() < 0 || rate.get<double>() > 1) refuse_field(field, list);
    rates.push_back(rate.get<double>());
  }
  return rates;
}

class SequentialCurriculum : public Curriculum {
 public:
  explicit SequentialCurriculum(const std::vector<Task>& tasks)
      : tasks_(tasks), fingerprint_(fingerprint(tasks)) {
    require_tasks(tasks);
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
    offset_ = state_index(state, "offset", tasks_.size());
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
    const size_t current = state_index(state, "current", levels_.size());
    const size_t offset = state_index(state, "offset", levels_[current].members.size());
    auto recent = state_rates(state, "recent", window_);
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

std::unique_ptr<Curriculum> make_sequential_curriculum(const std::vector<Task>& tasks) {
  return std::make_unique<SequentialCurriculum>(tasks);
}

std::unique_ptr<Curriculum> make_level_curriculum(const std::vector<Task>& tasks, double promote_at,
                                                  size_t window) {
  return std::make_unique<LevelCurriculum>(tasks, promote_at, window);
}

CurriculumSettings CurriculumSettings::from_config(const ConfigSection& section) {
  CurriculumSettings s;
  if (section.choice("kind", "sequential", {"sequential", "level"}) == "sequential") {
    for (const char* key : {"promote_at", "window"})
      section.refuse_without_effect(key, "with 'kind: sequential'");
    return s;
  }
  s.kind = CurriculumKind::kLevel;
  s.promote_at = section.real("promote_at", s.promote_at, 0.01, 1.0);
  s.window = static_cast<size_t>(section.integer("window", static_cast<int64_t>(s.window), 1, 1'000'000));
  return s;
}

std::unique_ptr<Curriculum> make_curriculum(const CurriculumSettings& settings,
                                            const std::vector<Task>& tasks) {
  if (settings.kind == CurriculumKind::kSequential) return make_sequential_curriculum(tasks);
  return make_level_curriculum(tasks, settings.promote_at, settings.window);
}

}  // namespace bicrl
