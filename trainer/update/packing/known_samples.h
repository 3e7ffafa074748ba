// Supervised samples of the programs that tasks bring along, tokenised once for a whole phase. Immutable;
// thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"
#include "tasks/prompt.h"
#include "tasks/task.h"
#include "trainer/update/packing/sft.h"

namespace bicrl {

// Which of a task's programs are imitated.
enum class KnownPrograms {
  kFirst,  // its cuda_code
  kAll,    // one for each sample, drawn from cuda_code and all alternatives
  kBest    // the last alternative, the cheapest known; cuda_code without one
};
KnownPrograms parse_known_programs(const std::string& text);  // InputError
const std::vector<std::string>& known_programs_names();       // "first", "all", "best"

class KnownSamples {
 public:
  KnownSamples() = default;
  // Of the tasks that have a program and, in the infilling stage, a scaffold: that of each program is what
  // is asked to be filled. Samples that the policy's longest sequence does not hold are left out.
  KnownSamples(const std::vector<Task>& tasks, KnownPrograms programs, Stage stage, PromptStyle style,
               Scaffold scaffold, const Tokenizer& tokenizer, const PolicyConfig& policy);

  bool empty() const { return tasks_.empty(); }
  int64_t left_out() const { return left_out_; }
  int64_t programs() const;
  int64_t longer_than(int64_t response_tokens) const;  // programs
  // One of the tasks, then one of its programs, then its noise. Not of an empty set.
  SftSample draw(RandomStream& random) const;

 private:
  std::vector<std::vector<SftSample>> tasks_;  // a sample for each program
  int64_t left_out_ = 0;
};

}  // namespace bicrl
