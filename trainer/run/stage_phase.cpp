// A stage of reinforcement: responses to tasks, their verdicts, rewards and advantages, and updates from
// them.
#include <cmath>
#include <set>

#include "common/clock.h"
#include "common/log.h"
#include "common/rng.h"
#include "tasks/curriculum.h"
#include "trainer/experience/prompt_plan.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/inputs/prompt_filter.h"
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
        key_(mix_key({mix_key(context.settings.seed, to_string(settings_.stage)), index})),
        tasks_(steps() == 0 ? std::vector<Task>() : context.tasks.usable(settings_.stage)) {
    if (steps() == 0) return;
    if (replay_.generates()) {
      const std::string left_out = keep_fitting(tasks_, concat("training tasks of stage ", name),
                                                prompt_use(), context_.tokenizer, context_.policy.config());
      if (!left_out.empty() && context_.control.rank() == 0) log_warning(left_out);
      return;
    }
    for (int64_t step = 1; step <= steps(); ++step)
      if (!other_rollouts_.has(name, step))
        throw InputError(concat("replay.rollouts: ", other_rollouts_.folder().string(),
                                " has no rollouts of ", name, " step ", step,
                                " (run.save_rollouts, or replay.only=rollouts, saves them)"));
  }

  void begin() override {
    BICRL_CHECK(context_.verifier || !replay_.verifies(), "stage ", name(), " needs a verifier");
    const bool needs_reference =
        replay_.updates() && settings_.updater.objective.kl_reference == KlReference::kInitial;
    context_.updater.begin_phase(settings_.updater, needs_reference ? &context_.reference() : nullptr);
    curriculum_ = make_curriculum(settings_.curriculum, tasks_);
    const RewardFunction& reward = context_.reward;
    verifier_ = std::make_unique<ResponseVerifier>(
        context_.verifier, context_.ledger,
        ResponseVerifierSettings{
            .source = replay_.verifies()  ? VerdictSource::kVerifier
                      : replay_.updates() ? VerdictSource::kLedger
                                          : VerdictSource::kNone,
            .progress = context_.control.rank() == 0 ? name() + " verdicts" : "",
            .needs_verdict = [&reward](const Rollout& r) { return reward.needs_verdict(r.truncated()); },
            .stop_requested = context_.stop_requested});
    responses_ = std::make_unique<ResponseCollector>(context_.policy, context_.tokenizer, settings_.decoding,
                                                     *verifier_, &context_.curation.quarantine());
    collector_ = std::make_unique<ExperienceCollector>(
        *responses_, context_.ledger, reward, context_.control,
        CollectorSettings{.stage = settings_.stage,
                          .prompt_style = context_.settings.tasks.prompt_style,
                          .scaffold = settings_.decoding.scaffold,
                          .samples_per_task = settings_.samples_per_task,
                          .advantage = settings_.advantage,
                          .shuffled_advantages = settings_.shuffled_advantages,
                          .has_verdicts = replay_.verifies() || replay_.updates()});
  }

  PhaseStep step(int64_t step, int64_t policy_version) override {
    CollectedStep collected = replay_.generates()
                                  ? generate(step, policy_version)
                                  : collector_->collect_saved(saved_rollouts(step), tasks_, step_key(step));
    if (collected.interrupted) throw StepInterrupted(concat(name(), " step ", step, " was interrupted"));
    if (context_.settings.save_rollouts || replay_.parts == RunParts::kRollouts)
      save(step, collected.rollouts);
    curriculum_->observe(collected.task_outcomes);
    require_verdicts(step, collected);
    for (const std::string& left_out : context_.curation.note(collected.group_outcomes))
      if (context_.control.rank() == 0) log_warning(left_out);
    collected.metrics.tasks_at_fault = context_.curation.tasks_at_fault();
    PhaseStep taken;
    taken.meaning = {.verified = replay_.verifies() || replay_.updates(),
                     .reward_rule = context_.reward.rule_name(),
                     .advantage = to_string(settings_.advantage),
                     .clock = context_.reward.uses_times() ? context_.reward.clock() : ""};
    taken.seconds.rollout = collected.rollout_seconds;
    taken.seconds.verify_wait = collected.verify_wait_seconds;
    if (replay_.updates()) {
      const Stopwatch training;
      taken.update = context_.updater.reinforce(collected.experiences, collected.shares);
      taken.seconds.train = training.seconds();
      if (step == steps()) context_.updater.check_replicas();
    }
    taken.responses = std::move(collected.metrics);
    taken.entries = std::move(collected.entries);
    latest_step_ = step;
    latest_ = std::move(collected.rollouts);
    return taken;
  }

  std::string keep_batch() const override try {
    save(latest_step_, latest_);
    return concat("The rollouts of step ", latest_step_, " are kept in ", own_rollouts_.folder().string(),
                  ".");
  } catch (const Error& error) {
    return concat("The rollouts of step ", latest_step_, " could not be kept: ", error.what());
  }

  nlohmann::json state() const override { return {{"curriculum", curriculum_->state()}}; }
  void restore(const nlohmann::json& state) override { curriculum_->restore(state.at("curriculum")); }

 private:
  uint64_t step_key(int64_t step) const { return mix_key({key_, static_cast<uint64_t>(step)}); }

  PromptUse prompt_use() const {
    return {settings_.stage, context_.settings.tasks.prompt_style, settings_.decoding};
  }

  CollectedStep generate(int64_t step, int64_t policy_version) {
    try {
      return collector_->collect(prompted_tasks(step), step_key(step), policy_version);
    } catch (const SharedError& error) {
      // Mostly an update that destroyed the policy and did not show it: what it was made of tells more.
      if (latest_step_ == 0) throw;  // not latest_.empty(): a rank without a share keeps that, too
      throw SharedError(concat(name(), " step ", step, ": ", error.what(), " ", keep_batch()), error.code());
    }
  }

  std::vector<PromptedTask> prompted_tasks(int64_t step) {
    const auto repairs = context_.curation.repairs(static_cast<size_t>(settings_.tasks_per_step),
                                                   settings_.stage, step_key(step));
    // The failed attempt makes a prompt longer.
    const auto can_show = [&](const Task& task, const FailedAttempt& attempt) {
      return fits(make_repair_prompt(task, settings_.stage, context_.settings.tasks.prompt_style,
                                     settings_.decoding.scaffold, attempt),
                  context_.tokenizer, context_.policy.config(), settings_.decoding);
    };
    const auto left_out = [&](const Task& task) { return context_.curation.at_fault(task.id); };
    return plan_prompts(repairs, tasks_, can_show, left_out, *curriculum_);
  }

  void require_verdicts(int64_t step, const CollectedStep& collected) const {
    const double limit = context_.settings.max_unverified_share;
    const std::string problem = unverified_problem(collected.unverified, limit);
    if (problem.empty()) return;
    throw StepAborted(concat(name(), " step ", step, ": ", problem, " (run.max_unverified_share is ", limit,
                             "): ", collected.metrics.infrastructure_reason));
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
    own_rollouts_.write(name(), step, context_.control.rank(), context_.control.size(), rollouts);
  }

  PhaseContext context_;
  const StageSettings& settings_;
  const ReplaySettings& replay_;
  RolloutStore own_rollouts_;
  RolloutStore other_rollouts_;
  uint64_t key_;
  std::vector<Task> tasks_;
  std::unique_ptr<Curriculum> curriculum_;
  std::unique_ptr<ResponseVerifier> verifier_;
  std::unique_ptr<ResponseCollector> responses_;
  std::unique_ptr<ExperienceCollector> collector_;
  int64_t latest_step_ = 0;
  std::vector<SavedRollout> latest_;  // of that step
};

}  // namespace

std::unique_ptr<Phase> make_stage_phase(const PhaseContext& context, const std::string& name,
                                        size_t stage_index) {
  return std::make_unique<StagePhase>(context, name, stage_index);
}

}  // namespace bicrl
