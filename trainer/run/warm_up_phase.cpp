// The supervised warm-up: tasks with known programs, noised and restored.
#include "common/clock.h"
#include "common/files.h"
#include "common/log.h"
#include "common/rng.h"
#include "trainer/run/phase.h"

namespace bicrl {
namespace {

constexpr std::string_view kStream = "warm_up";

using ProgramSamples = std::vector<SftSample>;  // of one task, a sample for each program that is imitated

// Every training task once per stage that it can be asked in, tokenised once for the whole warm-up.
struct WarmUpSamples {
  std::vector<ProgramSamples> infilling;
  std::vector<ProgramSamples> end_to_end;
};

Task with_program(Task task, const KnownProgram& program) {
  task.cuda_code = program.cuda_code;
  task.prefix = program.prefix;
  task.middle = program.middle;
  task.suffix = program.suffix;
  return task;
}

// The task with each of its programs that are imitated in this stage in the place of its own: its scaffold is
// what infilling asks to be filled.
std::vector<Task> imitated(const Task& task, WarmUpPrograms programs, Stage stage) {
  const bool scaffold = stage == Stage::kInfilling;
  if (task.cuda_code.empty() || (scaffold && !task.has_scaffold())) return {};
  std::vector<Task> all = {task};
  if (programs == WarmUpPrograms::kFirst) return all;
  for (const KnownProgram& other : task.alternatives)
    if (!scaffold || other.has_scaffold()) all.push_back(with_program(task, other));
  if (programs == WarmUpPrograms::kBest) all.erase(all.begin(), all.end() - 1);
  return all;
}

// As the first infilling stage will ask: what is trained here is what is asked there.
Scaffold infilling_scaffold(const RunSettings& settings) {
  for (const StageSettings& stage : settings.stages)
    if (stage.stage == Stage::kInfilling) return stage.decoding.scaffold;
  return settings.evaluation.decoding.scaffold;
}

WarmUpSamples warm_up_samples(const PhaseContext& context) {
  const Scaffold scaffold = infilling_scaffold(context.settings);
  WarmUpSamples samples;
  int64_t left_out = 0;
  const auto add = [&](std::vector<ProgramSamples>& set, const Task& known, Stage stage) {
    ProgramSamples made;
    for (const Task& task : imitated(known, context.settings.warm_up.programs, stage)) {
      const Prompt prompt = make_prompt(task, stage, context.settings.tasks.prompt_style, scaffold);
      made.push_back(make_sft_sample(prompt, task.cuda_code, context.tokenizer, context.policy.config(),
                                     /*noise_key=*/0));
      if (static_cast<int64_t>(made.back().tokens.size()) <= context.policy.config().max_position) continue;
      made.pop_back();
      ++left_out;
    }
    if (!made.empty()) set.push_back(std::move(made));
  };
  for (const Task& task : context.tasks.train) {
    add(samples.end_to_end, task, Stage::kEndToEnd);
    add(samples.infilling, task, Stage::kInfilling);
  }
  if (left_out > 0 && context.control.rank() == 0)
    log_warning(left_out, " samples are left out of the warm-up, because prompt and program have more than ",
                context.policy.config().max_position, " tokens");
  if (samples.end_to_end.empty())
    throw InputError("the warm-up needs tasks with a known program (cuda_code) that fits, and there is none");
  return samples;
}

class WarmUpPhase : public Phase {
 public:
  WarmUpPhase(const PhaseContext& context, const std::string& name)
      : Phase(name, context.settings.warm_up.steps),
        context_(context),
        key_(mix_key(context.settings.seed, kStream)) {}

  void begin() override {
    if (!context_.updater) return;
    context_.updater->begin_phase(context_.settings.warm_up.updater);
    samples_ = warm_up_samples(context_);
  }

  PhaseStep step(int64_t step, int64_t) override {
    const Stopwatch watch;
    latest_step_ = step;
    PhaseStep taken;
    if (!context_.updater) return taken;
    const Batch batch = this->batch(step);
    taken.update = context_.updater->supervise(batch.mine, batch.supervised_tokens);
    taken.seconds.train = watch.seconds();
    return taken;
  }

  std::string keep_batch() const override try {
    if (!context_.updater) return "";
    const std::filesystem::path folder =
        context_.settings.directory / "batches" / concat(name(), "-", latest_step_);
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    nlohmann::json samples = nlohmann::json::array();
    for (const SftSample& sample : batch(latest_step_).mine)
      samples.push_back({{"tokens", sample.tokens},
                         {"prompt_tokens", sample.prompt_tokens},
                         {"response_tokens", sample.response_tokens},
                         {"noise_key", sample.noise_key}});
    write_file_atomically(folder / concat("rank-", context_.control.rank(), ".json"), samples.dump() + "\n");
    return concat("The batch of step ", latest_step_, " is kept in ", folder.string(), ".");
  } catch (const Error& error) {
    return concat("The batch of step ", latest_step_, " could not be kept: ", error.what());
  }

 private:
  struct Batch {
    std::vector<SftSample> mine;
    int64_t supervised_tokens = 0;  // over all ranks
  };

  // Every rank that trains draws the whole batch and keeps its share, so that the batch does not depend on
  // their number.
  Batch batch(int64_t step) const {
    const WarmUpSettings& s = context_.settings.warm_up;
    Batch batch;
    for (int64_t i = 0; i < s.samples_per_step; ++i) {
      RandomStream draw(mix_key({key_, static_cast<uint64_t>(step), static_cast<uint64_t>(i)}));
      const bool infill = draw.uniform() < s.infilling_share && !samples_.infilling.empty();
      const std::vector<ProgramSamples>& set = infill ? samples_.infilling : samples_.end_to_end;
      const ProgramSamples& programs = set[draw.below(set.size())];
      const SftSample& sample = programs[programs.size() > 1 ? draw.below(programs.size()) : 0];
      batch.supervised_tokens += supervised_tokens(sample, s.updater.sft);
      if (context_.placement.trainer_of(i) != context_.control.rank()) continue;
      batch.mine.push_back(sample);
      batch.mine.back().noise_key = draw.next();
    }
    return batch;
  }

  PhaseContext context_;
  uint64_t key_;
  WarmUpSamples samples_;
  int64_t latest_step_ = 0;
};

}  // namespace

std::unique_ptr<Phase> make_warm_up_phase(const PhaseContext& context, const std::string& name) {
  return std::make_unique<WarmUpPhase>(context, name);
}

}  // namespace bicrl
