// Curricula: which tasks a step works on. Deterministic; a curriculum's state is small and goes into
// checkpoints. A curriculum refers to the tasks it was made of, which must outlive it. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/error.h"
#include "tasks/task.h"

namespace bicrl {

// How one task fared in a step, over the responses that the reward counts.
struct TaskOutcome {
  std::string task_id;
  double pass_rate = 0;         // [0, 1]: the share of its responses that were correct
  double reward_deviation = 0;  // population standard deviation of their rewards; 0 if its group is dropped
};

// Whether a task can never be graded. Empty: every task can. Of the same tasks in every call, or of more.
using LeftOut = std::function<bool(const Task&)>;

// A state that belongs to another kind of curriculum, to other tasks or to other parameters.
class OtherCurriculum : public InputError {
 public:
  using InputError::InputError;
};

class Curriculum {
 public:
  virtual ~Curriculum() = default;

  // The next `count` tasks, without those that are left out, which lose their turn. Tasks repeat within one
  // call if there are fewer than `count`. Throws InputError if all are left out.
  virtual std::vector<const Task*> next(size_t count, const LeftOut& left_out = nullptr) = 0;
  // Tells how tasks fared; every task of the set may be reported, in any order.
  virtual void observe(std::span<const TaskOutcome> outcomes) = 0;
  // For the progress line: "sequential 64/600", "level 2 (3 of 4) 48/320".
  virtual std::string position() const = 0;

  // Everything that decides later calls of next(). restore() changes nothing where it throws:
  // OtherCurriculum, or InputError on a state that is damaged.
  virtual nlohmann::json state() const = 0;
  virtual void restore(const nlohmann::json& state) = 0;
};

enum class CurriculumKind {
  kSequential,  // the tasks in the order of the set, from where the last call stopped, round and round
  // The tasks of the lowest level, round and round; when the last `window` outcomes of the current level
  // reach a mean pass rate of `promote_at`, those of the next level. Levels with fewer than `min_level_tasks`
  // tasks are joined with the next one; a level of which no task can be graded is passed.
  kLevel,
  // By what there is to learn from: tasks whose rewards differed are drawn in proportion to how much.
  kAdaptive
};

struct CurriculumSettings {
  CurriculumKind kind = CurriculumKind::kSequential;
  double promote_at = 0.6;
  size_t window = 128;
  size_t min_level_tasks = 16;

  // Keys: kind (sequential | level | adaptive); with `level` also promote_at, window and min_level_tasks.
  static CurriculumSettings from_config(const ConfigSection& section);
};

// `key` decides the draws of those that draw; a sequential one begins with the task of number `first`,
// counted round and round.
std::unique_ptr<Curriculum> make_curriculum(const CurriculumSettings& settings,
                                            const std::vector<Task>& tasks, uint64_t key, size_t first);

std::unique_ptr<Curriculum> make_sequential_curriculum(const std::vector<Task>& tasks, size_t first = 0);
std::unique_ptr<Curriculum> make_level_curriculum(const std::vector<Task>& tasks, double promote_at,
                                                  size_t window, size_t min_level_tasks = 1);
// tasks/adaptive_curriculum.cpp
std::unique_ptr<Curriculum> make_adaptive_curriculum(const std::vector<Task>& tasks, uint64_t key);

}  // namespace bicrl
