// The live layout against the published padded one: [prompt | clean response | noisy response] rows, one per
// round, all of one length, under a dense mask with blocks at absolute positions.
#include "tests/trainer/fixtures.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <limits>
#include <set>

#include "common/rng.h"
#include "policy/distribution.h"
#include "tests/support/dense_attention.h"
#include "trainer/update/objective/random_masks.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

struct LiteralRow {
  std::vector<int64_t> noisy;     // the sequence with this round's masks
  std::vector<int64_t> selected;  // positions scored in this round
};

// The published procedure, on all blocks of a response at once, until no scored token remains.
std::vector<LiteralRow> literal_rows(const Rollout& r, const PolicyConfig& config, int64_t shrink) {
  const auto length = static_cast<int64_t>(r.tokens.size());
  const int64_t b = config.block_size;
  std::vector<int64_t> steps(length, 0), first_of_group(length, 0);
  for (int64_t p = r.prompt_tokens; p < length; ++p) steps[p] = r.step_map[p - r.prompt_tokens];
  for (int64_t begin = 0; begin < length; begin += b) {
    std::vector<int64_t> distinct;
    for (int64_t p = begin; p < begin + b; ++p) {
      if (steps[p] > 0) distinct.push_back(steps[p]);
    }
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (int64_t p = begin; p < begin + b; ++p) {
      const auto found = std::find(distinct.begin(), distinct.end(), steps[p]);
      if (found != distinct.end()) first_of_group[p] = distinct[(found - distinct.begin()) / shrink * shrink];
    }
  }
  std::vector<bool> done(length, false);
  std::vector<LiteralRow> rows;
  while (true) {
    LiteralRow row{r.tokens, {}};
    for (int64_t begin = 0; begin < length; begin += b) {
      int64_t smallest = std::numeric_limits<int64_t>::max();
      for (int64_t p = begin; p < begin + b; ++p) {
        if (first_of_group[p] > 0 && !done[p]) smallest = std::min(smallest, first_of_group[p]);
      }
      for (int64_t p = begin; p < begin + b; ++p) {
        if (std::abs(steps[p]) >= smallest) row.noisy[p] = config.mask_token_id;
        if (first_of_group[p] == smallest) row.selected.push_back(p);
      }
    }
    if (row.selected.empty()) return rows;
    for (int64_t p : row.selected) done[p] = true;
    rows.push_back(std::move(row));
  }
}

