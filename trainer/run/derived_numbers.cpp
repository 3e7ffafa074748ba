// What follows from a run's settings: its policy's shape, memory, and the numbers that --dry-run prints.
#include <algorithm>

#include "policy/policy_config.h"
#include "trainer/run/run_settings.h"
#include "trainer/update/memory/training_memory.h"

namespace bicrl {

PolicyConfig policy_shape(const PolicySource& policy) {
  return PolicyConfig::from_file(policy.checkpoint.empty() ? policy.config_file
                                                           : policy.checkpoint / "config.json");
}

namespace {

std::string megabytes(int64_t bytes) { return concat(bytes / 1'000'000, " MB"); }

// Empty if no stage has one.
std::string reference_line(const RunSettings& settings, const PolicyConfig& policy,
                           const TrainingMemory& memory) {
  const auto first = std::ranges::find_if(settings.stages, [](const auto& stage) { return stage.steps > 0; });
  const auto has_copy = [](const StageSettings& stage) {
    return stage.steps > 0 && is_frozen_copy(stage.updater.surrogate.kl_reference);
  };
  if (std::ranges::none_of(settings.stages, has_copy)) return "";
  // With adapters that nothing has trained before; else with those of an earlier phase.
  const bool is_base =
      settings.warm_up.steps == 0 &&
      std::none_of(std::next(first), settings.stages.end(), [&](const auto& stage) {
        return has_copy(stage) && stage.updater.surrogate.kl_reference == KlReference::kStage;
      });
  const std::string title = "reference policy          ";
  if (!settings.policy.lora) return concat(title, megabytes(memory.weights_bytes), " more\n");
  if (is_base) return concat(title, "the frozen weights themselves, nothing more\n");
  const int64_t bytes =
      settings.policy.lora->parameter_count(policy) * (settings.policy.dtype == "bfloat16" ? 2 : 4);
  return concat(title, "the frozen weights with adapters of an earlier phase, ", megabytes(bytes), " more\n");
}

std::string epochs_between_evaluations(int64_t every) {
  if (every == 0) return "";
  return every == 1 ? " and each epoch of the warm-up"
                    : concat(" and every ", every, " epochs of the warm-up");
}

}  // namespace

TrainingMemory memory_of(const RunSettings& settings, int ranks) {
  TrainingMemory memory = training_memory(
      policy_shape(settings.policy), settings.policy.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat,
      settings.trainer.sharding.value_or(Sharding{}), ranks, settings.policy.lora,
      settings.policy.device == "cpu" ? at::kCPU : at::kCUDA);
  if (!settings.checkpoint_in_background) memory.first_copy_bytes = memory.other_copy_bytes = 0;
  return memory;
}

std::string derived_numbers(const RunSettings& settings, int ranks) {
  const auto generators = static_cast<int>(settings.trainer.generator_ranks);
  // The numbers of a run that has too few ranks to start are those of one trainer.
  const int trainers = std::max(1, ranks - generators);
  std::string text = concat("ranks                     ", ranks);
  if (generators > 0 && ranks > generators)
    text += concat(", of which ", trainers, " train and ", generators, " generate");
  if (generators > 0 && ranks <= generators)
    text += concat(", too few for 'placement: split' with ", generators, " that generate");
  text += "\n";
  if (const WarmUpSettings& s = settings.warm_up; s.epochs > 0)
    text +=
        concat("warm-up                   ", s.epochs, s.epochs == 1 ? " epoch of " : " epochs of ",
               s.epoch.pairs, " pairs = ", s.steps, " steps of at most ", s.samples_per_step, " samples\n");
  else if (s.steps > 0)
    text += concat("warm-up samples           ", s.steps * s.samples_per_step, "\n");
  const RefillSettings& refill = settings.curation.refill;
  const char* const bound = refill.is_enabled() ? "at most " : "";
  int64_t responses = 0;
  for (const StageSettings& stage : settings.stages) {
    const int64_t tasks = refill.is_enabled() ? refill.at_most : stage.tasks_per_step;
    const int64_t each = tasks * stage.samples_per_task;  // of a step
    responses += stage.steps * each;
    text += concat(to_string(stage.stage), ": ", stage.steps, " steps x ", bound, tasks, " tasks x ",
                   stage.samples_per_task, " samples = ", each, " responses a step, at most ",
                   each * stage.decoding.max_new_tokens, " new tokens a step");
    if (stage.imitation.updates > 0)
      text += concat(", then ", stage.imitation.updates, " updates from ", stage.imitation.samples,
                     " imitated samples each");
    text += "\n";
  }
  if (refill.is_enabled())
    text += concat("refill                    until ", refill.informative_groups,
                   " groups are informative, at most ", refill.at_most, " groups a step\n");
  text += concat("responses in all          ", bound, responses, "\n");
  text += concat("evaluation                ", settings.evaluation.tasks, " held-out tasks after ",
                 settings.evaluation.last_phase_alone ? "the last phase" : "each phase",
                 settings.evaluation.every_steps > 0
                     ? concat(" and every ", settings.evaluation.every_steps, " steps within it")
                     : "",
                 epochs_between_evaluations(settings.evaluation.every_epochs), "\n");
  if (const BestOfSettings& best = settings.evaluation.best_of; best.tasks > 0)
    text += concat("best of ", best.samples, "                 ", best.tasks, " of them after the last phase",
                   best.after_warm_up ? " and the warm-up" : "", "\n");
  const PolicyConfig policy = policy_shape(settings.policy);
  const int64_t bytes_each = settings.policy.dtype == "bfloat16" ? 2 : 4;
  const TrainingMemory memory = memory_of(settings, trainers);
  text += concat("parameters                ", policy.parameter_count(), "\n");
  if (const auto& lora = settings.policy.lora)
    text += concat("trained parameters        ", lora->parameter_count(policy), ", adapters of rank ",
                   lora->rank, "; the others are frozen\n");
  if (!settings.trainer.sharding && trainers > 1 && settings.policy.device != "cpu")
    text +=
        "sharding                  what follows is of stage 0; more is divided as far as the GPUs need it\n";
  text += concat("memory of a training rank ", megabytes(memory.total_bytes()), ": weights ",
                 megabytes(memory.weights_bytes), ", gradients ", megabytes(memory.gradients_bytes),
                 ", AdamW (moments", bytes_each == 2 ? ", fp32 weights" : "", ") ",
                 megabytes(memory.optimizer_bytes), trainers > 1 ? ", exchange " : "",
                 trainers > 1 ? megabytes(memory.exchange_bytes) : "",
                 "; activations and logits of a pack come on top\n");
  if (memory.first_copy_bytes > 0)
    text += concat(
        "copy for a checkpoint     ", megabytes(memory.first_copy_bytes), " of host memory for rank 0",
        memory.other_copy_bytes > 0 ? concat(", ", megabytes(memory.other_copy_bytes), " for others") : "",
        ", while it is written and from one to the next\n");
  text += reference_line(settings, policy, memory);
  const int64_t kv_bytes = 2 * policy.layers * policy.kv_heads * policy.head_dim * bytes_each;
  text += concat("KV cache                  ", kv_bytes, " bytes a token\n");
  return text;
}

}  // namespace bicrl
