#include "trainer/run/run_settings.h"

#include <algorithm>

#include "trainer/inputs/existing_path.h"
#include "trainer/inputs/task_files.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMany = 1'000'000'000;
constexpr double kDay_s = 86400;

WarmUpSettings warm_up_from(const ConfigSection& section, const fs::path& config_folder, uint64_t seed) {
  WarmUpSettings warm_up;
  section.prefer_overridden({"steps", "epochs"});
  if (section.has("steps") && section.has("epochs"))
    section.reject("epochs", "a warm-up has either `steps` or `epochs`, from which its steps follow");
  if (section.has("epochs")) {
    warm_up.length_key = "epochs";
    warm_up.epochs = section.integer("epochs", 0, 0, kMany);
  } else {
    warm_up.steps = section.integer("steps", 0, 0, kMany);
  }
  warm_up.samples_per_step = section.integer("samples_per_step", 32, 1, kMany);
  const ConfigSection pairs = section.section("pairs");
  warm_up.pairs = PairSettings::from_config(pairs, config_folder);
  if (warm_up.pairs.sources.empty()) {
    if (warm_up.epochs > 0)
      section.reject("epochs", "needs 'pairs.sources': known programs are drawn at random, by `steps`");
    warm_up.infilling_share = section.real("infilling_share", 0.5, 0, 1);
    warm_up.programs = parse_known_programs(section.choice("programs", "first", known_programs_names()));
  } else {
    for (const char* key : {"infilling_share", "programs"})
      section.refuse_without_effect(key, "with 'sources', which are trained on alone", pairs);
  }
  warm_up.updater = UpdaterSettings::supervised(section.section("update"), warm_up.steps, seed);
  return warm_up;
}

// Files are named as in `tasks.train`, or by their names without folder and ending.
std::vector<std::string> sources_from(const ConfigSection& section, const ConfigSection& tasks_section,
                                      const TaskSource& tasks, const fs::path& config_folder) {
  if (tasks.synthetic) {
    section.refuse_without_effect("tasks", "with synthetic tasks, which are of no file", tasks_section);
    return {};
  }
  const std::vector<std::string> names = task_file_names(tasks.train_files);
  std::vector<std::string> sources;
  for (const std::string& text : section.texts("tasks")) {
    const auto is_meant = [&](size_t i) {
      return names[i] == text || tasks.train_files[i] == existing_or_given(text, config_folder);
    };
    size_t found = 0;
    while (found < names.size() && !is_meant(found)) ++found;
    if (found == names.size()) {
      std::string known;
      for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
      section.reject("tasks", concat("'", text, "' is none of the files of tasks.train (", known, ")"));
    }
    if (std::ranges::find(sources, names[found]) != sources.end())
      section.reject("tasks", concat("names '", text, "' twice"));
    sources.push_back(names[found]);
  }
  return sources;
}

StageSettings stage_from(const ConfigSection& section, const ConfigSection& shared_decoding, uint64_t seed) {
  const std::string name = section.choice("stage", "infilling", {"infilling", "end_to_end"});
  // A stage's own `rollout` section replaces the common one as a whole.
  const ConfigSection decoding = section.has("rollout") ? section.section("rollout") : shared_decoding;
  StageSettings stage;
  stage.curriculum = CurriculumSettings::from_config(section.section("curriculum"));
  stage.stage = parse_stage(name);
  stage.steps = section.integer("steps", 0, 0, kMany);
  stage.tasks_per_step = section.integer("tasks_per_step", 32, 1, kMany);
  stage.samples_per_task = section.integer("samples_per_task", 8, 2, kMany);
  stage.advantage = AdvantageSettings::from_config(section, stage.samples_per_task);
  stage.decoding = DecodingSettings::from_config(decoding);
  if (stage.decoding.sampling.temperature == 0)
    decoding.reject("temperature", "a stage samples; greedy responses of a group would all be equal");
  stage.imitation = ImitationSettings::from_config(section.section("imitation"));
  stage.updater = UpdaterSettings::reinforced(section.section("update"), stage.decoding.sampling.temperature,
                                              stage.steps, stage.responses_per_step(), seed,
                                              stage.imitation.updates, stage.imitation.sft);
  if (stage.updater.surrogate.kl_weight > 0)
    stage.advantage.keeps_equal = section.choice("zero_variance", "drop", {"drop", "keep"}) == "keep";
  else
    section.refuse_without_effect("zero_variance", "with 'update.kl_weight: 0': no divergence holds them",
                                  section.section("update"));
  stage.decoding.recorded = stage.updater.objective->recorded_candidates();
  if (stage.decoding.recorded == CandidateTerms::kRejected && stage.decoding.sampling.reference_confidence)
    section.section("update").reject("objective",
                                     "compares confidences before 'top_k' and 'top_p', and "
                                     "'reference_confidence' takes them after these: use 'objective: draws'");
  return stage;
}