// One row for the mask and, if coupled, one for its complement, as the published alternatives have it; `mask`
// is over the response.
std::vector<LiteralRow> literal_masked_rows(const Rollout& r, const PolicyConfig& config,
                                            const std::vector<bool>& mask, bool coupled) {
  std::vector<LiteralRow> rows;
  for (const bool complement : {false, true}) {
    if (complement && !coupled) break;
    LiteralRow row{r.tokens, {}};
    for (size_t i = 0; i < mask.size(); ++i) {
      if (r.step_map[i] == 0 || mask[i] == complement) continue;
      row.noisy[r.prompt_tokens + i] = config.mask_token_id;
      if (r.step_map[i] > 0) row.selected.push_back(r.prompt_tokens + static_cast<int64_t>(i));
    }
    if (!row.selected.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

// What is scored together: an objective's name and, of `trace`, its shrink.
struct ScoredRounds {
  std::string objective = "trace";
  int64_t shrink = 1;

  bool is_the_samplers() const { return objective == "trace" && shrink == 1; }
  std::shared_ptr<const Objective> made() const {
    return objective_of(objective == "trace" ? concat("{shrink: ", shrink, "}")
                                             : concat("{objective: ", objective, "}"));
  }
};

std::vector<LiteralRow> literal_rows(const Experience& e, const PolicyConfig& config,
                                     const ScoredRounds& scored_rounds, uint64_t seed) {
  if (scored_rounds.objective == "trace") return literal_rows(e.rollout, config, scored_rounds.shrink);
  return literal_masked_rows(e.rollout, config, random_mask(e.rollout, mask_key(seed, 0, e)),
                             scored_rounds.objective == "coupled");
}

// Log-probabilities of the selected tokens of one row that is padded to `padded` clean and noisy positions.
at::Tensor literal_log_probs(const Transformer& policy, const Rollout& r, const LiteralRow& row,
                             int64_t padded, double temperature) {
  const int64_t b = policy.config().block_size, total = 2 * padded;
  const auto length = static_cast<int64_t>(r.tokens.size());
  std::vector<int64_t> tokens(total, 2), positions(total, 0);
  at::Tensor mask = at::zeros({total, total}, at::kBool);
  auto cells = mask.accessor<bool, 2>();
  for (int64_t i = 0; i < total; ++i) cells[i][i] = true;  // pads see themselves
  for (int64_t p = 0; p < length; ++p) {
    tokens[p] = r.tokens[p];
    tokens[padded + p] = row.noisy[p];
    positions[p] = positions[padded + p] = p;
    const int64_t block = p / b;
    for (int64_t k = 0; k < b * (block + 1); ++k) cells[p][k] = true;
    for (int64_t k = 0; k < b * block; ++k) cells[padded + p][k] = true;
    for (int64_t k = b * block; k < b * (block + 1); ++k) cells[padded + p][padded + k] = true;
  }
  const auto tensor = [](const std::vector<int64_t>& v) {
    return at::tensor(v, at::TensorOptions().dtype(at::kLong));
  };
  DenseMaskAttention attention(mask);
  const auto logits = policy.logits(policy.hidden(tensor(tokens), tensor(positions), attention));
  const auto all = policy_log_softmax(logits, tiny_allowed(policy.config()), temperature);
  std::vector<int64_t> rows, labels;
  for (int64_t p : row.selected) {
    rows.push_back(padded + p);
    labels.push_back(r.tokens[p]);
  }
  return all.index({tensor(rows), tensor(labels)});
}

// The loss written as the published script has it (Python formulas), with the normaliser explicit. KL is to
// the behaviour policy if `reference` is null.
at::Tensor literal_loss(const Transformer& policy, const std::vector<Experience>& experiences,
                        const SurrogateSettings& s, const ScoredRounds& scored_rounds = {},
                        const Transformer* reference = nullptr, uint64_t seed = 0) {
  int64_t padded = 0;
  for (const auto& e : experiences) padded = std::max(padded, static_cast<int64_t>(e.rollout.tokens.size()));
  at::Tensor total = at::zeros({}, at::kDouble);
  double all_tokens = 0, count = 0;
  for (const auto& e : experiences) {
    at::Tensor of_response = at::zeros({}, at::kDouble);
    double tokens = 0;
    for (const auto& row : literal_rows(e, policy.config(), scored_rounds, seed)) {
      const auto fresh = literal_log_probs(policy, e.rollout, row, padded, s.temperature).to(at::kDouble);
      std::vector<double> old_values;
      for (int64_t p : row.selected) old_values.push_back(e.rollout.log_probs[p - e.rollout.prompt_tokens]);
      const auto old = scored_rounds.is_the_samplers() ? at::tensor(old_values, at::kDouble) : fresh.detach();
      const auto ratio = (fresh - old).clamp(-10, 10).exp();
      const auto gain =
          at::minimum(ratio * e.advantage, ratio.clamp(1 - s.clip_low, 1 + s.clip_high) * e.advantage);
      at::Tensor held_to = old;
      if (reference)
        held_to =
            literal_log_probs(*reference, e.rollout, row, padded, s.temperature).to(at::kDouble).detach();
      const auto kl = (held_to - fresh).exp() - 1 + (fresh - held_to);
      of_response = of_response - gain.sum() + s.kl_weight * kl.sum();
      tokens += static_cast<double>(row.selected.size());
    }
    if (s.normaliser == Normaliser::kSequences && tokens > 0) of_response = of_response / tokens;
    total = total + of_response;
    all_tokens += tokens;
    count += tokens > 0;
  }
  if (s.normaliser == Normaliser::kTokens) return total / all_tokens;
  if (s.normaliser == Normaliser::kSequences) return total / count;
  return total / (count * s.normaliser_tokens);
}

}  // namespace

TEST_CASE("the live layout gives loss and gradients of the published padded layout") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const PolicyConfig config = tiny_config(seed % 3 == 2 ? 3 : 4);
    UpdaterSettings settings = still_settings();
    const ScoredRounds scored_rounds{.shrink = 1 + static_cast<int64_t>(seed % 2)};
    settings.objective = scored_rounds.made();
    settings.surrogate.normaliser = static_cast<Normaliser>(seed % 3);
    settings.surrogate.normaliser_tokens = 16;
    settings.surrogate.kl_weight = 0.05;
    settings.surrogate.temperature = seed % 2 == 0 ? 1.0 : 0.7;
    const auto experiences = random_experiences(config, mix_key({5, seed}));
    for (const auto dtype : {at::kDouble, at::kFloat}) {
      Transformer policy = tiny_policy(config, seed, dtype);
      double expected_loss = 0;
      const at::Tensor expected = flat_gradient(policy, [&] {
        const at::Tensor loss = literal_loss(policy, experiences, settings.surrogate, scored_rounds);
        expected_loss = loss.item<double>();
        return loss;
      });
      const Gradient actual = gradient_of(policy, experiences, settings);
      INFO("seed " << seed << ", " << (dtype == at::kDouble ? "fp64" : "fp32"));
      CHECK(std::abs(actual.statistics[UpdateRow::kLoss] - expected_loss) <
            1e-5 * (1 + std::abs(expected_loss)));
      CHECK(relative_difference(actual.flat, expected) < (dtype == at::kDouble ? 1e-6 : 1e-5));
      CHECK(expected.norm().item<double>() > 1e-3);
      int64_t scored = 0;
      for (const auto& e : experiences)
        scored += std::count_if(e.rollout.step_map.begin(), e.rollout.step_map.end(),
                                [](int32_t s) { return s > 0; });
      CHECK(actual.statistics[UpdateRow::kTrainedTokens] == scored);
    }
  }
}

