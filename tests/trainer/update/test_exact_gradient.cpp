// Gradients of objectives over what the sampler drew, against the gradient of the expected reward: every
// response that a small policy can give is enumerated, draw by draw, with the sampler's acceptance and
// record, and goes through an update. The expected reward's own gradient knows of acceptance only which draws
// lead where.
#include "tests/trainer/fixtures.h"

#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <deque>
#include <map>

#include "common/rng.h"
#include "policy/distribution.h"
#include "rollout/decoding/sampling.h"
#include "rollout/decoding/sequence.h"
#include "rollout/record/rejected_mass.h"
#include "tests/support/dense_attention.h"
#include "tests/support/support.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr int64_t kMask = 0;
constexpr uint64_t kRewards = 5;

struct Case {
  int64_t block_size = 2;
  int64_t ids = 3;  // 1, 2, ...: of which each may be drawn
  AcceptanceStrategy strategy = AcceptanceStrategy::kLowConfidenceDynamic;
  int64_t steps = 0;  // of a block; 0: its size
  double threshold = 0.5;
  double temperature = 0.4;
  int64_t prompt_tokens = 2;
  int64_t new_tokens = 2;
  bool has_end = false;          // id 1 ends a response
  std::string delimiter{};       // of a clamp
  bool equal_positions = false;  // distributions do not depend on the position, so that confidences are equal
  uint64_t seed = 1;
  int64_t top_k = 0;
  double top_p = 1;
};

// A draw in a context, of which the table below has a row for each position of the block.
struct DrawAt {
  size_t context = 0;
  int64_t offset = 0, id = 0;
};

struct Response {
  Rollout rollout;
  std::vector<DrawAt> draws;
  double probability = 1;
  double reward = 0;
};

class Enumeration {
 public:
  explicit Enumeration(const Case& c, CandidateTerms recorded)
      : case_(c),
        recorded_(recorded),
        policy_(make_policy(c)),
        allowed_(allowed_ids(policy_.config(), c.ids + 1, at::kCPU)),
        acceptance_({.strategy = c.strategy, .threshold = c.threshold, .entropy_bound = 1.2}) {
    GenerationRequest request;
    request.delimiter = c.delimiter;
    for (int64_t i = 0; i < c.prompt_tokens; ++i) request.prompt_tokens.push_back(2 + i % 2);
    walk(Sequence(request, 0, 0, policy_.config(), tokenizer(), c.new_tokens, recorded_), {}, 1);
  }

  const std::vector<Response>& responses() const { return responses_; }
  int64_t terms() const {
    int64_t terms = 0;
    for (const Response& r : responses_) terms += r.rollout.candidates.terms();
    return terms;
  }

  // Of the expected reward.
  at::Tensor true_gradient() {
    std::vector<int64_t> responses, draws;
    std::vector<double> rewards;
    const int64_t b = case_.block_size, vocab = policy_.config().vocab_size;
    for (size_t i = 0; i < responses_.size(); ++i) {
      rewards.push_back(responses_[i].reward);
      for (const DrawAt& draw : responses_[i].draws) {
        responses.push_back(static_cast<int64_t>(i));
        draws.push_back((static_cast<int64_t>(draw.context) * b + draw.offset) * vocab + draw.id);
      }
    }
    return flat_gradient(policy_, [&] {
      std::vector<at::Tensor> tables;
      for (size_t i = 0; i < contexts_.size(); ++i)
        tables.push_back(restricted(table_of(contexts_[i]), contexts_[i].kept));
      const at::Tensor drawn = at::cat(tables).flatten().index_select(0, at::tensor(draws, at::kLong));
      const at::Tensor log_probs = at::zeros({std::ssize(responses_)}, at::kDouble)
                                       .index_add(0, at::tensor(responses, at::kLong), drawn.to(at::kDouble));
      return (log_probs.exp() * at::tensor(rewards, at::kDouble)).sum();
    });
  }

