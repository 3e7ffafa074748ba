// The table against an allocator that counts: a whole step of reinforcement, from drawing the policy on.
#include "tests/trainer/counting_allocator.h"
#include "tests/trainer/fixtures.h"
#include "trainer/update/memory/fitted_packs.h"
#include "trainer/update/memory/memory_budget.h"
#include "trainer/update/operator_pass.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <deque>

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

PolicyConfig wide_config(bool tied, int64_t vocab) {
  PolicyConfig config = tiny_config(4);
  config.hidden_size = 128;
  config.layers = 3;
  config.heads = 8;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.intermediate_size = 384;
  config.vocab_size = vocab;
  config.tie_word_embeddings = tied;
  return config;
}

struct Work {
  int64_t prompt_tokens = 32, response_blocks = 24, responses = 4;
  int64_t tokens_per_pack = 1 << 20;
};

struct Measured {
  int64_t peak_bytes = 0;
  MemoryBudget budget;
};

// One step on one rank; the budget is that of its largest pack.
Measured step(const PolicyConfig& config, c10::ScalarType dtype, Recompute recompute,
              const std::optional<LoraConfig>& lora, const Work& work) {
  std::vector<Experience> experiences;
  std::vector<LiveSequence> sequences;
  for (int64_t i = 0; i < work.responses; ++i) {
    const TraceShape shape{work.prompt_tokens, work.response_blocks, -1, 4};
    experiences.push_back(random_experience(config, shape, 100 + static_cast<uint64_t>(i), i % 2 ? 1 : -1));
    experiences.back().group = 0;
    experiences.back().sample = i;
    sequences.push_back(rollout_sequence(experiences.back(), config, /*shrink=*/1));
  }
  Measured measured;
  MemoryBudget& budget = measured.budget;
  budget.held = training_memory(config, dtype, {}, 1, lora);
  const std::vector<double> scales(sequences.size(), 1);
  for (const PackedBatch& batch :
       pack(sequences, scales, {.block_size = config.block_size, .tokens_per_pack = work.tokens_per_pack})) {
    const PassMemory pass = pass_memory(config, PassShape::of(batch), {dtype, at::kCPU, recompute, lora});
    if (pass.peak_bytes() > budget.pass.peak_bytes()) budget.pass = pass;
  }
  const CountedMemory memory;
  const int64_t before = memory.now_bytes();
  Transformer policy = tiny_policy(config, 5, dtype);
  if (lora) policy.add_adapters(*lora, 5);
  OneRank rank;
  UpdaterSettings settings;
  settings.tokens_per_pack = work.tokens_per_pack;
  PolicyUpdater updater(policy, tiny_allowed(config), settings, rank.control, rank.tensors, {}, recompute);
  reinforce(updater, experiences);
  measured.peak_bytes = memory.peak_bytes() - before;
  return measured;
}

void check_within_5_percent(const Measured& measured) {
  const auto peak = static_cast<double>(measured.peak_bytes);
  CAPTURE(measured.peak_bytes, measured.budget.training_bytes());
  CHECK(static_cast<double>(measured.budget.training_bytes()) > 0.95 * peak);
  CHECK(static_cast<double>(measured.budget.training_bytes()) < 1.05 * peak);
  // The control: without activations the same comparison fails.
  MemoryBudget bare = measured.budget;
  bare.pass = {};
  CHECK(static_cast<double>(bare.training_bytes()) < 0.95 * peak);
}

LoraConfig adapters(int64_t rank) {
  LoraConfig lora;
  lora.rank = rank;
  return lora;
}

}  // namespace

TEST_CASE("the budget is within 5 % of what a step takes") {
  for (const bool tied : {false, true})
    for (const auto dtype : {at::kFloat, at::kBFloat16})
      for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
        for (const bool with_adapters : {false, true}) {
          const auto lora = with_adapters ? std::optional(adapters(8)) : std::nullopt;
          INFO("tied " << tied << ", " << dtype << ", recompute " << static_cast<int>(recompute)
                       << ", adapters " << with_adapters);
          check_within_5_percent(step(wide_config(tied, 2000), dtype, recompute, lora, {}));
        }
}

TEST_CASE("the budget knows what dominates: attention of long sequences, many logits, a wide embedding") {
  const PolicyConfig usual = wide_config(false, 1000), vocabulary = wide_config(true, 60000);
  for (const auto dtype : {at::kFloat, at::kBFloat16})
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      INFO(dtype << ", recompute " << static_cast<int>(recompute));
      check_within_5_percent(step(usual, dtype, recompute, {}, {64, 128, 2}));
      check_within_5_percent(step(vocabulary, dtype, recompute, {}, {32, 16, 6}));  // three chunks
      check_within_5_percent(step(vocabulary, dtype, recompute, {}, {8, 4, 1}));    // the embedding
      check_within_5_percent(step(usual, dtype, recompute, {}, {32, 24, 8, 600}));  // several packs
    }
}

