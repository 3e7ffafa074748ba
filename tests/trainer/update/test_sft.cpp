#include "tests/trainer/fixtures.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "common/error.h"
#include "common/rng.h"
#include "policy/distribution.h"
#include "policy/tokenizer/tokenizer.h"
#include "rollout/decoding/response_end.h"
#include "rollout/prompt_tokens.h"
#include "tests/support/dense_attention.h"
#include "tests/support/support.h"
#include "trainer/update/packing/packing.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::WithinAbs;

namespace {

std::vector<int64_t> draw_tokens(int64_t count, RandomStream& random) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(2 + static_cast<int64_t>(random.below(kAssigned - 2)));
  return tokens;
}

std::vector<SftSample> random_samples(const PolicyConfig& config, int64_t count, uint64_t key) {
  RandomStream random(key);
  std::vector<SftSample> samples;
  for (int64_t i = 0; i < count; ++i) {
    auto prompt = draw_tokens(3 + static_cast<int64_t>(random.below(8)), random);
    auto response = draw_tokens(2 + static_cast<int64_t>(random.below(12)), random);
    response.push_back(kEnd);
    samples.push_back(make_sft_sample(prompt, response, config, random.next()));
  }
  return samples;
}

// Cross-entropy of one sample under the published mask over [noisy | clean]: a noisy block sees itself and
// the clean blocks strictly before it, a clean block sees the clean ones up to and including itself.
at::Tensor literal_sample_loss(const Transformer& policy, const SftSample& sample, const LiveSequence& drawn,
                               const SftSettings& settings) {
  const int64_t b = policy.config().block_size;
  const auto n = static_cast<int64_t>(sample.tokens.size());
  std::vector<int64_t> tokens = sample.tokens, positions, rows, labels;
  for (const auto& noisy : drawn.noisy) {
    for (int64_t i = 0; i < b; ++i) tokens[noisy.block * b + i] = noisy.inputs[i];
  }
  for (int64_t p = sample.prompt_tokens; p < sample.prompt_tokens + sample.response_tokens; ++p) {
    if (tokens[p] != policy.config().mask_token_id) continue;
    rows.push_back(p);
    labels.push_back(sample.tokens[p]);
  }
  tokens.insert(tokens.end(), sample.tokens.begin(), sample.tokens.end());
  for (int64_t i = 0; i < 2 * n; ++i) positions.push_back(i % n);
  at::Tensor mask = at::zeros({2 * n, 2 * n}, at::kBool);
  auto cells = mask.accessor<bool, 2>();
  for (int64_t q = 0; q < 2 * n; ++q) {
    for (int64_t k = 0; k < 2 * n; ++k) {
      const bool q_noisy = q < n, k_noisy = k < n;
      const int64_t q_block = q % n / b, k_block = k % n / b;
      cells[q][k] =
          q_noisy ? (k_noisy ? q_block == k_block : k_block < q_block) : !k_noisy && k_block <= q_block;
    }
  }
  const auto tensor = [](const std::vector<int64_t>& v) {
    return at::tensor(v, at::TensorOptions().dtype(at::kLong));
  };
  DenseMaskAttention attention(mask);
  const auto logits = policy.logits(policy.hidden(tensor(tokens), tensor(positions), attention));
  const auto all = policy_log_softmax(logits, tiny_allowed(policy.config()), 1.0);
  const double p = (1 - settings.smallest_noise) * uniform_at(sample.noise_key, 0) + settings.smallest_noise;
  const double chance_of_any = 1 - std::pow(1 - p, static_cast<double>(sample.response_tokens));
  return all.index({tensor(rows), tensor(labels)}).sum().to(at::kDouble).neg() * (chance_of_any / p);
}

// Greedy decoding, one token a step, the most probable first.
std::vector<int64_t> decode(const Transformer& policy, std::vector<int64_t> tokens, int64_t longest) {
  const int64_t b = policy.config().block_size, mask = policy.config().mask_token_id;
  while (static_cast<int64_t>(tokens.size()) < longest) {
    const int64_t begin = static_cast<int64_t>(tokens.size()) / b * b;
    const std::vector<int64_t> context(tokens.begin(), tokens.begin() + begin);
    std::vector<int64_t> block(tokens.begin() + begin, tokens.end());
    block.resize(b, mask);
    while (std::count(block.begin(), block.end(), mask) > 0) {
      const auto [best, choice] = block_log_probs(policy, context, block, 1.0).max(-1);
      int64_t chosen = -1;
      for (int64_t i = 0; i < b; ++i) {
        if (block[i] != mask) continue;
        if (chosen < 0 || best[i].item<double>() > best[chosen].item<double>()) chosen = i;
      }
      block[chosen] = choice[chosen].item<int64_t>();
    }
    tokens = context;
    for (int64_t token : block) {
      tokens.push_back(token);
      if (token == kEnd) return tokens;
    }
  }
  return tokens;
}

}  // namespace