  // What updates from the responses climb on average, with these rewards or with one for all.
  at::Tensor expected_gradient(const std::string& objective, bool equal_rewards = false) {
    std::vector<Experience> experiences;
    for (size_t i = 0; i < responses_.size(); ++i) {
      Experience& e = experiences.emplace_back();
      e.sample = static_cast<int64_t>(i);
      e.rollout = responses_[i].rollout;
      e.advantage = responses_[i].probability * (equal_rewards ? 1 : responses_[i].reward);
    }
    UpdaterSettings settings = still_settings();
    settings.objective = objective_of("{objective: " + objective + "}");
    settings.surrogate.temperature = case_.temperature;
    settings.surrogate.normaliser = Normaliser::kConstant;
    settings.surrogate.normaliser_tokens = 1;
    OneRank alone;
    PolicyUpdater updater(policy_, allowed_, settings, alone.control, alone.tensors);
    at::Tensor gradient;
    updater.observe_gradients([&](const std::vector<at::Tensor>& g) { gradient = flat(g).clone(); });
    statistics_ = reinforce(updater, experiences);
    return gradient.neg() * static_cast<double>(experiences.size());
  }
  const UpdateStatistics& statistics() const { return statistics_; }

 private:
  static const Tokenizer& tokenizer() {
    static const Tokenizer tokenizer =
        Tokenizer::from_folder(bicrl::testing::source_path("tests/rollout/tiny_tokenizer"));
    return tokenizer;
  }

  static Transformer make_policy(const Case& c) {
    PolicyConfig config = tiny_config(c.block_size);
    config.vocab_size = c.ids + 1;
    config.mask_token_id = kMask;
    config.end_token_ids.clear();
    if (c.has_end) config.end_token_ids.push_back(1);
    Transformer policy = tiny_policy(config, c.seed);
    const at::NoGradGuard guard;
    if (c.equal_positions)
      for (const auto& [name, value] : policy.parameters())
        if (name.find("o_proj") != std::string::npos) value.zero_();
    return policy;
  }

  // Of the last block of `tokens`, [block_size, vocab] each: the policy's log-probabilities, those that are
  // drawn from, and the ids of these by the sampler (undefined: all).
  struct Context {
    std::vector<int64_t> tokens;
    at::Tensor log_probs, drawn, kept;
  };

  at::Tensor logits_of(const std::vector<int64_t>& tokens) const {
    const auto count = std::ssize(tokens);
    const int64_t b = case_.block_size;
    DenseMaskAttention attention(block_causal_mask(count, b, at::kCPU));
    const auto hidden =
        policy_.hidden(at::tensor(tokens, at::kLong), at::arange(count, at::kLong), attention);
    return policy_.logits(hidden.narrow(0, count - b, b));
  }
  at::Tensor table_of(const Context& context) const {
    return policy_log_softmax(logits_of(context.tokens), allowed_, case_.temperature);
  }
  static at::Tensor restricted(const at::Tensor& log_probs, const at::Tensor& kept) {
    if (!kept.defined()) return log_probs;
    const at::Tensor among = log_probs.masked_fill(kept.logical_not(), -INFINITY);
    return log_probs - among.logsumexp(1, /*keepdim=*/true);
  }

  size_t context_of(const std::vector<int64_t>& tokens) {
    const auto [found, is_new] = numbers_.try_emplace(tokens, contexts_.size());
    if (is_new) {
      const at::NoGradGuard guard;
      Context& context = contexts_.emplace_back();
      context.tokens = tokens;
      context.log_probs = table_of(context);
      const at::Tensor logits = logits_of(tokens).to(at::kFloat);
      context.kept =
          sample_candidates(logits, allowed_, at::zeros({case_.block_size}, at::kDouble),
                            {.temperature = case_.temperature, .top_k = case_.top_k, .top_p = case_.top_p})
              .kept;
      context.drawn = restricted(context.log_probs, context.kept);
    }
    return found->second;
  }

  static std::vector<int64_t> ids_of(const at::Tensor& kept) {
    std::vector<int64_t> ids;
    for (int64_t id = 0; id < kept.numel(); ++id)
      if (kept[id].item<bool>()) ids.push_back(id);
    return ids;
  }

