// A stage of reinforcement: responses to tasks, their verdicts, rewards and advantages, and updates from
// them.
#include <cmath>
#include <set>

#include "common/clock.h"
#include "common/rng.h"
#include "tasks/curriculum.h"
#include "trainer/experience/experience_collector.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/run/phase.h"

namespace bicrl {
namespace {

class StagePhase : public Phase {
 public:
  StagePhase(const PhaseContext& context, const std::string& name, size_t index)
      : Phase(name, context.settings.stages[index].steps),
        context_(context),
        settings_(context.settings.stages[index]),
        replay_(context.settings.replay),
        own_rollouts_(context.settings.directory / "rollouts"),
        other_rollouts_(context.settings.replay.rollouts / "rollouts"),
        key_(mix_key({mix_key(context.settings.seed, to_string(settings_.stage)), index})) {
    if (replay_.generates()) return;
    for (int64_t step = 1; step <= steps(); ++step)
      if (!other_rollouts_.has(this->name(), step))
        throw InputError(concat("replay.rollouts: ", other_rollouts_.folder().string(),
                                " has no rollouts of ", this->name(), " step ", step,
                                " (run.save_rollouts, or replay.only=rollouts, saves them)"));
  }

  void begin() override {
    BICRL_CHECK(context_.verifier || !replay_.verifies(), "stage ", name(), " needs a verifier");
    context_.updater.begin_phase(settings_.updater);
    tasks_ = context_.tasks.usable(settings_.stage);
    curriculum_ = curriculum_from_config(settings_.curriculum, tasks_);
    collector_ = std::make_unique<ExperienceCollector>(
        context_.policy, context_.tokenizer, context_.verifier, context_.reward, context_.communicator,
        CollectorSettings{.stage = settings_.stage,
                          .prompt_style = context_.settings.tasks.prompt_style,
                          .scaffold = settings_.decoding.scaffold,
                          .decoding = settings_.decoding,
                          .samples_per_task = settings_.samples_per_task,
                          .advantage = settings_.advantage,
                          .shuffled_advantages = settings_.shuffled_advantages,
                          .progress = name() + " verdicts",
                          .ledger = context_.ledger,
                          .quarantine = &context_.curation.quarantine(),
                          .verdicts = replay_.verifies()  ? VerdictSource::kVerifier
                                      : replay_.updates() ? VerdictSource::kLedger
                                                          : VerdictSource::kNone,
                          .stop_requested = context_.stop_requested});
  }

  void step(int64_t step, int64_t policy_version, StepMetrics& metrics,
            std::vector<ResponseRecord>& responses) override {
    metrics.advantage = to_string(settings_.advantage);
    metrics.reward_rule = context_.reward.rule_name();
    metrics.verified = replay_.verifies() || replay_.updates();
    CollectedStep collected = replay_.generates() ? generate(step, policy_version, metrics)
                                                  : collector_->collect_saved(saved_rollouts(step), tasks_,
                                                                              step_key(step), metrics);
    if (collected.cut_short) throw StepCut(concat(name(), " step ", step, " was cut short"));
    if (context_.settings.save_rollouts || replay_.parts == RunParts::kRollouts)
      save(step, collected.rollouts);
    curriculum_->observe(outcomes_of(collected, context_.communicator));
    responses = std::move(collected.responses);
    if (metrics.infrastructure_rate > context_.settings.max_unverified_share)
      throw StepNotTaken(concat(name(), " step ", step, ": ", std::lround(100 * metrics.infrastructure_rate),
                                " % of the responses got no verdict (run.max_unverified_share is ",
                                context_.settings.max_unverified_share,
                                "): ", metrics.infrastructure_reason));
    context_.curation.note(collected.outcomes, context_.communicator);
    if (!replay_.updates()) return;
    const Stopwatch training;
    const UpdateStatistics update = context_.updater.reinforce(collected.experiences);
    metrics.train_seconds = training.seconds();
    try {
      note_update(update, name(), context_.settings.max_loss, metrics);
    } catch (const SharedError& error) {
      throw SharedError(error.what() + kept(step, collected.rollouts));
    }
    latest_step_ = step;
    latest_ = std::move(collected.rollouts);
    if (step == steps()) context_.updater.check_replicas();
  }

  nlohmann::json state() const override { return {{"curriculum", curriculum_->state()}}; }
  void restore(const nlohmann::json& state) override { curriculum_->restore(state.at("curriculum")); }