TEST_CASE("supervised loss and gradients equal the literal layout of noisy and clean rows") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 3);
  const auto samples = random_samples(config, 6, 21);
  UpdaterSettings settings = still_settings();
  double expected_loss = 0;
  const at::Tensor expected = flat_gradient(policy, [&] {
    at::Tensor total = at::zeros({}, at::kDouble);
    double supervised = 0;
    for (const auto& sample : samples) {
      const auto drawn = sft_sequence(sample, settings.sft, config);
      total = total + literal_sample_loss(policy, sample, drawn, settings.sft);
      supervised += static_cast<double>(sample.response_tokens);
    }
    total = total / supervised;
    expected_loss = total.item<double>();
    return total;
  });
  for (int64_t budget : {1, 100000}) {
    settings.tokens_per_pack = budget;
    OneRank alone;
    PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
    at::Tensor actual;
    updater.observe_gradients([&](const std::vector<at::Tensor>& gradients) { actual = flat(gradients); });
    const auto statistics = supervise(updater, samples);
    CHECK_THAT(statistics[UpdateRow::kLoss], WithinAbs(expected_loss, 1e-5 * expected_loss));
    CHECK(relative_difference(actual, expected) < 1e-6);
  }
}

TEST_CASE("noise masks every trained token alike, never none, and its weights make the loss unbiased") {
  const PolicyConfig config = tiny_config(4);
  const SftSettings settings;
  const std::vector<int64_t> response{5, 6, 7, 8, 9, kEnd};
  std::vector<double> weight_at(12, 0.0);
  double largest = 0;
  const int64_t draws = 40000;
  for (int64_t i = 0; i < draws; ++i) {
    const auto sample = make_sft_sample({2, 3, 4}, response, config, mix_key({17, static_cast<uint64_t>(i)}));
    const auto sequence = sft_sequence(sample, settings, config);
    REQUIRE(sequence.scored_tokens() > 0);
    for (const auto& noisy : sequence.noisy) {
      for (const auto& token : noisy.scored) {
        weight_at[noisy.block * 4 + token.offset] += token.weight / static_cast<double>(draws);
        largest = std::max(largest, token.weight);
      }
    }
  }
  for (int64_t position = 0; position < 12; ++position) {
    INFO("position " << position);
    // Positions 0-2 are the prompt, 9-11 fill.
    CHECK_THAT(weight_at[position], WithinAbs(position >= 3 && position < 9 ? 1.0 : 0.0, 0.05));
  }
  CHECK(largest <= 6);
}

TEST_CASE("fill is masked at times and never scored") {
  const PolicyConfig config = tiny_config(4);
  const SftSettings settings;
  bool fill_masked = false, fill_open = false;
  for (uint64_t key = 0; key < 50; ++key) {
    const auto sample = make_sft_sample({2, 3, 4, 5}, {6, kEnd}, config, key);
    CHECK(sample.tokens == std::vector<int64_t>{2, 3, 4, 5, 6, kEnd, kEnd, kEnd});
    const auto sequence = sft_sequence(sample, settings, config);
    for (const auto& token : sequence.noisy.at(0).scored) CHECK(token.offset < 2);
    (sequence.noisy[0].inputs[3] == config.mask_token_id ? fill_masked : fill_open) = true;
  }
  CHECK((fill_masked && fill_open));
}

TEST_CASE("a tiny policy learns eight sequences by heart") {
  PolicyConfig config = tiny_config(4);
  config.hidden_size = 32;
  config.intermediate_size = 64;
  config.initializer_range = 0.05;
  Transformer policy = tiny_policy(config, 1, at::kFloat);
  RandomStream random(77);
  std::vector<std::vector<int64_t>> prompts, responses;
  for (int64_t i = 0; i < 8; ++i) {
    prompts.push_back(draw_tokens(3 + i % 5, random));
    responses.push_back(draw_tokens(4 + i, random));
    responses.back().push_back(kEnd);
  }
  UpdaterSettings settings;
  settings.optimizer.beta2 = 0.95;
  settings.learning_rate.peak = 1e-2;
  settings.learning_rate.minimum = 1e-3;
  settings.learning_rate.warmup_updates = 10;
  settings.learning_rate.total_updates = 300;
  settings.learning_rate.decay = Decay::kCosine;
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  double first_loss = 0, last_loss = 0;
  for (uint64_t step = 0; step < 300; ++step) {
    std::vector<SftSample> batch;
    for (uint64_t i = 0; i < 16; ++i)
      batch.push_back(make_sft_sample(prompts[i % 8], responses[i % 8], config, mix_key({step, i})));
    last_loss = supervise(updater, batch)[UpdateRow::kLoss];
    if (step == 0) first_loss = last_loss;
  }
  CHECK(first_loss > 2.5);
  CHECK(last_loss < 0.2);
  for (size_t i = 0; i < 8; ++i) {
    auto expected = prompts[i];
    expected.insert(expected.end(), responses[i].begin(), responses[i].end());
    CHECK(decode(policy, prompts[i], 40) == expected);
  }
}

