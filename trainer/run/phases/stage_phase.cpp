// A stage of reinforcement: responses to tasks, their verdicts, rewards and advantages, and updates from
// them.
#include <cmath>
#include <set>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/rng.h"
#include "episode/prompt_plan.h"
#include "tasks/curriculum.h"
#include "trainer/experience/experience_collector.h"
#include "trainer/experience/experience_exchange.h"
#include "trainer/experience/imitation.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/experience/steps_ahead.h"
#include "trainer/experience/surplus.h"
#include "trainer/inputs/prompt_filter.h"
#include "trainer/run/phases/phase.h"
#include "trainer/run/reports/kept_batch.h"
#include "trainer/run/reports/sample_gathering.h"
#include "trainer/run/reports/text_archive.h"

namespace bicrl {
namespace {

class StagePhase : public Phase {
 public:
  StagePhase(const RunContext& context, const std::string& name, size_t index)
      : Phase(name, context.settings.stages[index].steps),
        context_(context),
        settings_(context.settings.stages[index]),
        reward_(context.rewards.of_stage(index)),
        replay_(context.settings.replay),
        refill_(context.settings.curation.refill),
        own_rollouts_(context.settings.directory / "rollouts"),
        other_rollouts_(context.settings.replay.rollouts / "rollouts"),
        surplus_(own_rollouts_, name, context.control, context.placement),
        ahead_(context.settings.trainer.max_staleness),
        texts_(context.settings.directory / "texts", context.tokenizer, context.policy.config().block_size,
               context.control.rank()),
        key_(mix_key({mix_key(context.settings.seed, to_string(settings_.stage)), index})),
        tasks_(steps() == 0 ? std::vector<Task>()
                            : context.tasks.usable(settings_.stage, settings_.sources)) {
    if (steps() == 0) return;
    if (replay_.generates()) {
      const std::string left_out = keep_fitting(tasks_, concat("training tasks of stage ", name),
                                                prompt_use(), context_.tokenizer, context_.policy.config());
      if (!left_out.empty() && context_.control.rank() == 0) log_warning(left_out);
      bench_ = bench_programs(context_.settings.bench, tasks_);
      return;
    }
    for (int64_t step = 1; step <= steps(); ++step)
      if (!other_rollouts_.has(name, step))
        throw InputError(concat("replay.rollouts: ", other_rollouts_.folder().string(),
                                " has no rollouts of ", name, " step ", step,
                                " (run.save_rollouts, or replay.only=rollouts, saves them)"));
  }

  std::optional<Stage> stage() const override { return settings_.stage; }
  const RewardFunction* reward() const override { return &reward_; }
  int64_t responses_per_step() const override { return settings_.responses_per_step(); }

  void begin() override {
    BICRL_CHECK(context_.verifier || !replay_.verifies(), "stage ", name(), " needs a verifier");
    const KlReference near = settings_.updater.surrogate.kl_reference;
    const bool has_copy = replay_.updates() && is_frozen_copy(near);
    if (context_.updater) {
      context_.updater->begin_phase(settings_.updater, has_copy ? &context_.reference(near) : nullptr);
      take_known();
    }
    curriculum_ = make_curriculum(settings_.curriculum, tasks_, mix_key(key_, "curriculum"), asked_before());
    verifier_ = std::make_unique<EpisodeVerifier>(
        context_.verifier, context_.ledger,
        VerificationSettings{
            .source = replay_.verifies()  ? VerdictSource::kVerifier
                      : replay_.updates() ? VerdictSource::kStore
                                          : VerdictSource::kNone,
            .progress =
                context_.control.rank() == context_.placement.generator_of(0) ? name() + " verdicts" : "",
            .needs_verdict = [this](const Episode& e) { return reward_.needs_verdict(e.is_truncated()); },
            .stop_requested = context_.stop_requested,
            .straggler_deadline_s = replay_.updates() ? context_.settings.straggler_deadline_s : 0,
            .quarantine = &context_.curation.quarantine()});
    responses_ = std::make_unique<ResponseCollector>(context_.engine, settings_.decoding, *verifier_,
                                                     bench_.get(), &times_);
    collector_ = std::make_unique<ExperienceCollector>(
        *responses_, context_.ledger, reward_, context_.control, context_.placement,
        CollectorSettings{.prompt_style = context_.settings.tasks.prompt_style,
                          .scaffold = settings_.decoding.scaffold,
                          .samples_per_task = settings_.samples_per_task,
                          .scoring = {.stage = settings_.stage,
                                      .advantage = settings_.advantage,
                                      .has_verdicts = replay_.verifies() || replay_.updates(),
                                      .imitates = settings_.imitation.updates > 0}});
  }

