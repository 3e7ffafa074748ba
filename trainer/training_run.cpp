#include "trainer/training_run.h"

#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/log.h"
#include "common/rng.h"
#include "policy/checkpoint_io.h"
#include "policy/distribution.h"
#include "tasks/curriculum.h"
#include "trainer/step_metrics.h"

namespace bicrl {
namespace {

// Names of the random streams of a run; together with the seed they make the keys.
constexpr std::string_view kWeightsStream = "weights";
constexpr std::string_view kWarmUpStream = "warm_up";

// Every training task once per stage that it can be asked in, tokenised once for the whole warm-up.
struct WarmUpSamples {
  std::vector<SftSample> infilling;
  std::vector<SftSample> end_to_end;
};

WarmUpSamples warm_up_samples(const TaskPool& tasks, const TaskSource& source, const Tokenizer& tokenizer,
                              const PolicyConfig& config) {
  WarmUpSamples samples;
  for (const Task& task : tasks.train) {
    if (task.cuda_code.empty()) continue;
    const auto sample = [&](Stage stage) {
      const Prompt prompt = make_prompt(task, stage, source.prompt_style, Scaffold::kClamp);
      return make_sft_sample(prompt, task.cuda_code, tokenizer, config, /*noise_key=*/0);
    };
    samples.end_to_end.push_back(sample(Stage::kEndToEnd));
    if (task.has_scaffold()) samples.infilling.push_back(sample(Stage::kInfilling));
  }
  if (samples.end_to_end.empty())
    throw InputError("the warm-up needs tasks with a known program (cuda_code), and there is none");
  return samples;
}

}  // namespace

TrainingRun::TrainingRun(const RunSettings& settings, Communicator& communicator, VerifierClient* verifier,
                         const RewardFunction& reward, RunDirectory* directory,
                         std::function<bool()> stop_requested)
    : settings_(settings),
      communicator_(communicator),
      verifier_(verifier),
      reward_(reward),
      directory_(directory),
      stop_requested_(std::move(stop_requested)),
      tokenizer_(load_tokenizer(settings.policy)),
      policy_(make_policy(settings.policy, tokenizer_, mix_key(settings.seed, kWeightsStream),
                          communicator.rank())),
      tasks_(TaskPool::load(settings.tasks)),
      updater_(policy_, allowed_ids(policy_.config(), tokenizer_.size(), policy_.device()),
               settings.warm_up.updater, communicator) {
  updater_.broadcast_parameters();
  const auto wanted = static_cast<size_t>(settings.evaluation.tasks);
  if (tasks_.held_out.size() > wanted) tasks_.held_out.resize(wanted);
  if (directory_)
    log_info("policy: ", policy_.config().parameter_count(), " parameters; tasks: ", tasks_.train.size(),
             " for training, ", tasks_.held_out.size(), " held out; ranks: ", communicator.size());
}

RunEnd TrainingRun::run() {
  if (settings_.warm_up.steps > 0) warm_up();
  for (size_t i = 0; i < settings_.stages.size() && !stopping(); ++i)
    if (settings_.stages[i].steps > 0) reinforce(i);
  const bool stopped = stopping();
  if (directory_ && evaluations_.size() > 0)
    std::cout << "\n" << evaluation_table(evaluations_) << std::flush;
  return stopped ? RunEnd::kStopped : RunEnd::kFinished;
}

void TrainingRun::warm_up() {
  const WarmUpSettings& s = settings_.warm_up;
  const Stopwatch phase;
  updater_.begin_phase(s.updater);
  const WarmUpSamples samples = warm_up_samples(tasks_, settings_.tasks, tokenizer_, policy_.config());
  const uint64_t key = mix_key(settings_.seed, kWarmUpStream);
  for (int64_t step = 1; step <= s.steps && !stopping(); ++step) {
    const Stopwatch watch;
    std::vector<SftSample> batch;
    for (int64_t i = 0; i < s.samples_per_step; ++i) {
      // Every rank draws the whole batch and keeps its share, so that the batch does not depend on their
      // number.
      const uint64_t sample_key = mix_key({key, static_cast<uint64_t>(step), static_cast<uint64_t>(i)});
      RandomStream draw(sample_key);
      const bool infill = draw.uniform() < s.infilling_share && !samples.infilling.empty();
      const std::vector<SftSample>& set = infill ? samples.infilling : samples.end_to_end;
      const SftSample& sample = set[draw.below(set.size())];
      if (i % communicator_.size() != communicator_.rank()) continue;
      batch.push_back(sample);
      batch.back().noise_key = draw.next();
    }
    const UpdateStatistics update = updater_.supervise(batch);
    check_update(update, "warm_up", step);
    ++policy_version_;
    StepMetrics metrics("warm_up", step, s.steps);
    metrics.loss = update.loss;
    metrics.grad_norm = update.grad_norm;
    metrics.learning_rate = update.learning_rate;
    metrics.trained_tokens = update.scored_tokens;
    metrics.update_skipped = update.skipped_updates > 0;
    metrics.train_seconds = metrics.step_seconds = watch.seconds();
    report(metrics, phase.seconds());
  }
  finish_phase("warm_up", phase.seconds());
}

void TrainingRun::reinforce(size_t stage_index) {
  const StageSettings& s = settings_.stages[stage_index];
  const std::string name = to_string(s.stage);
  BICRL_CHECK(verifier_ != nullptr, "stage ", name, " needs a verifier");
  const Stopwatch phase;
  updater_.begin_phase(s.updater);
  const std::vector<Task> tasks = tasks_.usable(s.stage);
  const std::unique_ptr<Curriculum> curriculum = curriculum_from_config(s.curriculum, tasks);
  ExperienceCollector collector(policy_, tokenizer_, *verifier_, reward_, communicator_,
                                {.stage = s.stage,
                                 .prompt_style = settings_.tasks.prompt_style,
                                 .scaffold = s.decoding.scaffold,
                                 .decoding = s.decoding,
                                 .samples_per_task = s.samples_per_task,
                                 .advantage = s.advantage,
                                 .shuffled_advantages = s.shuffled_advantages});
  const uint64_t stage_key = mix_key({mix_key(settings_.seed, name), stage_index});
  for (int64_t step = 1; step <= s.steps && !stopping(); ++step) {
    Stopwatch watch;
    StepMetrics metrics(name, step, s.steps);
    const std::vector<const Task*> chosen = curriculum->next(static_cast<size_t>(s.tasks_per_step));
    const CollectedStep collected = collector.collect(
        chosen, mix_key({stage_key, static_cast<uint64_t>(step)}), policy_version_, metrics);
    curriculum->observe(outcomes_of(collected, communicator_));
    if (metrics.infrastructure_rate > settings_.max_unverified_share)
      throw Error(concat(
          name, " step ", step, ": ", std::lround(100 * metrics.infrastructure_rate),
          " % of the responses got no verdict through the verifier's fault (run.max_unverified_share is ",
          settings_.max_unverified_share, "); ", verifier_->waiting_for()));
    const Stopwatch training;
    const UpdateStatistics update = updater_.reinforce(collected.experiences);
    check_update(update, name, step);
    if (update.updates > 0) ++policy_version_;
    metrics.loss = update.loss;
    metrics.kl = update.kl;
    metrics.clip_share = update.clip_share;
    metrics.log_prob_gap = update.logprob_gap_max;
    metrics.grad_norm = update.grad_norm;
    metrics.learning_rate = update.learning_rate;
    metrics.trained_tokens = update.scored_tokens;
    metrics.update_skipped = update.skipped_updates > 0;
    metrics.train_seconds = training.seconds();
    metrics.step_seconds = watch.seconds();
    report(metrics, phase.seconds());
  }
  updater_.check_replicas();
  finish_phase(name, phase.seconds());
}

void TrainingRun::finish_phase(const std::string& phase, double seconds) {
  phase_seconds_.emplace_back(phase, seconds);
  if (directory_) save_policy(directory_->checkpoint(phase), policy_, tokenizer_);
  communicator_.barrier();
  if (verifier_ && !tasks_.held_out.empty() && !stopping()) {
    evaluations_.push_back(evaluate(policy_, tokenizer_, *verifier_, communicator_, tasks_.held_out,
                                    settings_.tasks.prompt_style, settings_.evaluation.decoding, phase));
    const EvaluationResult& result = evaluations_.back();
    phase_seconds_.emplace_back(phase + "_evaluation", result.seconds);
    if (directory_)
      log_info("after ", phase, " (", clock_text(seconds),
               "): ", std::lround(1000 * result.correct_rate) / 10.0, " % of ", result.tasks,
               " held-out tasks correct, ", std::lround(1000 * result.compile_rate) / 10.0,
               " % compile (evaluation ", clock_text(result.seconds), ")");
  }
  if (directory_) write_summary();
}

bool TrainingRun::stopping() {
  std::vector<double> asked = {stop_requested_() ? 1.0 : 0.0};
  communicator_.all_reduce(asked, Reduction::kMax);
  return asked[0] > 0;
}

void TrainingRun::report(StepMetrics& metrics, double phase_seconds) {
  // A step is as slow as its slowest rank.
  std::vector<double> seconds = {metrics.rollout_seconds, metrics.verify_wait_seconds, metrics.train_seconds,
                                 metrics.step_seconds};
  communicator_.all_reduce(seconds, Reduction::kMax);
  metrics.rollout_seconds = seconds[0];
  metrics.verify_wait_seconds = seconds[1];
  metrics.train_seconds = seconds[2];
  metrics.step_seconds = seconds[3];
  if (!directory_) return;
  directory_->append_metrics(to_json(metrics));
  const double eta =
      phase_seconds / static_cast<double>(metrics.step) * static_cast<double>(metrics.steps - metrics.step);
  // Warm-up steps are short: a line for each would hide the others.
  const int64_t every = metrics.responses > 0 ? 1 : std::max<int64_t>(1, metrics.steps / 20);
  if (metrics.step % every == 0 || metrics.step == metrics.steps)
    std::cout << step_line(metrics, eta) << std::endl;
}

void TrainingRun::check_update(const UpdateStatistics& statistics, const std::string& phase,
                               int64_t step) const {
  if (std::isfinite(statistics.loss) && statistics.skipped_updates < std::max<int64_t>(1, statistics.updates))
    return;
  throw Error(concat(phase, " step ", step, ": the update is not finite (loss ", statistics.loss,
                     ", gradient norm ", statistics.grad_norm,
                     "); the policy is as it was before this step. A smaller learning rate may help."));
}

void TrainingRun::write_summary() const {
  nlohmann::json summary = {{"ranks", communicator_.size()},
                            {"seed", settings_.seed},
                            {"parameters", policy_.config().parameter_count()},
                            {"policy_version", policy_version_},
                            {"reward", reward_.rule_name()},
                            {"held_out", nlohmann::json::object()},
                            {"seconds", nlohmann::json::object()}};
  for (const EvaluationResult& result : evaluations_) summary["held_out"][result.phase] = to_json(result);
  double total = 0;
  for (const auto& [phase, seconds] : phase_seconds_) {
    summary["seconds"][phase] = seconds;
    total += seconds;
  }
  summary["seconds"]["total"] = total;
  directory_->write("summary.json", summary.dump(2) + "\n");
}

}  // namespace bicrl