// Of a pack whose tokens exclude so many ids beside their labels: what its pass takes, and what the budget
// says.
std::pair<int64_t, int64_t> pass_bytes(int64_t excluded_ids) {
  const PolicyConfig config = wide_config(false, 2000);
  std::vector<LiveSequence> sequences;
  for (uint64_t i = 0; i < 4; ++i) {
    const TraceShape shape{32, 24, -1, 4};
    sequences.push_back(rollout_sequence(random_experience(config, shape, 100 + i, 1), config, 1));
    for (NoisyBlock& noisy : sequences.back().noisy)
      for (ScoredToken& token : noisy.scored) {
        token.excluded = {token.label};
        for (int64_t id = 0; id < excluded_ids; ++id) token.excluded.push_back(500 + id);
      }
  }
  Transformer policy = tiny_policy(config, 5);
  OperatorPass pass(policy, tiny_allowed(config));
  const GradientScope scope(policy.store());
  const CountedMemory memory;
  const PackedBatch batch = pack(sequences, std::vector<double>(4, 1), {.tokens_per_pack = 1 << 20}).at(0);
  pass.backward(batch, 1.0, [](const ScoredChunk& chunk) { return chunk.log_probs.sum(); });
  return {memory.peak_bytes(), pass_memory(config, PassShape::of(batch), {}).peak_bytes()};
}

TEST_CASE("the budget of a pack counts the ids that its tokens exclude") {
  const auto [few, few_said] = pass_bytes(0);
  const auto [many, many_said] = pass_bytes(1200);
  const auto taken = static_cast<double>(many - few), said = static_cast<double>(many_said - few_said);
  CAPTURE(few, few_said, many, many_said);
  CHECK(taken > 0.1 * static_cast<double>(few));
  CHECK(said > 0.95 * taken);
  CHECK(said < 1.05 * taken);
}

TEST_CASE("the largest pack by settings is the pack that such sequences make") {
  const PolicyConfig config = wide_config(false, 1000);
  const PassShape shape = PassShape::largest(1000, 32, 64, 1, config.block_size);
  // Six of them, a seventh with four blocks in the place of 16, and a block without a prompt.
  CHECK(shape.rows == 6 * (32 + 60 + 64) + 32 + 12 + 16 + 4);
  CHECK(shape.scored == 6 * 64 + 16 + 4);
  check_segments(shape.segments, shape.rows, config.block_size);
  CHECK(PassShape::largest(10, 32, 64, 1, config.block_size).rows == 32 + 60 + 64);
  // Mixed ones leave no more room than this, whatever their lengths are.
  for (const int64_t response : {8, 24, 64, 300})
    for (const int64_t rounds : {1, 4})
      CHECK(PassShape::largest(1000, 32, response, rounds, config.block_size).rows > 1000 - 4 * (1 + rounds));
  CHECK(PassShape::largest(1000, 32, 0, 1, config.block_size).scored > 0);  // nothing to answer
}

TEST_CASE("a run that does not fit is refused with numbers and what to change") {
  const PolicyConfig config = wide_config(false, 1000);
  MemoryBudget budget;
  budget.held = training_memory(config, at::kFloat);
  budget.pack_rows = 8192;
  budget.pass = pass_memory(config, PassShape::largest(8192, 32, 64, 1, 4), {});
  const int64_t needed = 2 * budget.peak_bytes() + 10;
  CHECK(budget.problem(2, 10, needed, "the host").empty());
  CHECK_THAT(budget.problem(2, 10, needed - 1, "the host"),
             ContainsSubstring("does not fit") && ContainsSubstring("2 ranks of") &&
                 ContainsSubstring("GiB of the host") && ContainsSubstring("now 8192 rows") &&
                 ContainsSubstring("trainer.recompute=full"));
  DecodingSettings decoding;
  decoding.max_new_tokens = 100000;
  budget.decoding =
      decoding_memory(config, at::kCPU, at::kFloat, decoding, {.prompts = 64, .prompt_tokens = 100});
  CHECK(budget.generating_bytes() > budget.training_bytes());
  CHECK_THAT(budget.problem(1, 0, 1000, "the GPU"),
             ContainsSubstring("generating needs") && ContainsSubstring("rollout.max_active"));
  CHECK_THAT(budget.table(int64_t{80} << 30),
             ContainsSubstring("activations of a pack of 8192 rows") && ContainsSubstring("80.000"));
}

TEST_CASE("packs that have fitted stay known when others exceed them in another figure") {
  const PolicyConfig config = tiny_config(4);
  const auto sequences_of = [&](int64_t responses, int64_t named_ids) {
    std::vector<LiveSequence> sequences;
    for (int64_t i = 0; i < responses; ++i)
      sequences.push_back(rollout_sequence(random_experience(config, {}, 7, 1), config, /*shrink=*/1));
    sequences.front().noisy.front().scored.front().kept.assign(static_cast<size_t>(named_ids), 5);
    return sequences;
  };
  const std::vector<LiveSequence> many = sequences_of(6, 10), few = sequences_of(2, 30),
                                  few_later = sequences_of(2, 25), more_ids = sequences_of(1, 31);
  std::deque<std::vector<double>> scales;  // packs refer to them
  const auto packs_of = [&](const std::vector<LiveSequence>& sequences) {
    return Packs(sequences, scales.emplace_back(sequences.size(), 1), {.block_size = config.block_size});
  };
  FittedPacks fitted;
  CHECK_FALSE(fitted.contain(packs_of(few)));
  fitted.extend(packs_of(many));
  CHECK_FALSE(fitted.contain(packs_of(few)));
  fitted.extend(packs_of(few));
  for (const auto* sequences : {&many, &few, &few_later}) CHECK(fitted.contain(packs_of(*sequences)));
  CHECK_FALSE(fitted.contain(packs_of(more_ids)));
  // Memory is asked for as much as both need.
  const PassShape shape = fitted.shape();
  CHECK(shape.rows == packs_of(many).largest().rows);
  CHECK(shape.scored == packs_of(many).largest().scored);
  CHECK(shape.named_ids == 30);
  check_segments(shape.segments, shape.rows, config.block_size);  // throws
}