  PhaseStep step(int64_t step, int64_t policy_version) override {
    const bool has_saved = !ahead_.empty();
    CollectedStep collected = collect(step, policy_version);
    if (collected.interrupted) throw StepInterrupted(concat(name(), " step ", step, " was interrupted"));
    if (!has_saved && (context_.settings.save_rollouts || replay_.parts == RunParts::kRollouts))
      save(step, collected.generated);
    if (context_.settings.keep_all_texts) texts_.write(name(), step, collected.generated);
    curriculum_->observe(collected.task_outcomes);
    require_verdicts(step, collected);
    keep_masked(step, collected);
    for (const std::string& left_out : context_.curation.note(collected.group_outcomes))
      if (context_.control.rank() == 0) log_warning(left_out);
    collected.figures.sums[Sum::kInvalidTasks] = static_cast<double>(context_.curation.invalid_tasks());
    if (refill_.is_enabled() && replay_.updates()) settle_surplus(step, policy_version, collected);
    PhaseStep taken;
    taken.update = UpdateTotals(settings_.updater.objective->figures());
    taken.meaning = {.verified = replay_.verifies() || replay_.updates(),
                     .reward_rule = reward_.rule_name(),
                     .advantage = settings_.advantage,
                     .clock = context_.rewards.clock()};
    taken.seconds.rollout = collected.rollout_seconds;
    taken.seconds.verify_wait = collected.verify_wait_seconds;
    taken.seconds.exchange = collected.exchange_seconds;
    taken.verifier_queue = collected.verifier_queue;
    taken.generation.times = std::exchange(times_, {});
    for (const Episode& episode : collected.generated)
      taken.generation.responses.push_back({episode.key.group, episode.last().rollout.denoise_steps});
    // Planned from what this step's verdicts say, and of the policy that this step begins with.
    const std::vector<PlannedStep> next =
        context_.placement.is_split() ? plan_ahead(step) : std::vector<PlannedStep>();
    if (replay_.updates() && context_.updater) {
      const Stopwatch training;
      taken.update = context_.updater->reinforce(collected.experiences, collected.shares, imitated(step),
                                                 step_scale(collected));
      taken.seconds.train = training.seconds();
      if (step == steps()) context_.updater->check_replicas();
    }
    for (const PlannedStep& planned : next) generate_ahead(planned, policy_version);
    taken.responses = std::move(collected.figures);
    taken.episodes = std::move(collected.log);
    taken.tokens = gather_samples(collected.generated,
                                  {.most = context_.settings.samples_per_step,
                                   .tokenizer = context_.tokenizer,
                                   .block_tokens = context_.policy.config().block_size},
                                  context_.control, taken.episodes);
    latest_step_ = step;
    latest_ = std::move(collected.generated);
    return taken;
  }

  std::string keep_batch() override try {
    save(latest_step_, latest_);
    own_rollouts_.keep(name(), latest_step_);
    std::string kept =
        concat("The rollouts of step ", latest_step_, " are kept in ", own_rollouts_.folder().string());
    if (const int64_t before = surplus_.keep_taken(); before > 0)
      kept += concat(", with the surplus of step ", before, " that its update took");
    if (!context_.updater || settings_.imitation.updates == 0) return kept + ".";
    std::vector<SftSample> samples;
    for (const SupervisedBatch& batch : imitated(latest_step_))
      samples.insert(samples.end(), batch.mine.begin(), batch.mine.end());
    const auto folder =
        keep_samples(context_.settings.directory, name(), latest_step_, context_.control.rank(), samples);
    return concat(kept, ", what it imitated in ", folder.string(), ".");
  } catch (const Error& error) {
    return concat("The rollouts of step ", latest_step_, " could not be kept: ", error.what());
  }

  nlohmann::json state() const override {
    nlohmann::json state = {{"curriculum", curriculum_->state()}};
    if (!ahead_.empty()) state["ahead"] = ahead_.state();
    if (surplus_.groups() > 0) state["surplus"] = surplus_.state();
    return state;
  }
  void restore(const nlohmann::json& state) override {
    try {
      curriculum_->restore(state.at("curriculum"));
      // Only with it: what was generated ahead answers tasks that another curriculum may not have.
      if (const auto ahead = state.find("ahead"); ahead != state.end()) ahead_.restore(*ahead);
    } catch (const OtherCurriculum& other) {
      if (!context_.changes_allowed) throw;
      if (context_.control.rank() == 0)
        log_warning("the curriculum of stage ", name(), " begins anew: ", other.what());
    }
    const auto surplus = state.find("surplus");
    if (refill_.is_enabled() && surplus != state.end()) surplus_.restore(*surplus);
  }
  void keep_for_checkpoints(const std::set<int64_t>& steps) override {
    surplus_.keep_for_checkpoints(steps);
    if (context_.settings.save_rollouts) return;
    for (const int64_t step : ahead_.unneeded(steps))
      if (!own_rollouts_.is_kept(name(), step)) own_rollouts_.remove(name(), step);
  }