 private:
  uint64_t step_key(int64_t step) const { return mix_key({key_, static_cast<uint64_t>(step)}); }

  CollectedStep generate(int64_t step, int64_t policy_version, StepMetrics& metrics) {
    const std::vector<const Task*> chosen = curriculum_->next(static_cast<size_t>(settings_.tasks_per_step));
    const auto prompts = context_.curation.prompts(chosen, tasks_, settings_.stage, step_key(step));
    for (const PromptedTask& prompt : prompts) metrics.repairs += prompt.repair.has_value();
    try {
      return collector_->collect(prompts, step_key(step), policy_version, metrics);
    } catch (const SharedError& error) {
      // Mostly an update that destroyed the policy and did not show it: what it was made from tells more.
      if (latest_step_ == 0) throw;  // not latest_.empty(): a rank without a share saves that, too
      throw SharedError(concat(name(), " step ", step, ": ", error.what(), kept(latest_step_, latest_)),
                        error.code());
    }
  }

  std::vector<SavedRollout> saved_rollouts(int64_t step) const {
    std::vector<SavedRollout> rollouts = other_rollouts_.read(name(), step);
    std::set<int64_t> groups;
    for (const SavedRollout& saved : rollouts) {
      groups.insert(saved.group);
      for (int64_t token : saved.rollout.tokens)
        if (token < 0 || token >= context_.policy.config().vocab_size)
          throw InputError(concat("saved rollouts: token ", token, " is not in the policy's vocabulary"));
    }
    if (static_cast<int64_t>(groups.size()) != settings_.tasks_per_step)
      throw InputError(concat("saved rollouts: ", name(), " step ", step, " has ", groups.size(),
                              " groups, tasks_per_step is ", settings_.tasks_per_step));
    return rollouts;
  }

  void save(int64_t step, const std::vector<SavedRollout>& rollouts) const {
    own_rollouts_.write(name(), step, context_.communicator.rank(), context_.communicator.size(), rollouts);
  }

  // Saves them for whoever looks for the cause of an error, and says where. Never hides that error.
  std::string kept(int64_t step, const std::vector<SavedRollout>& rollouts) const try {
    save(step, rollouts);
    return concat(" The rollouts of step ", step, " are kept in ", own_rollouts_.folder().string(), ".");
  } catch (const Error& error) {
    return concat(" The rollouts of step ", step, " could not be kept: ", error.what());
  }

  PhaseContext context_;
  const StageSettings& settings_;
  const ReplaySettings& replay_;
  RolloutStore own_rollouts_;
  RolloutStore other_rollouts_;
  uint64_t key_;
  std::vector<Task> tasks_;
  std::unique_ptr<Curriculum> curriculum_;
  std::unique_ptr<ExperienceCollector> collector_;
  int64_t latest_step_ = 0;
  std::vector<SavedRollout> latest_;  // of that step
};

}  // namespace

std::unique_ptr<Phase> make_stage_phase(const PhaseContext& context, const std::string& name,
                                        size_t stage_index) {
  return std::make_unique<StagePhase>(context, name, stage_index);
}

void note_update(const UpdateStatistics& update, const std::string& phase, double max_loss,
                 StepMetrics& metrics) {
  metrics.updates = update.updates;
  metrics.loss = update.loss;
  metrics.kl = update.kl;
  metrics.clip_share = update.clip_share;
  metrics.entropy = update.entropy;
  metrics.log_prob_gap = update.logprob_gap_max;
  metrics.grad_norm = update.grad_norm;
  metrics.learning_rate = update.learning_rate;
  metrics.trained_tokens = update.scored_tokens;
  metrics.update_skipped = update.skipped_updates > 0;
  // No weight of a policy that works comes near this.
  constexpr double kLargestWeight = 1e6;
  const bool finite = std::isfinite(update.loss) && update.largest_weight <= kLargestWeight &&
                      update.skipped_updates < std::max<int64_t>(1, update.updates);
  if (finite && std::abs(update.loss) <= max_loss) return;
  throw SharedError(concat(phase, " step ", metrics.step, ": ",
                           finite ? concat("the loss exceeds run.max_loss (", max_loss, ")")
                                  : "the update is not finite or destroys the policy",
                           " (loss ", update.loss, ", gradient norm ", update.grad_norm, ", largest weight ",
                           update.largest_weight,
                           "). A smaller learning rate may help; the latest checkpoint is from before."));
}

}  // namespace bicrl
