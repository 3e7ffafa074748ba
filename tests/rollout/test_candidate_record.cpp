// What the sampler records of candidates, against decoding written down literally.
#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "common/error.h"
#include "rollout/record/rejected_mass.h"
#include "tests/rollout/literal_decoder.h"
#include "tests/rollout/tiny_decoding.h"

namespace bicrl {
namespace {

using namespace testing;

struct Term {
  int64_t token = 0, step = 0, excluded = 0;
  std::vector<int64_t> ids;
  double log_likelihood = 0;
};

std::vector<Term> terms_of(const CandidateRecord& record) {
  std::vector<Term> terms;
  auto id = record.ids.begin();
  for (int64_t i = 0; i < record.terms(); ++i) {
    const int64_t count = std::max(record.excluded[i], 1);
    terms.push_back(
        {record.tokens[i], record.steps[i], record.excluded[i], {id, id + count}, record.log_likelihoods[i]});
    id += count;
  }
  return terms;
}

// Of the literal response, as CandidateRecord says.
std::vector<Term> expected_terms(const LiteralResponse& literal, CandidateTerms kind, int64_t prompt_tokens,
                                 int64_t scored) {
  std::vector<Term> terms;
  for (const LiteralRejection& r : literal.rejections) {
    if (kind == CandidateTerms::kDraws) terms.push_back({r.token, r.step, 0, {r.drawn}, r.log_prob});
    if (kind == CandidateTerms::kRejected && !r.excluded.empty())
      terms.push_back({r.token, r.step, std::ssize(r.excluded), r.excluded, std::log1p(-r.excluded_mass)});
  }
  for (int64_t i = scored; i < std::ssize(literal.steps); ++i)
    terms.push_back({i, literal.steps[i], 0, {literal.tokens[prompt_tokens + i]}, literal.log_probs[i]});
  return terms;
}

void check_equal(const std::vector<Term>& terms, const std::vector<Term>& expected) {
  REQUIRE(terms.size() == expected.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    INFO("term " << i << " of token " << expected[i].token << ", step " << expected[i].step);
    CHECK(terms[i].token == expected[i].token);
    CHECK(terms[i].step == expected[i].step);
    CHECK(terms[i].excluded == expected[i].excluded);
    CHECK(terms[i].ids == expected[i].ids);
    CHECK(std::abs(terms[i].log_likelihood - expected[i].log_likelihood) < 1e-5);
  }
}

}  // namespace

TEST_CASE("the sampler records the candidates that it did not accept", "[candidate_record]") {
  DecodingSettings settings;
  settings.max_new_tokens = 14;
  settings.max_active = 5;
  settings.acceptance.threshold = 0.1;
  SECTION("dynamic acceptance") {}
  SECTION("dynamic acceptance, two a step") { settings.denoise_steps = 2; }
  SECTION("dynamic acceptance by a low threshold") { settings.acceptance.threshold = 0.02; }
  SECTION("static acceptance with three steps a block") {
    settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
    settings.denoise_steps = 3;
  }
  SECTION("dynamic acceptance of the five likeliest ids") { settings.sampling.top_k = 5; }
  SECTION("static acceptance of the likelier half") {
    settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
    settings.denoise_steps = 3;
    settings.sampling.top_p = 0.5;
  }
  SECTION("sequential acceptance") { settings.acceptance.strategy = AcceptanceStrategy::kSequential; }
  SECTION("acceptance by lot") { settings.acceptance.strategy = AcceptanceStrategy::kRandom; }
  SECTION("entropy-bounded acceptance") {
    settings.acceptance.strategy = AcceptanceStrategy::kEntropyBounded;
    settings.acceptance.entropy_bound = 5.0;
  }
  const bool by_confidence = accepts_by_confidence(settings.acceptance.strategy);
  const auto requests = make_requests(5, 2);
  std::vector<int64_t> end_tokens;  // so many that responses end within blocks
  for (int64_t id = 40; id < 80; ++id) end_tokens.push_back(id);
  const Transformer policy = tiny_policy(tiny_config(end_tokens));
  const auto without = generate(policy, settings, requests);
  int64_t rejected = 0, behind_the_end = 0;
  for (const CandidateTerms kind : {CandidateTerms::kDraws, CandidateTerms::kRejected}) {
    settings.recorded = kind;
    const auto rollouts = generate(policy, settings, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      INFO("request " << i);
      CHECK((rollouts[i].tokens == without[i].tokens && rollouts[i].step_map == without[i].step_map));
      CHECK(identical(rollouts[i], without[i]) == !settings.sampling.is_restricted());
      CHECK(without[i].candidates == CandidateRecord());
      CHECK(rollouts[i].candidates.kind == kind);
      LiteralResponse literal =
          decode_literally(policy, tiny_tokenizer().size(), end_tokens, requests[i], settings);
      if (kind == CandidateTerms::kRejected && !by_confidence) literal.rejections.clear();
      const auto expected =
          expected_terms(literal, kind, rollouts[i].prompt_tokens, rollouts[i].scored_tokens());
      check_equal(terms_of(rollouts[i].candidates), expected);
      behind_the_end += rollouts[i].response_tokens() - rollouts[i].scored_tokens();
      if (kind == CandidateTerms::kRejected)
        rejected += std::ranges::count_if(expected, [](const Term& term) { return term.excluded > 0; });
    }
  }
  CHECK(behind_the_end > 0);
  CHECK((rejected > 0) == by_confidence);
}

TEST_CASE("a cut is the threshold or the last candidate that a quota took", "[candidate_record]") {
  const auto cut_of = [](AcceptanceStrategy strategy, std::vector<float> confidence,
                         std::vector<char> accepted) {
    const AcceptanceCut cut = acceptance_cut({.strategy = strategy, .threshold = 0.6}, confidence, accepted);
    return std::pair(cut.confidence, cut.offset);
  };
  constexpr auto kDynamic = AcceptanceStrategy::kLowConfidenceDynamic;
  constexpr auto kStatic = AcceptanceStrategy::kLowConfidenceStatic;
  CHECK(cut_of(kDynamic, {.7f, .9f, .5f}, {1, 1, 0}) == std::pair(.6f, int64_t{0}));
  CHECK(cut_of(kDynamic, {.4f, .9f, .5f}, {0, 1, 1}) == std::pair(.5f, int64_t{2}));
  CHECK(cut_of(kStatic, {.7f, .9f, .5f}, {1, 1, 0}) == std::pair(.7f, int64_t{0}));
  CHECK(cut_of(kStatic, {.7f, .7f, .7f}, {1, 1, 0}) == std::pair(.7f, int64_t{1}));
  CHECK_THROWS_AS(cut_of(kStatic, {.7f, .7f, .7f}, {0, 0, 0}), Error);
}

TEST_CASE("ids as confident as the cut are ahead of it only from positions left of it",
          "[candidate_record]") {
  const at::Tensor row = at::tensor({0.25, 0.5, 0.125, 0.125}, at::kFloat).log();
  const auto excluded = [&](AcceptanceCut cut, int64_t offset) {
    return rejected_mass(row.unsqueeze(0), {cut}, {offset}).ids[0];
  };
  using Ids = std::vector<int64_t>;
  const float quarter = row.exp()[0].item<float>();
  CHECK(excluded({quarter, 1}, 0) == Ids{0, 1});
  CHECK(excluded({quarter, 1}, 2) == Ids{1});
  CHECK(excluded({quarter, 0}, 2) == Ids{1});  // as of a threshold
  const RejectedMass both = rejected_mass(at::stack({row, row}), {{0.2f, 0}, {0.9f, 1}}, {1, 0});
  CHECK(std::abs(both.log_masses[0] - std::log(0.25)) < 1e-6);
  CHECK((both.ids[1].empty() && both.log_masses[1] == 0));
  // A row whose likeliest id rounds to 1: what is left has a finite logarithm.
  const at::Tensor sure = at::log_softmax(at::tensor({40.0, 0.0}, at::kFloat), 0).unsqueeze(0);
  CHECK(std::isfinite(rejected_mass(sure, {{0.9f, 0}}, {1}).log_masses[0]));
}

TEST_CASE("what is left of a distribution is precise where little is taken", "[candidate_record]") {
  CHECK(log_complement(0.0) == 0);
  CHECK(std::abs(log_complement(1e-12) / -1e-12 - 1) < 1e-9);
  CHECK(std::abs(log_complement(0.75) - std::log(0.25)) < 1e-12);
  const at::Tensor masses = at::tensor({1e-7, 0.75, 1.0}, at::kFloat).requires_grad_();
  const at::Tensor logs = log_complement(masses);
  logs.sum().backward();
  CHECK(std::abs(logs[0].item<double>() / -1e-7 - 1) < 1e-6);
  CHECK(std::isfinite(logs[2].item<double>()));
  CHECK(std::abs(masses.grad()[1].item<double>() + 4) < 1e-5);
  CHECK(masses.grad()[2].item<double>() == 0);
}

}  // namespace bicrl
