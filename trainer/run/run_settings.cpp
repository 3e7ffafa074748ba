#include "trainer/run/run_settings.h"

#include <algorithm>

#include "policy/policy_config.h"
#include "trainer/inputs/existing_path.h"
#include "trainer/update/training_memory.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMany = 1'000'000'000;

WarmUpSettings warm_up_from(const ConfigSection& section, uint64_t seed) {
  WarmUpSettings warm_up;
  warm_up.steps = section.integer("steps", 0, 0, kMany);
  warm_up.samples_per_step = section.integer("samples_per_step", 32, 1, kMany);
  warm_up.infilling_share = section.real("infilling_share", 0.5, 0, 1);
  warm_up.updater = UpdaterSettings::supervised(section.section("update"), warm_up.steps, seed);
  return warm_up;
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
  stage.advantage =
      parse_advantage_kind(section.choice("advantage", "zscore", {"zscore", "mean_only", "leave_one_out"}));
  stage.shuffled_advantages = section.boolean("shuffled_advantages", false);
  stage.decoding = DecodingSettings::from_config(decoding);
  if (stage.decoding.sampling.temperature == 0)
    decoding.reject("temperature", "a stage samples; greedy responses of a group would all be equal");
  stage.updater = UpdaterSettings::reinforced(section.section("update"), stage.decoding.sampling.temperature,
                                              stage.steps, stage.responses_per_step(), seed);
  return stage;
}

EvaluationSettings evaluation_from(const ConfigSection& section, const DecodingSettings& sampling) {
  EvaluationSettings evaluation;
  evaluation.tasks = section.integer("tasks", 256, 0, kMany);
  if (evaluation.tasks > 0 || section.has("every_steps"))
    evaluation.every_steps = section.integer("every_steps", 0, 0, kMany);
  evaluation.decoding = sampling;
  if (evaluation.tasks > 0 || section.has("max_new_tokens"))
    evaluation.decoding.max_new_tokens = section.integer("max_new_tokens", sampling.max_new_tokens, 1, kMany);
  evaluation.decoding.sampling.temperature = 0;
  return evaluation;
}

}  // namespace

namespace {

// Of the first phase that takes a step; null if none does.
const UpdaterSettings* first_updater(const RunSettings& settings) {
  if (settings.warm_up.steps > 0) return &settings.warm_up.updater;
  for (const StageSettings& stage : settings.stages)
    if (stage.steps > 0) return &stage.updater;
  return nullptr;
}

}  // namespace

TrainerSettings TrainerSettings::from_config(const ConfigSection& section) {
  TrainerSettings settings;
  settings.sharding.stage = section.integer("sharding_stage", 0, 0, 3);
  const std::string recompute = section.choice("recompute", "none", {"none", "selective", "full"});
  settings.recompute = recompute == "full"        ? Recompute::kFull
                       : recompute == "selective" ? Recompute::kSelective
                                                  : Recompute::kNone;
  settings.wait_limit_s = section.real("wait_limit_s", settings.wait_limit_s, 1);
  return settings;
}

RunSettings RunSettings::from_config(const ConfigSection& root, const fs::path& config_folder) {
  RunSettings settings;
  const ConfigSection run = root.section("run");
  settings.directory = run.required_text("directory");
  settings.seed = static_cast<uint64_t>(run.integer("seed", 1, 0));
  settings.threads_per_rank = run.integer("threads_per_rank", 1, 1, 1024);
  settings.checkpoint_every_s = run.real("checkpoint_every_s", 60, 0);
  settings.keep_checkpoints = run.integer("keep_checkpoints", 2, 1);
  settings.keep_best = run.boolean("keep_best", true);
  settings.samples_per_step = run.integer("samples_per_step", 2, 0);
  settings.save_rollouts = run.boolean("save_rollouts", false);
  settings.max_skipped_updates = run.integer("max_skipped_updates", 10, 0);
  settings.max_loss = run.real("max_loss", 1000, 0);
  settings.max_unverified_share = run.real("max_unverified_share", 0.5, 0, 1);
  settings.policy = PolicySource::from_config(root.section("policy"), config_folder);
  settings.tasks = TaskSource::from_config(root.section("tasks"), config_folder);
  settings.warm_up = warm_up_from(root.section("warm_up"), settings.seed);
  const ConfigSection rollout = root.section("rollout");
  const DecodingSettings decoding = DecodingSettings::from_config(rollout);
  for (const ConfigSection& stage : root.sections("stages"))
    settings.stages.push_back(stage_from(stage, rollout, settings.seed));
  settings.trainer = TrainerSettings::from_config(root.section("trainer"));
  settings.curation = CurationSettings::from_config(root.section("curation"));
  settings.evaluation = evaluation_from(root.section("evaluation"), decoding);
  settings.reward_file = existing_path(root, "reward", root.required_text("reward"), config_folder);
  settings.replay = ReplaySettings::from_config(root.section("replay"), config_folder);
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
    if (update.objective.kl_weight > 0 && update.objective.kl_reference == KlReference::kBehaviour &&
        update.updates_per_step == 1)
      notes.push_back(
          concat("stages.", i,
                 ".update.kl_weight has no effect: with one update a step the policy still is the "
                 "behaviour policy, where the gradient of the divergence is zero; kl_reference=initial, or "
                 "several updates a step (responses_per_update, epochs), make it act"));
  }
  const QuarantineSettings &quarantine = settings.curation.quarantine, usual;
  if (!quarantine.enabled && (quarantine.first_success || quarantine.speedup_above != usual.speedup_above))
    notes.push_back(
        "curation.quarantine: first_success and speedup_above have no effect with 'enabled: false'");
  return notes;
}