  void walk(Sequence sequence, const std::vector<DrawAt>& path, double probability) {
    if (sequence.block_finished() && sequence.close_block()) {
      Rollout rollout = sequence.take_rollout(0);
      Response& response = responses_.emplace_back();
      uint64_t key = kRewards;
      for (int64_t i = 0; i < rollout.scored_tokens(); ++i)
        key = mix_key({key, static_cast<uint64_t>(rollout.tokens[rollout.prompt_tokens + i])});
      response = {std::move(rollout), path, probability, uniform_at(key, 0)};
      return;
    }
    const size_t context = context_of(sequence.tokens());
    std::vector<int64_t> masked;
    for (int64_t offset = 0; offset < case_.block_size; ++offset)
      if (sequence.masked(offset)) masked.push_back(offset);
    std::vector<int64_t> drawn(masked.size(), 1);
    for (bool is_last = false; !is_last;) {
      step(sequence, context, masked, drawn, path, probability);
      size_t next = 0;
      while (next < drawn.size() && drawn[next] == case_.ids) drawn[next++] = 1;
      is_last = next == drawn.size();
      if (!is_last) ++drawn[next];
    }
  }

  // One denoise step that draws these ids.
  void step(Sequence sequence, size_t context, const std::vector<int64_t>& masked,
            const std::vector<int64_t>& drawn, std::vector<DrawAt> path, double probability) {
    const int64_t b = case_.block_size;
    const Context& here = contexts_[context];
    const at::Tensor wide = here.log_probs, log_probs = wide.to(at::kFloat);
    for (size_t i = 0; i < masked.size() && here.kept.defined(); ++i)
      if (!here.kept[masked[i]][drawn[i]].item<bool>()) return;
    const at::Tensor score = at::zeros({1, b}, at::kFloat), open = at::zeros({1, b}, at::kBool);
    std::vector<float> confidence(b, 0.0f), of_drawn(b, 0.0f);
    for (size_t i = 0; i < masked.size(); ++i) {
      const int64_t offset = masked[i];
      const at::Tensor log_prob = log_probs[offset][drawn[i]];
      path.push_back({context, offset, drawn[i]});
      probability *= std::exp(here.drawn[offset][drawn[i]].item<double>());
      confidence[offset] = log_prob.exp().item<float>();
      // Without a record the sampler keeps those of the whole distribution.
      const at::Tensor& kept_as = recorded_ == CandidateTerms::kNone ? wide : here.drawn;
      of_drawn[offset] = kept_as[offset][drawn[i]].item<float>();
      open[0][offset] = true;
      score[0][offset] = score_of(wide[offset], offset, confidence[offset]);
    }
    const int64_t steps = case_.steps == 0 ? b : case_.steps;
    const int64_t quota = acceptance_quota(b, steps, sequence.step_in_block());
    const at::Tensor chosen = accept(acceptance_, score, open, at::full({1}, quota, at::kLong));
    std::vector<char> accepted(b, 0);
    for (int64_t offset : masked) accepted[offset] = chosen[0][offset].item<bool>();
    for (size_t i = 0; i < masked.size(); ++i) {
      const int64_t offset = masked[i];
      if (here.kept.defined() && recorded_ != CandidateTerms::kNone)
        sequence.record_kept(offset, ids_of(here.kept[offset]));
      if (accepted[offset]) {
        sequence.accept(offset, drawn[i], of_drawn[offset]);
      } else if (recorded_ == CandidateTerms::kDraws) {
        sequence.record_draw(offset, drawn[i], of_drawn[offset]);
      } else if (recorded_ == CandidateTerms::kRejected && accepts_by_confidence(case_.strategy)) {
        const AcceptanceCut cut = acceptance_cut(acceptance_, confidence, accepted);
        const RejectedMass mass =
            rejected_mass(log_probs[offset].unsqueeze(0), {cut}, {offset},
                          here.kept.defined() ? here.kept[offset].unsqueeze(0) : at::Tensor());
        if (!mass.ids[0].empty()) sequence.record_excluded(offset, mass.ids[0], mass.log_masses[0]);
      }
    }
    sequence.end_step();
    walk(std::move(sequence), path, probability);
  }

  float score_of(const at::Tensor& log_probs, int64_t offset, float confidence) const {
    if (case_.strategy == AcceptanceStrategy::kEntropyBounded)
      return -at::special_entr(log_probs.exp()).sum().item<float>();
    if (case_.strategy == AcceptanceStrategy::kRandom)
      return static_cast<float>(offset);  // lots by which the last position goes first
    return confidence;
  }

