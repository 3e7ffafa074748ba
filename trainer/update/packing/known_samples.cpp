#include "trainer/update/packing/known_samples.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

Task with_program(Task task, const KnownProgram& program) {
  task.cuda_code = program.cuda_code;
  task.prefix = program.prefix;
  task.middle = program.middle;
  task.suffix = program.suffix;
  return task;
}

// The task with each of its programs that are imitated in this stage in the place of its own.
std::vector<Task> with_each(const Task& task, KnownPrograms programs, Stage stage) {
  const bool scaffold = stage == Stage::kInfilling;
  if (task.cuda_code.empty() || (scaffold && !task.has_scaffold())) return {};
  std::vector<Task> all = {task};
  if (programs == KnownPrograms::kFirst) return all;
  for (const KnownProgram& other : task.alternatives)
    if (!scaffold || other.has_scaffold()) all.push_back(with_program(task, other));
  if (programs == KnownPrograms::kBest) all.erase(all.begin(), all.end() - 1);
  return all;
}

}  // namespace

const std::vector<std::string>& known_programs_names() {
  static const std::vector<std::string> names = {"first", "all", "best"};
  return names;
}

KnownPrograms parse_known_programs(const std::string& text) {
  const auto& names = known_programs_names();
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) throw InputError(concat("'", text, "' names no programs of a task"));
  return static_cast<KnownPrograms>(found - names.begin());
}

KnownSamples::KnownSamples(const std::vector<Task>& tasks, KnownPrograms programs, Stage stage,
                           PromptStyle style, Scaffold scaffold, const Tokenizer& tokenizer,
                           const PolicyConfig& policy) {
  for (const Task& known : tasks) {
    std::vector<SftSample> samples;
    for (const Task& task : with_each(known, programs, stage)) {
      const Prompt prompt = make_prompt(task, stage, style, scaffold);
      SftSample sample = make_sft_sample(prompt, task.cuda_code, tokenizer, policy, /*noise_key=*/0);
      if (static_cast<int64_t>(sample.tokens.size()) <= policy.max_position)
        samples.push_back(std::move(sample));
      else
        ++left_out_;
    }
    if (!samples.empty()) tasks_.push_back(std::move(samples));
  }
}

int64_t KnownSamples::programs() const { return longer_than(-1); }

int64_t KnownSamples::longer_than(int64_t response_tokens) const {
  int64_t count = 0;
  for (const std::vector<SftSample>& programs : tasks_)
    count += std::ranges::count_if(
        programs, [&](const SftSample& sample) { return sample.response_tokens > response_tokens; });
  return count;
}

SftSample KnownSamples::draw(RandomStream& random) const {
  BICRL_CHECK(!empty());
  const std::vector<SftSample>& programs = tasks_[random.below(tasks_.size())];
  SftSample sample = programs[programs.size() > 1 ? random.below(programs.size()) : 0];
  sample.noise_key = random.next();
  return sample;
}

}  // namespace bicrl