TEST_CASE("random and coupled masks have the literal formula's loss and gradient") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const PolicyConfig config = tiny_config(seed % 3 == 2 ? 3 : 4);
    UpdaterSettings settings = still_settings();
    settings.seed = seed;
    settings.tokens_per_pack = 120;
    const ScoredRounds scored_rounds{.objective = seed % 2 == 0 ? "random_masking" : "coupled"};
    settings.objective = scored_rounds.made();
    settings.surrogate.normaliser = static_cast<Normaliser>(seed / 2);
    settings.surrogate.normaliser_tokens = 16;
    settings.surrogate.kl_weight = 0.05;
    settings.surrogate.kl_reference = KlReference::kInitial;
    const auto experiences = random_experiences(config, mix_key({6, seed}));
    Transformer policy = tiny_policy(config, seed), reference = tiny_policy(config, seed + 1);
    double expected_loss = 0;
    const at::Tensor expected = flat_gradient(policy, [&] {
      const at::Tensor loss =
          literal_loss(policy, experiences, settings.surrogate, scored_rounds, &reference, seed);
      expected_loss = loss.item<double>();
      return loss;
    });
    const Gradient actual = gradient_of(policy, experiences, settings, &reference);
    INFO("seed " << seed);
    CHECK(std::abs(actual.statistics[UpdateRow::kLoss] - expected_loss) <
          1e-5 * (1 + std::abs(expected_loss)));
    CHECK(relative_difference(actual.flat, expected) < 1e-6);
    CHECK(expected.norm().item<double>() > 1e-3);
    CHECK(actual.statistics[UpdateRow::kLargestGap] < 1e-5);
    int64_t scored = 0;
    for (const Experience& e : experiences)
      for (const auto& row : literal_rows(e, config, scored_rounds, seed))
        scored += static_cast<int64_t>(row.selected.size());
    CHECK(actual.statistics[UpdateRow::kTrainedTokens] == scored);
  }
}

TEST_CASE("a coupled mask scores every token once, a random one half of them") {
  const PolicyConfig config = tiny_config(4);
  int64_t all = 0, once = 0, blocks_shown_whole = 0;
  for (uint64_t key = 0; key < 40; ++key)
    for (const Experience& e : random_experiences(config, key)) {
      const auto tokens = e.rollout.scored_tokens();
      all += tokens;
      once += masked_sequence(e, config, /*coupled=*/false, mask_key(key, 1, e)).scored_tokens();
      const LiveSequence coupled = masked_sequence(e, config, /*coupled=*/true, mask_key(key, 1, e));
      CHECK(coupled.scored_tokens() == tokens);
      std::set<std::pair<int64_t, int64_t>> seen;
      for (const NoisyBlock& noisy : coupled.noisy) {
        for (const ScoredToken& token : noisy.scored) {
          CHECK(noisy.inputs[token.offset] == config.mask_token_id);
          CHECK(seen.insert({noisy.block, token.offset}).second);
        }
        blocks_shown_whole += noisy.scored.empty();
      }
      // Another step, another mask; another sample or turn, too.
      Experience other = e, later = e;
      ++other.sample;
      later.turn = 1;
      CHECK(mask_key(key, 1, e) != mask_key(key, 2, e));
      CHECK(mask_key(key, 1, e) != mask_key(key, 1, other));
      CHECK(mask_key(key, 1, e) != mask_key(key, 1, later));
      // The masks of runs with one turn stay.
      CHECK(mask_key(key, 1, e) == mix_key({mix_key(key, "masks"), 1, static_cast<uint64_t>(e.group),
                                            static_cast<uint64_t>(e.sample)}));
    }
  CHECK(blocks_shown_whole == 0);
  CHECK(std::abs(static_cast<double>(once) / static_cast<double>(all) - 0.5) < 0.02);
}