 private:
  // Tasks that the stages of this kind before this one ask in order, of the same files.
  size_t asked_before() const {
    int64_t tasks = 0;
    for (const StageSettings& stage : context_.settings.stages) {
      if (&stage == &settings_) break;
      if (stage.stage == settings_.stage && stage.sources == settings_.sources &&
          stage.curriculum.kind == CurriculumKind::kSequential)
        tasks += stage.steps * stage.tasks_per_step;
    }
    return static_cast<size_t>(tasks);
  }

  StepPlace place(int64_t step) const { return {.phase = name(), .step = step}; }
  uint64_t step_key(int64_t step) const { return mix_key({key_, static_cast<uint64_t>(step)}); }

  PromptUse prompt_use() const {
    return {settings_.stage, context_.settings.tasks.prompt_style, settings_.decoding};
  }

  CollectedStep collect(int64_t step, int64_t policy_version) {
    if (!ahead_.empty()) return take_ahead();
    if (!replay_.generates())
      return collector_->collect_saved(saved_rollouts(step), tasks_, step_key(step), place(step));
    context_.bring_weights();
    SharedStep shared;
    while (const int64_t count = next_round(refill_, settings_.tasks_per_step, shared.groups(),
                                            surplus_.groups() + shared.informative_groups())) {
      const int64_t first = shared.groups();
      share(step,
            collector_->generate(prompted_tasks(step, first, count), step_key(step), policy_version,
                                 place(step), first),
            shared);
      if (shared.is_interrupted() || !verdicts_missing(shared.unverified()).empty()) break;
    }
    if (context_.updater) context_.engine.release_memory();  // the update has use for it
    const int64_t rounds = shared.rounds;
    CollectedStep collected = collector_->finish(std::move(shared));
    require_versions(collected.experiences, policy_version, policy_version);
    if (refill_.is_enabled()) collected.figures.sums[Sum::kRefillRounds] = static_cast<double>(rounds);
    return collected;
  }

  // Collective. The surplus of the step before is of the version that this one began with.
  void settle_surplus(int64_t step, int64_t policy_version, CollectedStep& collected) {
    const int64_t oldest = surplus_.groups() > 0 ? surplus_.policy_version() : policy_version;
    surplus_.settle(refill_, collected, step, policy_version, step == steps());
    if (replay_.generates()) require_versions(collected.experiences, oldest, policy_version);
  }

  void share(int64_t step, GeneratedStep generated, SharedStep& shared) {
    try {
      collector_->share(std::move(generated), shared);
    } catch (const SharedError& error) {
      // Mostly an update that destroyed the policy and did not show it: its inputs say more.
      if (latest_step_ == 0) throw;  // not latest_.empty(): a rank without a share keeps that, too
      throw SharedError(concat(name(), " step ", step, ": ", error.what(), " ", keep_batch()), error.code());
    }
  }

  void take_known() {  // of trainers
    if (settings_.imitation.known_share == 0) return;
    known_ = KnownSamples(context_.tasks.train, settings_.imitation.known, settings_.stage,
                          context_.settings.tasks.prompt_style, settings_.decoding.scaffold,
                          context_.tokenizer, context_.policy.config());
    if (context_.control.rank() != 0) return;
    if (known_.empty())
      log_warning(name(), ": no training task has a known program that fits, so none is imitated");
    else if (known_.left_out() > 0)
      log_warning(name(), ": ", known_.left_out(), " known programs are too long to be imitated");
  }

  std::vector<SupervisedBatch> imitated(int64_t step) const {
    return imitated_batches(context_.curation.best(), known_, settings_.stage, settings_.imitation,
                            context_.policy.config(), context_.placement, context_.control.rank(),
                            mix_key(step_key(step), "imitation"));
  }

  // Of the update that `collected` makes.
  double step_scale(const CollectedStep& collected) const {
    if (!settings_.updater.scales_steps) return 1;
    const StepSums& sums = collected.figures.sums;
    return informative_share(refill_,
                             std::ssize(collected.informative) + std::llround(sums[Sum::kSurplusTaken]),
                             std::llround(sums[Sum::kGroups]));
  }

  // ---- trainer.max_staleness (trainer/experience/steps_ahead.h).
  struct PlannedStep {
    int64_t step = 0;
    std::vector<PromptedTask> prompts;
  };

  // Collective, before the update that they are to overlap.
  std::vector<PlannedStep> plan_ahead(int64_t step) {
    std::vector<PlannedStep> planned;
    const std::vector<int64_t> due = ahead_.due(step, steps());
    if (!due.empty()) context_.bring_weights();
    for (const int64_t next : due)
      planned.push_back({next, prompted_tasks(next, 0, settings_.tasks_per_step)});
    return planned;
  }