BestOfSettings best_of_from(const ConfigSection& section, const DecodingSettings& greedy, int64_t evaluated,
                            double temperature) {
  BestOfSettings best;
  const int64_t asked = section.integer("tasks", 0, 0, kMany);
  if (asked == 0) {
    for (const char* key : {"samples", "temperature", "after_warm_up"})
      section.refuse_without_effect(key, "with 'tasks: 0'");
    return best;
  }
  best.tasks = std::min(asked, evaluated);
  best.samples = section.integer("samples", best.samples, 2, 1'000'000);
  best.after_warm_up = section.boolean("after_warm_up", false);
  best.decoding = greedy;
  best.decoding.sampling.temperature = section.real("temperature", temperature, 0, 100);
  if (best.decoding.sampling.temperature == 0)
    section.reject("temperature", "must be above 0: greedy responses to a task are all equal");
  return best;
}

EvaluationSettings evaluation_from(const ConfigSection& root, const DecodingSettings& sampling, bool infills,
                                   const WarmUpSettings& warm_up) {
  const ConfigSection section = root.section("evaluation");
  EvaluationSettings evaluation;
  evaluation.tasks = section.integer("tasks", 256, 0, kMany);
  if (infills && evaluation.tasks > 0)
    evaluation.infilling_tasks =
        std::min(evaluation.tasks, section.integer("infilling_tasks", evaluation.tasks, 0, kMany));
  else if (infills)
    section.refuse_without_effect("infilling_tasks", "with 'tasks: 0'");
  else
    section.refuse_without_effect("infilling_tasks", "without an infilling stage", root);
  if (evaluation.tasks > 0 || section.has("every_steps"))
    evaluation.every_steps = section.integer("every_steps", 0, 0, kMany);
  if (warm_up.epochs == 0)
    section.refuse_without_effect(
        "every_epochs",
        warm_up.length_key == "epochs" ? "with 'warm_up.epochs: 0'" : "without 'warm_up.epochs'",
        root.section("warm_up"));
  else if (evaluation.tasks > 0 || section.has("every_epochs"))
    evaluation.every_epochs = section.integer("every_epochs", 0, 0, kMany);
  if (evaluation.tasks > 0 || section.has("phases"))
    evaluation.last_phase_alone = section.choice("phases", "all", {"all", "last"}) == "last";
  evaluation.decoding = sampling;
  if (evaluation.tasks > 0 || section.has("max_new_tokens"))
    evaluation.decoding.max_new_tokens = section.integer("max_new_tokens", sampling.max_new_tokens, 1, kMany);
  evaluation.decoding.sampling.temperature = 0;
  evaluation.best_of = best_of_from(section.section("best_of"), evaluation.decoding, evaluation.tasks,
                                    sampling.sampling.temperature);
  if (evaluation.best_of.after_warm_up && evaluation.last_phase_alone)
    section.reject("phases", "must be 'all' with 'best_of.after_warm_up: true'");
  return evaluation;
}

}  // namespace

