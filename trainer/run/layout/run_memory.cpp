#include "trainer/run/layout/run_memory.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "common/usable_machine.h"
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
  std::string prompt, response;
  for (const PairSet& set : sets)
    for (const TrainingPair& pair : set.pairs) {
      if (pair.prompt.size() > prompt.size()) prompt = pair.prompt;
      if (pair.reasoning.size() + pair.answer.size() > response.size())
        response = pair.reasoning + pair.answer;
    }
  LongestSample sample{static_cast<int64_t>(tokenizer.encode(prompt).size()),
                       static_cast<int64_t>(tokenizer.encode(response).size())};
  // Pairs that are longer together are left out; responses take more rows than prompts.
  const int64_t longest_sequence = policy_shape(settings.policy).max_position;
  const int64_t asked = settings.warm_up.pairs.max_tokens;
  const int64_t most = asked > 0 ? std::min(asked, longest_sequence) : longest_sequence;
  sample.program_tokens = std::min(sample.program_tokens, most);
  sample.prompt_tokens = std::min(sample.prompt_tokens, most - sample.program_tokens);
  return sample;
}

// That a repair's prompt shows besides: a response, and what was said of it.
int64_t tokens_of_attempt(const RepairSettings& repair, const StageSettings& stage) {
  constexpr int64_t kCharsOfToken = 2;  // at least, of code and messages
  if (repair.probability == 0) return 0;
  return std::min<int64_t>(stage.decoding.max_new_tokens, repair.max_program_chars / kCharsOfToken) +
         repair.max_diagnostics_chars / kCharsOfToken;
}

int64_t most_prompt_tokens(const RunSettings& settings, const StageSettings& stage) {
  return policy_shape(settings.policy).max_position - stage.decoding.max_new_tokens;
}

at::DeviceType device_of(const RunSettings& settings) {
  return settings.policy.device == "cpu" ? at::kCPU : at::kCUDA;
}
at::ScalarType dtype_of(const RunSettings& settings) {
  return settings.policy.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
}

}  // namespace

RunWork work_of_run(const RunSettings& settings, const RunInputs& inputs, const Placement& placement,
                    int rank) {
  const bool trains = placement.trains(rank), generates = placement.generates(rank);
  const int64_t b = policy_shape(settings.policy).block_size;
  RunWork work;
  const auto train = [&](PassShape shape) {
    if (trains) work.passes.push_back(std::move(shape));
  };
  const auto generate = [&](const DecodingSettings& decoding, int64_t tasks, int64_t samples,
                            int64_t prompt_tokens) {
    if (!generates) return;
    const int64_t prompts = (tasks + placement.generators() - 1) / placement.generators();
    work.generations.push_back(
        {decoding, {.prompts = prompts, .samples = samples, .prompt_tokens = prompt_tokens}});
  };
  const auto longest_of = [&](const std::vector<Task>& tasks, Stage stage, Scaffold scaffold,
                              KnownPrograms programs = KnownPrograms::kFirst) {
    return longest_sample(tasks, inputs.tokenizer, settings, stage, scaffold, programs);
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
  for (const StageSettings& stage : settings.stages) {
    if (stage.steps == 0) continue;
    LongestSample longest =
        longest_of(inputs.tasks.train, stage.stage, stage.decoding.scaffold, stage.imitation.known);
    longest.prompt_tokens =
        std::min(longest.prompt_tokens + tokens_of_attempt(settings.curation.repair, stage),
                 std::max(longest.prompt_tokens, most_prompt_tokens(settings, stage)));
    // The most rounds make the longest sequences; of the fewest a pack has the most scored tokens.
    for (const int64_t steps : {stage.decoding.steps_of_block(b), int64_t{1}})
      train(PassShape::largest(stage.updater.tokens_per_pack, longest.prompt_tokens,
                               stage.decoding.max_new_tokens, stage.updater.objective->rounds_of_block(steps),
                               b, stage.updater.objective->scored_of_block(b, steps)));
    if (stage.imitation.known_share > 0)
      train(PassShape::largest(stage.updater.tokens_per_pack, longest.prompt_tokens, longest.program_tokens,
                               1, b));
    generate(stage.decoding, stage.tasks_per_step, stage.samples_per_task, longest.prompt_tokens);
    work.has_reference |= trains && is_frozen_copy(stage.updater.surrogate.kl_reference);
  }
  return work;
}

TrainingMemory held_by_rank(const RunSettings& settings, const Placement& placement, int rank) {
  if (placement.trains(rank)) return memory_of(settings, placement.trainers());
  // Who only generates holds whole weights, and no shard of them besides.
  RunSettings undivided = settings;
  undivided.trainer.sharding = Sharding{};
  return {.weights_bytes = memory_of(undivided, /*ranks=*/1).weights_bytes};
}

PassMemory largest_pass(const RunSettings& settings, const RunWork& work, int64_t* rows) {
  const PassSettings pass{dtype_of(settings), device_of(settings),
                          settings.trainer.recompute.value_or(Recompute::kNone), settings.policy.lora};
  PassMemory largest;
  for (const PassShape& shape : work.passes) {
    const PassMemory memory = pass_memory(policy_shape(settings.policy), shape, pass);
    if (memory.peak_bytes() <= largest.peak_bytes()) continue;
    largest = memory;
    if (rows) *rows = shape.rows;
  }
  return largest;
}

DecodingMemory largest_decoding(const RunSettings& settings, const RunWork& work, int64_t cache_tokens) {
  DecodingMemory largest;
  for (const RunWork::Generation& generation : work.generations) {
    DecodingSettings decoding = generation.decoding;
    if (decoding.cache_tokens == 0) decoding.cache_tokens = cache_tokens;
    const DecodingMemory memory = decoding_memory(policy_shape(settings.policy), device_of(settings),
                                                  dtype_of(settings), decoding, generation.requested);
    if (memory.total_bytes() > largest.total_bytes()) largest = memory;
  }
  return largest;
}

MemoryBudget budget_of_run(const RunSettings& settings, const RunWork& work, const Placement& placement,
                           int rank) {
  MemoryBudget budget;
  budget.held = held_by_rank(settings, placement, rank);
  budget.pass = largest_pass(settings, work, &budget.pack_rows);
  budget.decoding = largest_decoding(settings, work);
  // With adapters it shares the frozen weights.
  if (work.has_reference && !settings.policy.lora)
    budget.reference_bytes = policy_shape(settings.policy).parameter_count() *
                             static_cast<int64_t>(c10::elementSize(dtype_of(settings)));
  return budget;
}

int64_t memory_limit_bytes(at::Device device) {
  if (device.is_cpu()) return static_cast<int64_t>(usable_memory_bytes());
  at::globalContext().lazyInitDevice(device.type());
  const auto [free, total] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return static_cast<int64_t>(total);
}

void return_unused_memory(at::Device device) {
  if (!device.is_cpu()) c10::getDeviceAllocator(device.type())->emptyCache();
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
