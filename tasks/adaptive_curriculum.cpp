// Tasks by what there is to learn from. A group whose rewards are all equal teaches nothing, and a policy
// that is half-way finds most tasks either solved or out of reach: those in between are asked more often.
//
// Tasks that were not asked yet come first, in the order of the set. Then each is drawn with a weight: the
// exponential mean of the deviations of its groups' rewards. A task whose last group had none, or that was
// asked and never graded (its responses are all cut off, say), gets the floor:
// all of those together a tenth of all weight, and none of them more than a quarter of what the others have
// on average, so that they are asked again now and then, as the policy changes. No task is drawn twice
// between two observations, as long as there are others.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "common/error.h"
#include "common/rng.h"
#include "tasks/curriculum.h"
#include "tasks/curriculum_state.h"

namespace bicrl {
namespace {

using nlohmann::json;
using namespace curriculum_state;

constexpr double kNewest = 0.5;                // weight of the newest deviation in the mean
constexpr double kFloorShare = 0.1;            // of all weight, for the tasks on the floor together
constexpr double kFloorAtMost = 0.25;          // of the mean weight of the others
constexpr uint64_t kMost = uint64_t{1} << 53;  // JSON readers agree on whole numbers up to here

class AdaptiveCurriculum : public Curriculum {
 public:
  AdaptiveCurriculum(const std::vector<Task>& tasks, uint64_t key)
      : tasks_(tasks), fingerprint_(fingerprint(tasks)), key_(key), known_(tasks.size()) {
    require_tasks(tasks);
    for (size_t i = 0; i < tasks.size(); ++i) place_.emplace(tasks[i].id, i);
  }

  std::vector<const Task*> next(size_t count, const LeftOut& left_out) override {
    std::vector<const Task*> chosen;
    chosen.reserve(count);
    for (size_t passed = 0; chosen.size() < count;) {
      if (taken_ == tasks_.size()) {
        note_asked();
        begin_round();
      }
      if (order_.empty()) order_ = draw_order();
      const Task& task = tasks_[order_[taken_++]];
      if (!is_left_out(task, left_out)) {
        chosen.push_back(&task);
        passed = 0;
      } else if (++passed > tasks_.size()) {
        refuse_to_go_on();
      }
    }
    return chosen;
  }

  void observe(std::span<const TaskOutcome> outcomes) override {
    note_asked();
    for (const TaskOutcome& outcome : outcomes) {
      const auto found = place_.find(outcome.task_id);
      BICRL_CHECK(found != place_.end(), "outcome of an unknown task: ", outcome.task_id);
      const double deviation = outcome.reward_deviation;
      BICRL_CHECK(std::isfinite(deviation) && deviation >= 0, outcome.task_id, " ", deviation);
      Known& known = known_[found->second];
      known.mean =
          deviation == 0 || known.mean == 0 ? deviation : known.mean + kNewest * (deviation - known.mean);
      ++known.groups;
    }
    begin_round();
  }

  std::string position() const override {
    const auto asked = std::ranges::count_if(known_, [](const Known& k) { return k.was_asked(); });
    const auto graded = std::ranges::count_if(known_, [](const Known& k) { return k.groups > 0; });
    const auto informative = std::ranges::count_if(known_, [](const Known& k) { return k.mean > 0; });
    return concat("adaptive, ", asked, "/", tasks_.size(), " asked, ", graded, " graded, ", informative,
                  " informative");
  }

  json state() const override {
    json asked = json::array(), groups = json::array(), means = json::array();
    for (const Known& known : known_) {
      asked.push_back(known.asked);
      groups.push_back(known.groups);
      means.push_back(known.mean);
    }
    return {{"kind", "adaptive"},       {"tasks", fingerprint_},     {"round", round_},
            {"taken", taken_},          {"asked", std::move(asked)}, {"groups", std::move(groups)},
            {"means", std::move(means)}};
  }

  void restore(const json& state) override {
    const json own = this->state();
    for (const char* field : {"kind", "tasks"}) require_equal(state, own, field);
    const uint64_t round = index_of(state, "round", kMost),
                   taken = index_of(state, "taken", known_.size() + 1);
    std::vector<Known> known(known_.size());
    const json &asked = list_of(state, "asked"), &groups = list_of(state, "groups"),
               &means = list_of(state, "means");
    for (size_t i = 0; i < known.size(); ++i) {
      known[i].asked = count_of(asked[i], "asked", asked);
      known[i].groups = count_of(groups[i], "groups", groups);
      known[i].mean = means[i].is_number() ? means[i].get<double>() : -1;
      if (!std::isfinite(known[i].mean) || known[i].mean < 0 || (known[i].mean > 0 && known[i].groups == 0))
        refuse_field("means", means);
    }
    round_ = round;
    taken_ = taken;
    known_ = std::move(known);
    order_.clear();
  }

 private:
  struct Known {
    uint64_t asked = 0;   // rounds that took the task
    uint64_t groups = 0;  // that were graded
    double mean = 0;      // of their deviations; begins anew where the last one was 0

    bool was_asked() const { return asked > 0 || groups > 0; }  // a replay observes what it does not ask
  };

  const json& list_of(const json& state, const char* field) const {
    const json& list = raw_field(state, field);
    if (!list.is_array() || list.size() != known_.size()) refuse_field(field, list);
    return list;
  }

  static uint64_t count_of(const json& value, const char* field, const json& list) {
    const bool counts = value.is_number_integer() && (value.is_number_unsigned() || value >= 0);
    if (!counts || value >= kMost) refuse_field(field, list);
    return value.get<uint64_t>();
  }

  // Only when a round ends: its order must come out the same if a run goes on within it.
  void note_asked() {
    if (taken_ > 0 && order_.empty()) order_ = draw_order();
    for (size_t i = 0; i < taken_; ++i) ++known_[order_[i]].asked;
  }

  void begin_round() {
    ++round_;
    taken_ = 0;
    order_.clear();
  }

  // Of a task on the floor; the weights of the others are their means.
  double floor_weight() const {
    double sum = 0;
    size_t informative = 0, others = 0;
    for (const Known& known : known_) {
      sum += known.mean;
      informative += known.mean > 0;
      others += known.was_asked() && known.mean == 0;
    }
    if (informative == 0) return 1;
    if (others == 0) return 0;
    return std::min(kFloorAtMost * sum / static_cast<double>(informative),
                    kFloorShare / (1 - kFloorShare) * sum / static_cast<double>(others));
  }

  // The whole set, as successive draws without replacement give it (Efraimidis and Spirakis: by exponential
  // variables divided by the weights).
  std::vector<size_t> draw_order() const {
    RandomStream draws(mix_key({key_, round_}));
    const double floor = floor_weight();
    std::vector<double> rank(known_.size());
    for (size_t i = 0; i < known_.size(); ++i) {
      const double waiting = -std::log1p(-draws.uniform());
      rank[i] = known_[i].was_asked() ? waiting / std::max(known_[i].mean, floor) : -1;
    }
    std::vector<size_t> order(known_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank[a] < rank[b]; });
    return order;
  }

  const std::vector<Task>& tasks_;
  std::unordered_map<std::string, size_t> place_;
  std::string fingerprint_;
  uint64_t key_;
  std::vector<Known> known_;
  uint64_t round_ = 0;
  size_t taken_ = 0;           // of this round's order
  std::vector<size_t> order_;  // empty until a task of the round is asked for
};

}  // namespace

std::unique_ptr<Curriculum> make_adaptive_curriculum(const std::vector<Task>& tasks, uint64_t key) {
  return std::make_unique<AdaptiveCurriculum>(tasks, key);
}

}  // namespace bicrl