namespace {

// Of the first phase that takes a step; null if none does.
const UpdaterSettings* first_updater(const RunSettings& settings) {
  if (settings.warm_up.is_enabled()) return &settings.warm_up.updater;
  for (const StageSettings& stage : settings.stages)
    if (stage.steps > 0) return &stage.updater;
  return nullptr;
}

// Updates that take responses of an earlier version of the policy.
void check_older_responses(const ConfigSection& root, const RunSettings& settings) {
  const bool all_can = std::ranges::all_of(settings.stages, [](const StageSettings& stage) {
    return stage.updater.objective->has_sampler_contexts();
  });
  const std::string needed =
      "needs stages whose objectives score tokens in the sampler's contexts ('objective: trace' with "
      "'shrink: 1', 'exact' or 'draws'): importance weights are against log-probabilities of the policy "
      "that generated, which other objectives take from the present one";
  if (settings.trainer.max_staleness > 0 && !all_can)
    root.section("trainer").reject("max_staleness", concat("above 0 ", needed));
  const RefillSettings& refill = settings.curation.refill;
  if (!refill.is_enabled()) return;
  const ConfigSection section = root.section("curation").section("refill");
  if (!all_can) section.reject("informative_groups", needed + ", and a surplus is one step old");
  if (settings.trainer.max_staleness > 0)
    section.reject("informative_groups",
                   "cannot be used with 'trainer.max_staleness': the surplus of a step that is generated "
                   "ahead would be older where it is used");
  if (settings.replay.parts == RunParts::kRollouts)
    section.reject("informative_groups",
                   "cannot be used with 'replay.only: rollouts': without verdicts no group is informative");
  for (size_t i = 0; i < settings.stages.size(); ++i)
    if (settings.stages[i].steps > 0)
      refill.check_round(section, concat("stages.", i), settings.stages[i].tasks_per_step);
}

// Whether updates of responses of their own step meet another policy than the one that the divergence is
// measured to.
bool leaves_reference(const StageSettings& stage, const RunSettings& settings) {
  return is_frozen_copy(stage.updater.surrogate.kl_reference) ||
         stage.updater.updates_per_step - stage.imitation.updates > 1 || settings.trainer.max_staleness > 0;
}

void check_kept_groups(const ConfigSection& root, const RunSettings& settings) {
  for (size_t i = 0; i < settings.stages.size(); ++i)
    if (settings.stages[i].advantage.keeps_equal && !leaves_reference(settings.stages[i], settings))
      root.sections("stages")[i].reject(
          "zero_variance",
          "'keep' has no effect: with one update a step the policy still is the behaviour policy, where the "
          "gradient of the divergence is zero; 'update.kl_reference: initial' or 'stage', or several updates "
          "a step, make it act");
}

TaskUse use_of_tasks(const RunSettings& settings) {
  bool clamped = settings.warm_up.is_enabled() && settings.warm_up.pairs.sources.empty() &&
                 infilling_scaffold(settings) == Scaffold::kClamp;
  for (const StageSettings& stage : settings.stages)
    clamped |= stage.stage == Stage::kInfilling && stage.decoding.scaffold == Scaffold::kClamp;
  return clamped ? TaskUse::kClampedInfilling : TaskUse::kAny;
}

void read_run(const ConfigSection& run, RunSettings& settings) {
  settings.directory = run.required_text("directory");
  settings.seed = static_cast<uint64_t>(run.integer("seed", 1, 0));
  settings.threads_per_rank = run.integer("threads_per_rank", 1, 1, 1024);
  settings.checkpoint_every_s = run.real("checkpoint_every_s", 60, 0);
  settings.checkpoint_in_background = run.boolean("checkpoint_in_background", true);
  settings.keep_checkpoints = run.integer("keep_checkpoints", 2, 1);
  settings.samples_per_step = run.integer("samples_per_step", 2, 0);
  settings.save_rollouts = run.boolean("save_rollouts", false);
  settings.keep_all_texts = run.choice("keep_texts", "sampled", {"sampled", "all"}) == "all";
  settings.max_skipped_updates = run.integer("max_skipped_updates", 10, 0);
  settings.max_loss = run.real("max_loss", 1000, 0);
  settings.max_unverified_share = run.real("max_unverified_share", 0.5, 0, 1);
  settings.straggler_deadline_s = run.real("straggler_deadline_s", 0, 0, kDay_s);
}

void read_stages(const ConfigSection& root, const fs::path& config_folder, RunSettings& settings) {
  for (const ConfigSection& section : root.sections("stages")) {
    StageSettings stage = stage_from(section, root.section("rollout"), settings.seed);
    stage.sources = sources_from(section, root.section("tasks"), settings.tasks, config_folder);
    if (section.has("reward"))
      stage.reward_file = existing_path(section, "reward", section.required_text("reward"), config_folder);
    settings.stages.push_back(std::move(stage));
  }
}

// The schedules of stages whose steps go on until enough groups have variance.
void expect_refilled_groups(RunSettings& settings) {
  const RefillSettings& refill = settings.curation.refill;
  if (!refill.is_enabled()) return;
  for (StageSettings& stage : settings.stages) {
    // Kept groups of all that were asked, beside a surplus of the step before.
    const int64_t groups = stage.advantage.keeps_equal ? refill.at_most + refill.informative_groups - 1
                                                       : refill.informative_groups;
    stage.updater.expect_responses(groups * stage.samples_per_task, stage.steps, stage.imitation.updates);
  }
}

void read_split(const ConfigSection& root, RunSettings& settings) {
  if (settings.tasks.synthetic)
    settings.tasks.split = split_from(root.section("evaluation"), *settings.tasks.synthetic,
                                      {SyntheticSplit::kDevelopment, SyntheticSplit::kTest});
  else
    root.section("evaluation")
        .refuse_without_effect("split", "with tasks from files, which name what they hold out",
                               root.section("tasks"));
}

void read_reward(const ConfigSection& root, const fs::path& config_folder, RunSettings& settings) {
  const bool have_own =
      !settings.stages.empty() && std::ranges::none_of(settings.stages, [](const StageSettings& stage) {
        return stage.reward_file.empty();
      });
  if (have_own)
    root.refuse_without_effect("reward", "where every stage has its own");
  else if (!settings.stages.empty() || root.has("reward"))
    settings.reward_file = existing_path(root, "reward", root.required_text("reward"), config_folder);
}

void read_replay_and_bench(const ConfigSection& root, const fs::path& config_folder, RunSettings& settings) {
  settings.replay = ReplaySettings::from_config(root.section("replay"), config_folder);
  settings.bench = BenchSettings::from_config(root.section("bench"), config_folder);
  const bool is_replay = settings.replay.parts != RunParts::kWhole;
  if (settings.bench.is_enabled() && is_replay)
    root.section("bench").reject("programs", "has no effect in a replay");
  if (settings.bench.is_enabled())
    for (StageSettings& stage : settings.stages) stage.decoding.drawn = settings.bench.drawn;
  if (settings.trainer.generator_ranks > 0 && is_replay)
    root.section("trainer").reject("placement",
                                   "'split' is for runs that generate and train, and a replay "
                                   "does one of the two");
}

}  // namespace