  Case case_;
  CandidateTerms recorded_;
  Transformer policy_;
  at::Tensor allowed_;
  AcceptanceSettings acceptance_;
  std::vector<Response> responses_;
  std::map<std::vector<int64_t>, size_t> numbers_;
  std::deque<Context> contexts_;
  UpdateStatistics statistics_;
};

double cosine(const at::Tensor& a, const at::Tensor& b) {
  return (at::dot(a, b) / a.norm() / b.norm()).item<double>();
}

struct Figures {
  double cosine = 0, norm = 0;  // of the true gradient's
  double score = 0;             // the norm of the score's expectation, likewise
  int64_t terms = 0;            // recorded, of all responses
};

Figures figures_of(const Case& c, const std::string& objective) {
  const CandidateTerms recorded = objective_of("{objective: " + objective + "}")->recorded_candidates();
  Enumeration all(c, recorded);
  double probability = 0;
  for (const Response& response : all.responses()) probability += response.probability;
  CHECK(std::abs(probability - 1) < 1e-6);
  const at::Tensor expected = all.true_gradient(), climbed = all.expected_gradient(objective);
  const double norm = expected.norm().item<double>();
  CHECK(all.statistics()[UpdateRow::kLargestGap] < 1e-2);  // in fp32, to what the sampler recorded
  return {cosine(climbed, expected), climbed.norm().item<double>() / norm,
          all.expected_gradient(objective, true).norm().item<double>() / norm, all.terms()};
}

void check_exact(const Case& c) {
  for (const std::string objective : {"draws", "exact"}) {
    INFO(objective);
    const Figures f = figures_of(c, objective);
    CHECK(f.cosine > 0.999995);
    CHECK(std::abs(f.norm - 1) < 1e-3);
    CHECK(f.score < 1e-3);  // head and record are in fp32
    CHECK(f.terms > 0);
  }
}

constexpr auto kStatic = AcceptanceStrategy::kLowConfidenceStatic;
constexpr auto kDynamic = AcceptanceStrategy::kLowConfidenceDynamic;

}  // namespace

TEST_CASE("draws and exact have the gradient of the expected reward where trace has not") {
  Case c;
  SECTION("dynamic, blocks of two, three ids") {}
  SECTION("dynamic, blocks of two, five ids") { c.ids = 5; }
  SECTION("dynamic, blocks of three") { c.block_size = c.prompt_tokens = c.new_tokens = 3; }
  SECTION("dynamic, blocks of three, quota two") {
    c = {.block_size = 3, .steps = 2, .threshold = 0.6, .prompt_tokens = 3, .new_tokens = 3};
  }
  SECTION("dynamic, a threshold below one half") {
    c.threshold = 0.3;  // which several ids of a position may meet
    c.temperature = 1.5;
  }
  SECTION("dynamic, a threshold that nothing meets") { c.threshold = 1.0; }
  SECTION("static, blocks of two") { c.strategy = kStatic; }
  SECTION("static, blocks of two, five ids") {
    c.strategy = kStatic;
    c.ids = 5;
  }
  SECTION("static, blocks of three, quota two") {
    c = {.block_size = 3, .strategy = kStatic, .steps = 2, .prompt_tokens = 3, .new_tokens = 3};
  }
  SECTION("static, equal confidences at different positions") {
    c = {.block_size = 3, .strategy = kStatic, .prompt_tokens = 3, .new_tokens = 3, .equal_positions = true};
  }
  SECTION("dynamic, equal confidences at different positions") { c.equal_positions = true; }
  SECTION("dynamic, an end token") {
    c = {.block_size = 3, .prompt_tokens = 3, .new_tokens = 3, .has_end = true};
  }
  SECTION("static, an end token") { c = {.block_size = 2, .strategy = kStatic, .has_end = true}; }
  SECTION("dynamic, a prompt's tail and a second block") {
    c.prompt_tokens = 3;
    c.new_tokens = 3;
    c.has_end = true;
  }
  SECTION("static, a prompt's tail") {
    c = {.block_size = 3, .strategy = kStatic, .prompt_tokens = 4, .new_tokens = 2};
  }
  SECTION("dynamic, a clamp") {
    c = {.block_size = 3, .prompt_tokens = 4, .new_tokens = 2, .delimiter = "\""};
  }
  SECTION("static, a clamp") {
    c = {.block_size = 3, .strategy = kStatic, .prompt_tokens = 4, .new_tokens = 2, .delimiter = "\""};
  }
  for (c.seed = 1; c.seed <= 3; ++c.seed) {
    INFO("seed " << c.seed);
    check_exact(c);
    const Figures published = figures_of(c, "trace");
    CHECK(published.cosine < 0.999);
    CHECK(published.score > 1e-3);
  }
}

