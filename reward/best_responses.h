// Best responses: of each task that a run has asked, the right response with the highest reward so far; one
// to its plain prompt, and one to prompts that showed a failed attempt. What an update makes of one lucky
// response among thousands is soon lost in noise; imitated again and again beside the updates, it stays
// (self-imitation learning, Oh et al. 2018, https://arxiv.org/abs/1806.05635). Bounded and deterministic: the
// contents depend on the calls and their order alone, and what a draw returns on the contents and the key
// alone, so ranks that make the same calls hold the same responses. Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tasks/prompt.h"

namespace bicrl {

// Token ids as the policy was given and wrote them, its end token or delimiter included.
struct ResponseTokens {
  std::vector<int64_t> prompt;
  std::vector<int64_t> response;
  bool operator==(const ResponseTokens&) const = default;
};

// What a group of responses to one task says of the task.
struct GroupReward {
  std::string task_id;
  Stage stage = Stage::kEndToEnd;
  bool repair = false;  // the prompt showed a failed attempt
  double mean = 0;      // reward over members that count
  struct Best {
    double reward = 0;
    ResponseTokens tokens;
  };
  std::optional<Best> best{};  // of the members that are right; none if no member is
};
nlohmann::json to_json(const GroupReward& group);
GroupReward group_reward_from_json(const nlohmann::json& json);  // throws InputError naming the field

class BestResponses {
 public:
  // Of so many tasks; where there are more, those that were asked longest ago leave. `basis` says by what
  // rewards they were earned: those of another basis compare with nothing here.
  explicit BestResponses(std::string basis = "", size_t capacity = 1024)
      : basis_(std::move(basis)), capacity_(capacity) {}

  // The best of the group takes the task's place if it earned more than what is there. The task's mean reward
  // is the group's from now on.
  void note(const GroupReward& group);
  // One of the responses of `stage`, each as likely as its gain says: how much more it earned than the mean
  // of the group that answered its task last. Null if none has a gain. Valid until the next note().
  const ResponseTokens* draw(uint64_t key, Stage stage) const;

  // What was thought to be right is not, or the task cannot be graded: nothing of it is imitated any more.
  void forget(const std::string& task_id);

  const std::string& basis() const { return basis_; }
  // Tasks of the stage whose best response has a gain.
  size_t size(Stage stage) const;

  nlohmann::json state() const;
  // Empty if the state is of another basis. Throws InputError, and changes nothing then.
  void restore(const nlohmann::json& state);

 private:
  static constexpr double kLeastGain = 1e-6;  // less is rounding
  struct Entry {
    std::string task_id;
    Stage stage = Stage::kEndToEnd;
    bool repair = false;
    double reward = 0;
    double mean = 0;
    ResponseTokens tokens;
    double gain() const { return reward - mean > kLeastGain ? reward - mean : 0; }
  };
  std::string basis_;
  size_t capacity_;
  std::deque<Entry> entries_;  // the task asked longest ago first
};

}  // namespace bicrl