  // Collective, beside and after that update: trainers have nothing to generate and come from it.
  void generate_ahead(const PlannedStep& planned, int64_t policy_version) {
    const int64_t step = planned.step;
    GeneratedStep generated =
        collector_->generate(planned.prompts, step_key(step), policy_version, place(step));
    // The weights that made them are gone when the run goes on.
    if (generated.error.empty())
      generated.error = error_of([&] { save(step, generated.collected.episodes); });
    SharedStep shared;
    share(step, std::move(generated), shared);
    ahead_.add(step, policy_version, collector_->finish(std::move(shared)));
  }

  CollectedStep take_ahead() {
    const int64_t version = ahead_.next_version();
    CollectedStep collected = ahead_.take([&](const GeneratedAhead& ahead) {
      return collector_->collect_saved(own_rollouts_.read(name(), ahead.step), tasks_, step_key(ahead.step),
                                       place(ahead.step), ahead.verdict_keys);
    });
    require_versions(collected.experiences, version, version);
    return collected;
  }

  // Of the step's groups [first, first + count).
  std::vector<PromptedTask> prompted_tasks(int64_t step, int64_t first, int64_t count) {
    auto repairs =
        context_.curation.repairs(static_cast<size_t>(first + count), settings_.stage, step_key(step));
    repairs.erase(repairs.begin(), repairs.begin() + first);
    // The failed attempt makes a prompt longer.
    const auto can_show = [&](const Task& task, const FailedAttempt& attempt) {
      return fits(make_repair_prompt(task, settings_.stage, context_.settings.tasks.prompt_style,
                                     settings_.decoding.scaffold, attempt),
                  context_.tokenizer, context_.policy.config(), settings_.decoding);
    };
    const auto left_out = [&](const Task& task) { return context_.curation.is_invalid(task.id); };
    return plan_prompts(repairs, tasks_, can_show, left_out, *curriculum_);
  }

  // Why the run should not go on with these responses, or empty.
  std::string verdicts_missing(const std::vector<UnverifiedCount>& ranks) const {
    return unverified_problem(ranks, context_.settings.max_unverified_share);
  }
  void require_verdicts(int64_t step, const CollectedStep& collected) const {
    const std::string problem = verdicts_missing(collected.unverified);
    if (problem.empty()) return;
    throw StepAborted(concat(name(), " step ", step, ": ", problem, " (run.max_unverified_share is ",
                             context_.settings.max_unverified_share,
                             "): ", collected.figures.infrastructure_reason));
  }

  // Collective if responses of any rank are left without a verdict. Every rank writes to the disk: if the
  // step is repeated, those that have their verdicts have to meet them again.
  void keep_masked(int64_t step, const CollectedStep& collected) const {
    if (collected.figures.sums[Sum::kLost] == 0) return;
    on_all_ranks(context_.control, [&] {
      context_.ledger->keep_masked(masked_set(place(step), collected.generated));
      context_.ledger->sync();
    });
  }

  std::vector<Episode> saved_rollouts(int64_t step) const {
    return other_rollouts_.read(name(), step,
                                {.vocabulary = context_.policy.config().vocab_size,
                                 .tasks_per_step = settings_.tasks_per_step,
                                 .most_groups = refill_.is_enabled() ? refill_.at_most : 0});
  }

  void save(int64_t step, const std::vector<Episode>& episodes) const {
    own_rollouts_.write(name(), step, context_.control.rank(), context_.control.size(), episodes);
  }

  const RunContext& context_;
  const StageSettings& settings_;
  const RewardFunction& reward_;
  const ReplaySettings& replay_;
  const RefillSettings& refill_;
  RolloutStore own_rollouts_;
  RolloutStore other_rollouts_;
  Surplus surplus_;   // of the step before
  StepsAhead ahead_;  // steps to come
  TextArchive texts_;
  uint64_t key_;
  std::vector<Task> tasks_;
  std::unique_ptr<const BenchPrograms> bench_;
  ForwardTimes times_;  // of this rank's engine, in the step at hand
  KnownSamples known_;  // that are imitated
  std::unique_ptr<Curriculum> curriculum_;
  std::unique_ptr<EpisodeVerifier> verifier_;
  std::unique_ptr<ResponseCollector> responses_;
  std::unique_ptr<ExperienceCollector> collector_;
  int64_t latest_step_ = 0;
  std::vector<Episode> latest_;  // of that step, generated by this rank
};

}  // namespace

std::unique_ptr<Phase> make_stage_phase(const RunContext& context, const std::string& name,
                                        size_t stage_index) {
  return std::make_unique<StagePhase>(context, name, stage_index);
}

}  // namespace bicrl