void WarmUpSettings::expect_pairs(int64_t pairs) {
  if (epochs == 0) return;
  epoch = {.pairs = pairs, .samples_per_step = samples_per_step};
  steps = epochs * epoch.steps_per_epoch();
  updater.learning_rate.total_updates = steps;
}

Scaffold infilling_scaffold(const RunSettings& settings) {
  for (const StageSettings& stage : settings.stages)
    if (stage.stage == Stage::kInfilling) return stage.decoding.scaffold;
  return settings.evaluation.decoding.scaffold;
}

RunSettings RunSettings::from_config(const ConfigSection& root, const fs::path& config_folder) {
  RunSettings settings;
  read_run(root.section("run"), settings);
  settings.policy = PolicySource::from_config(root.section("policy"), config_folder);
  const bool has_pairs = root.section("warm_up").section("pairs").has("sources");
  settings.tasks = TaskSource::from_config(root.section("tasks"), config_folder,
                                           /*needs_training=*/!has_pairs || !root.sections("stages").empty());
  settings.warm_up = warm_up_from(root.section("warm_up"), config_folder, settings.seed);
  const DecodingSettings decoding = DecodingSettings::from_config(root.section("rollout"));
  read_stages(root, config_folder, settings);
  settings.best_metric =
      best_metric_from(root.section("run").section("keep_best"), !settings.stages.empty(), root);
  settings.trainer = TrainerSettings::from_config(root.section("trainer"));
  settings.curation = CurationSettings::from_config(root.section("curation"));
  expect_refilled_groups(settings);
  const bool infills = std::ranges::any_of(settings.stages, [](const StageSettings& stage) {
    return stage.stage == Stage::kInfilling && stage.steps > 0;
  });
  settings.evaluation = evaluation_from(root, decoding, infills, settings.warm_up);
  settings.tasks.use = use_of_tasks(settings);
  read_split(root, settings);
  read_reward(root, config_folder, settings);
  read_replay_and_bench(root, config_folder, settings);
  check_older_responses(root, settings);
  check_kept_groups(root, settings);
  settings.verifier = VerifierClientOptions::from_config(root.section("verifier"));
  if (settings.policy.moments && first_updater(settings) &&
      first_updater(settings)->optimizer.moments == MomentsAtStart::kReset)
    root.section("policy").reject("moments", "has no effect: the first phase has 'optimizer.moments: reset'");
  return settings;
}