TEST_CASE("samples from texts have the seams of rollout") {
  const auto tokenizer = Tokenizer::from_folder(bicrl::testing::source_path("configs/quickstart"));
  PolicyConfig config = tiny_config(4);
  config.end_token_ids = {tokenizer.id_of("<|endoftext|>")};
  REQUIRE(config.first_end_token() >= 0);
  Prompt prompt;
  prompt.task_id = "t";
  prompt.text = "x = relu(x)";
  const auto free_sample = make_sft_sample(prompt, "out[i] = x[i];", tokenizer, config, 1);
  const auto given = make_request(prompt, tokenizer, -1, 0).prompt_tokens;
  CHECK(free_sample.prompt_tokens == static_cast<int64_t>(given.size()));
  CHECK(std::equal(given.begin(), given.end(), free_sample.tokens.begin()));
  CHECK(free_sample.tokens[free_sample.prompt_tokens + free_sample.response_tokens - 1] ==
        config.first_end_token());
  CHECK(free_sample.tokens.size() % 4 == 0);

  prompt.clamp_prefix = "import torch\nsource = \"\"\"\n";
  prompt.clamp_delimiter = "\"\"\"";
  prompt.clamp_suffix = "\nmodule = 1\n";
  const std::string body = "__global__ void f(float* x) { x[0] = 1; }\n";
  const auto clamped = make_sft_sample(prompt, prompt.clamp_prefix + body + "\"\"\"" + prompt.clamp_suffix,
                                       tokenizer, config, 1);
  CHECK(clamped.prompt_tokens ==
        static_cast<int64_t>(make_request(prompt, tokenizer, -1, 0).prompt_tokens.size()));
  // What is trained is what rollout would read as a whole response: it ends with the delimiter, not before.
  ResponseReader reader(tokenizer, config.end_token_ids, prompt.clamp_delimiter);
  for (int64_t i = 0; i < clamped.response_tokens; ++i) {
    CHECK(reader.read(clamped.tokens[clamped.prompt_tokens + i]) == (i + 1 == clamped.response_tokens));
  }
  CHECK(reader.end().reason == FinishReason::kDelimiter);
  CHECK(reader.end().text == body);
  CHECK_THROWS_AS(make_sft_sample(prompt, "another program", tokenizer, config, 1), InputError);
}

TEST_CASE(
    "an answer ends with the token of its prompt's turns if that ends responses, else with the policy's "
    "own") {
  const auto tokenizer = Tokenizer::from_folder(published_file("sdar-8b/vocab.json").parent_path());
  constexpr int64_t kEndOfText = 151643, kTurnEnd = 151645;
  PolicyConfig config = tiny_config(16);
  Prompt chat, plain;
  chat.text = plain.text = "x";
  chat.answer_end = "<|im_end|>";
  const auto last_and_fill = [&](const Prompt& prompt) {
    const SftSample sample = make_sft_sample(prompt, "y", tokenizer, config, 0);
    CHECK(sample.response_tokens == 2);
    return std::pair(sample.tokens[2], sample.tokens[3]);
  };
  config.end_token_ids = {kEndOfText, kTurnEnd};
  CHECK(last_and_fill(chat) == std::pair(kTurnEnd, kEndOfText));
  CHECK(last_and_fill(plain) == std::pair(kEndOfText, kEndOfText));
  config.end_token_ids = {kEndOfText};
  CHECK(last_and_fill(chat) == std::pair(kEndOfText, kEndOfText));
  config.end_token_ids = {kTurnEnd};
  CHECK(last_and_fill(plain) == std::pair(kTurnEnd, kTurnEnd));
  config.end_token_ids = {};
  CHECK_THROWS_AS(make_sft_sample(chat, "y", tokenizer, config, 0), InputError);
}