TEST_CASE("under top-k and top-p draws and exact score the distribution that was drawn from") {
  Case c{.ids = 5};
  SECTION("dynamic, top-k") { c.top_k = 3; }
  SECTION("dynamic, top-p") { c.top_p = 0.8; }
  SECTION("static, both") {
    c.strategy = kStatic;
    c.top_k = 4;
    c.top_p = 0.9;
  }
  SECTION("dynamic, an end token behind which draws count, top-k") {
    c = {.block_size = 3, .ids = 4, .prompt_tokens = 3, .new_tokens = 3, .has_end = true, .top_k = 2};
  }
  SECTION("sequential, top-k") {
    c.strategy = AcceptanceStrategy::kSequential;
    c.top_k = 2;
  }
  c.temperature = 1;
  for (c.seed = 1; c.seed <= 2; ++c.seed) {
    INFO("seed " << c.seed);
    for (const std::string objective : {"draws", "exact"}) {
      INFO(objective);
      const Figures f = figures_of(c, objective);
      CHECK(f.cosine > 0.999995);
      CHECK(std::abs(f.norm - 1) < 1e-3);
      CHECK(f.score < 1e-3);
    }
    CHECK(figures_of(c, "trace").score > 1e-3);
  }
}

TEST_CASE("accepted tokens alone are exact where acceptance does not go by confidence") {
  Case c{.block_size = 3, .prompt_tokens = 3, .new_tokens = 3};
  SECTION("sequential") { c.strategy = AcceptanceStrategy::kSequential; }
  SECTION("random") { c.strategy = AcceptanceStrategy::kRandom; }
  SECTION("entropy-bounded") { c.strategy = AcceptanceStrategy::kEntropyBounded; }
  Enumeration record(c, CandidateTerms::kRejected);
  CHECK(record.terms() == 0);
  const at::Tensor expected = record.true_gradient(), exact = record.expected_gradient("exact");
  CHECK(cosine(exact, expected) > 0.999995);
  Enumeration none(c, CandidateTerms::kNone);
  CHECK(relative_difference(none.expected_gradient("trace"), exact) < 1e-9);
  for (const int64_t steps : {2, 3})
    for (const std::string objective : {"draws", "exact"}) {
      INFO(objective << " with " << steps << " steps");
      Case quota = c;
      quota.steps = steps;
      const Figures f = figures_of(quota, objective);
      CHECK(f.cosine > 0.999995);
      CHECK(f.score < 1e-3);
    }
  // With tokens behind an end, which positions before it have seen, trace is not.
  c.has_end = true;
  c.seed = 2;  // whose policy lets them matter
  c.strategy = AcceptanceStrategy::kRandom;
  Enumeration ends(c, CandidateTerms::kRejected);
  CHECK(ends.terms() > 0);
  CHECK(cosine(ends.expected_gradient("exact"), ends.true_gradient()) > 0.999995);
  CHECK(figures_of(c, "trace").cosine < 0.999);
}

TEST_CASE("an objective refuses rollouts that were sampled for another") {
  const Case c;
  Enumeration none(c, CandidateTerms::kNone), draws(c, CandidateTerms::kDraws);
  CHECK_THROWS_AS(none.expected_gradient("exact"), InputError);
  CHECK_THROWS_AS(draws.expected_gradient("exact"), InputError);
  CHECK_THROWS_AS(objective_of("{objective: exact, shrink: 2}"), InputError);
}