std::vector<std::string> settings_without_effect(const RunSettings& settings) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < settings.stages.size(); ++i) {
    const UpdaterSettings& update = settings.stages[i].updater;
    if (update.surrogate.kl_weight > 0 && !leaves_reference(settings.stages[i], settings) &&
        !settings.curation.refill.is_enabled())
      notes.push_back(concat(
          "stages.", i,
          ".update.kl_weight has no effect: with one update a step the policy still is the "
          "behaviour policy, where the gradient of the divergence is zero; kl_reference=initial or stage, "
          "or several updates a step (responses_per_update, epochs), make it act"));
  }
  if (!settings.warm_up.is_enabled() && !settings.warm_up.pairs.sources.empty())
    notes.push_back(
        concat("warm_up.pairs has no effect with 'warm_up.", settings.warm_up.length_key, ": 0'"));
  if (settings.trainer.generator_ranks > 0 && settings.stages.empty())
    notes.push_back(concat("trainer.placement: split leaves ", settings.trainer.generator_ranks,
                           " ranks idle in the warm-up, and there is no stage"));
  if (settings.trainer.chooses_placement && settings.trainer.max_staleness == 0)
    notes.push_back(
        "trainer.placement: auto is colocated with 'max_staleness: 0', where ranks that generate and ranks "
        "that train would take turns");
  if (settings.trainer.deterministic && settings.policy.device == "cpu")
    notes.push_back("trainer.deterministic has no effect with 'policy.device: cpu', where every run repeats");
  if (settings.straggler_deadline_s > 0 && !(settings.replay.verifies() && settings.replay.updates()))
    notes.push_back("run.straggler_deadline_s has no effect: no update waits for verdicts in this replay");
  const QuarantineSettings &quarantine = settings.curation.quarantine, usual;
  if (!quarantine.enabled && (quarantine.first_success || quarantine.speedup_above != usual.speedup_above))
    notes.push_back(
        "curation.quarantine: first_success and speedup_above have no effect with 'enabled: false'");
  return notes;
}

}  // namespace bicrl