TEST_CASE("KL to a frozen reference has the literal formula's loss and gradient") {
  const PolicyConfig config = tiny_config(4);
  const auto experiences = random_experiences(config, 8);
  Transformer policy = tiny_policy(config, 1), reference = tiny_policy(config, 2);
  UpdaterSettings settings = still_settings();
  settings.tokens_per_pack = 90;
  settings.surrogate.kl_weight = 0.3;
  settings.surrogate.kl_reference = KlReference::kInitial;
  double expected_loss = 0;
  const at::Tensor expected = flat_gradient(policy, [&] {
    const at::Tensor loss = literal_loss(policy, experiences, settings.surrogate, {}, &reference);
    expected_loss = loss.item<double>();
    return loss;
  });
  const Gradient actual = gradient_of(policy, experiences, settings, &reference);
  CHECK(std::abs(actual.statistics[UpdateRow::kLoss] - expected_loss) < 1e-5 * (1 + std::abs(expected_loss)));
  CHECK(relative_difference(actual.flat, expected) < 1e-6);
  // Another gradient than that of KL to the behaviour policy.
  settings.surrogate.kl_reference = KlReference::kBehaviour;
  CHECK(relative_difference(gradient_of(policy, experiences, settings).flat, expected) > 1e-2);
}

TEST_CASE("KL to the initial policy acts at one update a step, KL to the behaviour policy cannot") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 1), reference = tiny_policy(config, 2);
  auto experiences = random_experiences(config, 8, &policy);
  for (Experience& e : experiences) e.advantage = 0;
  UpdaterSettings settings = still_settings();
  settings.surrogate.kl_weight = 1;
  const auto norm = [&](KlReference kind) {
    settings.surrogate.kl_reference = kind;
    return gradient_of(policy, experiences, settings, &reference).flat.norm().item<double>();
  };
  CHECK(norm(KlReference::kBehaviour) < 1e-5);
  CHECK(norm(KlReference::kInitial) > 1e-2);
}

TEST_CASE("the live layout computes far fewer rows than the published one") {
  const PolicyConfig config = tiny_config(4);
  const auto experiences = random_experiences(config, 1);
  Transformer policy = tiny_policy(config, 1);
  const auto statistics = gradient_of(policy, experiences, still_settings()).statistics;
  CHECK(2 * statistics[UpdateRow::kPackedRows] < published_layout_rows(experiences, config, 1));
}

TEST_CASE("log-probabilities of the live layout are those of step-by-step decoding") {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    for (int64_t block_size : {1, 3, 4}) {
      const PolicyConfig config = tiny_config(block_size);
      Transformer policy = tiny_policy(config, 3, dtype);
      UpdaterSettings settings = still_settings();
      settings.surrogate.temperature = 0.8;
      settings.tokens_per_pack = 64;
      const auto experiences = random_experiences(config, 11, &policy, 0.8);
      const auto statistics = gradient_of(policy, experiences, settings).statistics;
      INFO("block size " << block_size);
      CHECK(statistics[UpdateRow::kLargestGap] < 1e-5);
      CHECK(statistics[UpdateRow::kTrainedTokens] > 0);
      CHECK(statistics["clip_share"] == 0);
      CHECK(statistics["kl"] < 1e-8);
    }
  }
}

TEST_CASE("forgetting when unscored tokens were accepted shows as a log-probability gap") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 3);
  auto experiences = random_experiences(config, 11, &policy);
  for (auto& e : experiences) {
    for (auto& step : e.rollout.step_map) step = std::max(step, 0);
  }
  CHECK(gradient_of(policy, experiences, still_settings()).statistics[UpdateRow::kLargestGap] > 1e-3);
}