TrainingMemory memory_of(const RunSettings& settings, int ranks) {
  const PolicyConfig policy = settings.policy.checkpoint.empty()
                                  ? PolicyConfig::from_file(settings.policy.config_file)
                                  : PolicyConfig::from_file(settings.policy.checkpoint / "config.json");
  return training_memory(policy, settings.policy.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat,
                         settings.trainer.sharding, ranks);
}

std::string derived_numbers(const RunSettings& settings, int ranks) {
  std::string text = concat("ranks                     ", ranks, "\n");
  if (settings.warm_up.steps > 0)
    text += concat("warm-up samples           ", settings.warm_up.steps * settings.warm_up.samples_per_step,
                   "\n");
  int64_t responses = 0;
  for (const StageSettings& stage : settings.stages) {
    responses += stage.steps * stage.responses_per_step();
    text += concat(to_string(stage.stage), ": ", stage.steps, " steps x ", stage.tasks_per_step, " tasks x ",
                   stage.samples_per_task, " samples = ", stage.responses_per_step(),
                   " responses a step, at most ", stage.responses_per_step() * stage.decoding.max_new_tokens,
                   " new tokens a step\n");
  }
  text += concat("responses in all          ", responses, "\n");
  text += concat("evaluation                ", settings.evaluation.tasks, " held-out tasks after each phase",
                 settings.evaluation.every_steps > 0
                     ? concat(" and every ", settings.evaluation.every_steps, " steps within it")
                     : "",
                 "\n");
  const PolicyConfig policy = settings.policy.checkpoint.empty()
                                  ? PolicyConfig::from_file(settings.policy.config_file)
                                  : PolicyConfig::from_file(settings.policy.checkpoint / "config.json");
  const int64_t bytes_each = settings.policy.dtype == "bfloat16" ? 2 : 4;
  const TrainingMemory memory = memory_of(settings, ranks);
  const auto megabytes = [](int64_t bytes) { return concat(bytes / 1'000'000, " MB"); };
  text += concat("parameters                ", policy.parameter_count(), "\n");
  text += concat("memory of a training rank ", megabytes(memory.total_bytes()), ": weights ",
                 megabytes(memory.weights_bytes), ", gradients (their sum, and what is on its way) ",
                 megabytes(memory.gradients_bytes), ", AdamW (moments",
                 bytes_each == 2 ? ", fp32 weights" : "", ") ", megabytes(memory.optimizer_bytes),
                 ranks > 1 ? ", exchange " : "", ranks > 1 ? megabytes(memory.exchange_bytes) : "",
                 "; activations and logits of a pack come on top\n");
  if (std::any_of(settings.stages.begin(), settings.stages.end(), [](const StageSettings& stage) {
        return stage.steps > 0 && stage.updater.objective.kl_reference == KlReference::kInitial;
      }))
    text += concat("reference policy          ", megabytes(memory.weights_bytes), " more\n");
  const int64_t kv_bytes = 2 * policy.layers * policy.kv_heads * policy.head_dim * bytes_each;
  text += concat("KV cache                  ", kv_bytes, " bytes a token\n");
  return text;
}

}  // namespace bicrl
