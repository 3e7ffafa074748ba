#include "trainer/run/run_memory.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "rollout/prompt_tokens.h"

namespace bicrl {
namespace {

struct LongestSample {
  int64_t prompt_tokens = 0;
  int64_t program_tokens = 0;
};

// By bytes of text, which is nearly by tokens: encoding all of them takes long.
LongestSample longest_sample(const std::vector<Task>& tasks, const Tokenizer& tokenizer,
                             const RunSettings& settings, Stage stage, Scaffold scaffold,
                             KnownPrograms programs) {
  std::string program;
  Prompt longest;
  for (const Task& task : tasks) {
    if (stage == Stage::kInfilling && !task.has_scaffold()) continue;
    Prompt prompt = make_prompt(task, stage, settings.tasks.prompt_style, scaffold);
    if (prompt.text.size() > longest.text.size()) longest = std::move(prompt);
    if (task.cuda_code.size() > program.size()) program = task.cuda_code;
    for (const KnownProgram& other : task.alternatives)
      if (programs != KnownPrograms::kFirst && other.cuda_code.size() > program.size())
        program = other.cuda_code;
  }
  return {static_cast<int64_t>(make_request(longest, tokenizer, 0, 0).prompt_tokens.size()),
          static_cast<int64_t>(tokenizer.encode(program).size())};
}

LongestSample longest_pair(const std::vector<PairSet>& sets, const Tokenizer& tokenizer,
                           const RunSettings& settings) {
  const auto size_of = [](const TrainingPair& pair) {
    return pair.prompt.size() + pair.reasoning.size() + pair.answer.size();
  };
  const TrainingPair* longest = nullptr;
  for (const PairSet& set : sets)
    for (const TrainingPair& pair : set.pairs)
      if (!longest || size_of(pair) > size_of(*longest)) longest = &pair;
  LongestSample sample{static_cast<int64_t>(tokenizer.encode(longest->prompt).size()),
                       static_cast<int64_t>(tokenizer.encode(longest->reasoning + longest->answer).size())};
  // Longer ones are left out.
  const int64_t longest_sequence = policy_shape(settings.policy).max_position;
  const int64_t asked = settings.warm_up.pairs.max_tokens;
  const int64_t most = asked > 0 ? std::min(asked, longest_sequence) : longest_sequence;
  sample.prompt_tokens = std::min(sample.prompt_tokens, most);
  sample.program_tokens = std::min(sample.program_tokens, most - sample.prompt_tokens);
  return sample;
}

}  // namespace

MemoryBudget budget_of_run(const RunSettings& settings, const RunInputs& inputs, const Placement& placement,
                           int rank) {
  const bool trains = placement.trains(rank), generates = placement.generates(rank);
  const PolicyConfig config = policy_shape(settings.policy);
  const int64_t b = config.block_size;
  const at::DeviceType device = settings.policy.device == "cpu" ? at::kCPU : at::kCUDA;
  PassSettings pass{settings.policy.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat, device,
                    settings.trainer.recompute, settings.policy.lora};
  MemoryBudget budget;
  budget.held = memory_of(settings, placement.trainers());
  // Who only generates holds whole weights, and no shard of them besides.
  if (!trains) {
    RunSettings undivided = settings;
    undivided.trainer.sharding = Sharding{};
    budget.held = {.weights_bytes = memory_of(undivided, /*ranks=*/1).weights_bytes};
  }
  const auto train = [&](const PassShape& shape) {
    if (!trains) return;
    const PassMemory memory = pass_memory(config, shape, pass);
    if (memory.peak_bytes() <= budget.pass.peak_bytes()) return;
    budget.pass = memory;
    budget.pack_rows = shape.rows;
  };
  const auto longest_of = [&](const std::vector<Task>& tasks, Stage stage, Scaffold scaffold,
                              KnownPrograms programs = KnownPrograms::kFirst) {
    return longest_sample(tasks, inputs.tokenizer, settings, stage, scaffold, programs);
  };
  const auto generate = [&](const DecodingSettings& decoding, int64_t tasks, int64_t samples,
                            int64_t prompt_tokens) {
    if (!generates) return;
    const int64_t requests = (tasks + placement.generators() - 1) / placement.generators() * samples;
    const DecodingMemory memory =
        decoding_memory(config, device, pass.dtype, decoding, requests, prompt_tokens);
    if (memory.cache_bytes + memory.working_bytes >
        budget.decoding.cache_bytes + budget.decoding.working_bytes)
      budget.decoding = memory;
  };
  if (settings.evaluation.tasks > 0) {
    const EvaluationSettings& evaluation = settings.evaluation;
    const auto tasks = std::min(evaluation.tasks, std::ssize(inputs.tasks.held_out));
    const int64_t prompt_tokens =
        longest_of(inputs.tasks.held_out, Stage::kEndToEnd, evaluation.decoding.scaffold).prompt_tokens;
    generate(evaluation.decoding, tasks, 1, prompt_tokens);
  }
  if (settings.warm_up.steps > 0) {
    const LongestSample longest =
        inputs.pairs.empty() ? longest_of(inputs.tasks.train, Stage::kEndToEnd,
                                          settings.evaluation.decoding.scaffold, settings.warm_up.programs)
                             : longest_pair(inputs.pairs, inputs.tokenizer, settings);
    train(PassShape::largest(settings.warm_up.updater.tokens_per_pack, longest.prompt_tokens,
                             longest.program_tokens, 1, b));
  }
  bool reference = false;
  for (const StageSettings& stage : settings.stages) {
    if (stage.steps == 0) continue;
    const LongestSample longest =
        longest_of(inputs.tasks.train, stage.stage, stage.decoding.scaffold, stage.imitation.known);
    train(PassShape::largest(stage.updater.tokens_per_pack, longest.prompt_tokens,
                             stage.decoding.max_new_tokens,
                             stage.updater.objective->rounds_of_block(stage.decoding.steps_of_block(b)), b,
                             stage.updater.objective->scored_of_block(b, stage.decoding.steps_of_block(b))));
    if (stage.imitation.known_share > 0)
      train(PassShape::largest(stage.updater.tokens_per_pack, longest.prompt_tokens, longest.program_tokens,
                               1, b));
    generate(stage.decoding, stage.tasks_per_step, stage.samples_per_task, longest.prompt_tokens);
    reference |= trains && is_frozen_copy(stage.updater.surrogate.kl_reference);
  }
  // With adapters it shares the frozen weights.
  if (reference && !settings.policy.lora)
    budget.reference_bytes = config.parameter_count() * static_cast<int64_t>(c10::elementSize(pass.dtype));
  return budget;
}

Sharding sharding_that_fits(RunSettings settings, const RunInputs& inputs, const Placement& placement,
                            int64_t limit_bytes) {
  if (settings.policy.device == "cpu" || placement.trainers() == 1) return {};
  constexpr int64_t kLastStage = 3;
  // Stages differ in what is held alone. The first rank trains; ranks that only generate hold the same in
  // every stage.
  MemoryBudget budget = budget_of_run(settings, inputs, placement, 0);
  for (Sharding sharding; sharding.stage < kLastStage; ++sharding.stage) {
    settings.trainer.sharding = sharding;
    budget.held = memory_of(settings, placement.trainers());
    if (budget.peak_bytes() <= limit_bytes) return sharding;
  }
  return {kLastStage};
}

int64_t memory_limit_bytes(at::Device device) {
  if (device.is_cpu()) return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  at::globalContext().lazyInitDevice(device.type());
  const auto [free, total] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return static_cast<int64_t>(total);
}

int64_t memory_peak_bytes(at::Device device) {
  if (!device.is_cpu()) {
    const auto stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    return stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
  }
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    int64_t kibibytes = 0;
    if (key == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace bicrl
