// The decode engine against decoding written down literally, and its invariants.
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "common/error.h"
#include "common/rng.h"
#include "policy/transformer.h"
#include "rollout/decoding/decode_engine.h"
#include "rollout/decoding/scheduler.h"
#include "tests/rollout/literal_decoder.h"
#include "tests/rollout/tiny_decoding.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

// The literal response cut as Rollout says.
void check_equal(const Rollout& rollout, const LiteralResponse& literal,
                 const std::vector<int64_t>& end_tokens) {
  INFO("task " << rollout.task_id);
  REQUIRE(rollout.tokens == literal.tokens);
  CHECK(rollout.denoise_steps == literal.denoise_steps);
  CHECK(rollout.policy_version == 9);
  const auto response = literal.tokens.begin() + rollout.prompt_tokens;
  const auto end = std::find_first_of(response, literal.tokens.end(), end_tokens.begin(), end_tokens.end());
  const bool ended = end != literal.tokens.end();
  CHECK(rollout.finish == (ended ? FinishReason::kEndToken : FinishReason::kTokenLimit));
  const int64_t scored = ended ? end - response + 1 : rollout.response_tokens();
  CHECK(rollout.text == tiny_tokenizer().decode({response, end}));
  for (int64_t i = 0; i < rollout.response_tokens(); ++i) {
    INFO("response token " << i);
    CHECK(rollout.step_map[i] == (i < scored ? literal.steps[i] : -literal.steps[i]));
    CHECK(std::abs(rollout.log_probs[i] - (i < scored ? literal.log_probs[i] : 0.0)) < 1e-5);
  }
}

// A response and a token that first appears in it, inside a block behind the first, and not at the block's
// end.
struct MiddleToken {
  size_t response = 0;
  int64_t token = -1;
};

MiddleToken token_in_the_middle(const std::vector<Rollout>& rollouts, int64_t block_size) {
  for (size_t n = 0; n < rollouts.size(); ++n) {
    const auto response = rollouts[n].tokens.begin() + rollouts[n].prompt_tokens;
    for (int64_t i = block_size; i < rollouts[n].response_tokens(); ++i) {
      const bool fresh = std::find(response, response + i, response[i]) == response + i;
      if (fresh && (rollouts[n].prompt_tokens + i + 1) % block_size != 0) return {n, response[i]};
    }
  }
  FAIL("no such token");
  return {};
}

// A token that another response begins with, and that this one does not hold.
int64_t first_of_another(const std::vector<Rollout>& rollouts, size_t response) {
  const auto& own = rollouts[response].tokens;
  for (const Rollout& other : rollouts) {
    const int64_t first = other.tokens[static_cast<size_t>(other.prompt_tokens)];
    if (std::find(own.begin(), own.end(), first) == own.end()) return first;
  }
  FAIL("no such token");
  return -1;
}

}  // namespace

TEST_CASE("batched decoding equals literal decoding", "[decode_engine]") {
  const auto wide_blocks = [](int64_t size, int64_t& block_size, DecodingSettings& settings) {
    block_size = size;
    settings.max_new_tokens = 2 * size + 2;  // so that responses end within a block behind the first
    settings.acceptance.threshold = 0.1;
  };
  DecodingSettings settings;
  settings.max_new_tokens = 18;
  settings.max_active = 5;  // fewer than the requests: sequences join while others are in the middle
  settings.acceptance.threshold = 0.3;
  int64_t block_size = 4;
  SECTION("dynamic acceptance") {}
  SECTION("static acceptance with three steps a block") {
    settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
    settings.denoise_steps = 3;
  }
  SECTION("sequential acceptance, two a step") {
    settings.acceptance.strategy = AcceptanceStrategy::kSequential;
    settings.denoise_steps = 2;
  }
  SECTION("entropy-bounded acceptance") {
    settings.acceptance.strategy = AcceptanceStrategy::kEntropyBounded;
    settings.acceptance.entropy_bound = 7.0;
  }
  SECTION("acceptance by lot") { settings.acceptance.strategy = AcceptanceStrategy::kRandom; }
  SECTION("blocks of eight") { block_size = 8; }
  SECTION("blocks of sixteen, a page each") { wide_blocks(16, block_size, settings); }
  SECTION("blocks of 32, of two pages") { wide_blocks(32, block_size, settings); }
  SECTION("blocks of 64, of four pages") { wide_blocks(64, block_size, settings); }
  SECTION("hot, with top-k and top-p") {
    settings.sampling.temperature = 1.4;
    settings.sampling.top_k = 20;
    settings.sampling.top_p = 0.8;
  }
  SECTION("confidence as published") {
    settings.sampling.top_k = 5;
    settings.sampling.reference_confidence = true;
  }
  SECTION("greedy") { settings.sampling.temperature = 0; }
  SECTION("a cache of two sequences and a prompt chunk of one block") {
    settings.cache_tokens = 6 * KvCache::kPageTokens;
    settings.prefill_tokens = 4;
  }
  SECTION("commits of their own") { settings.fused_commit = false; }

  const auto requests = make_requests(5, 3);
  const Transformer endless = tiny_policy(tiny_config({}, block_size));
  const auto free = generate(endless, settings, requests);
  const auto [ending, end_token] = token_in_the_middle(free, block_size);
  const std::vector<int64_t> end_tokens = {end_token, first_of_another(free, ending)};
  const Transformer policy = tiny_policy(tiny_config(end_tokens, block_size));
  const auto rollouts = generate(policy, settings, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    check_equal(rollouts[i],
                decode_literally(policy, tiny_tokenizer().size(), end_tokens, requests[i], settings),
                end_tokens);
  }
  CHECK(rollouts[ending].finish == FinishReason::kEndToken);
  CHECK(rollouts[ending].step_map.back() < 0);
  const auto ends_at = [&](const Rollout& rollout, int64_t token) {
    const int64_t scored =
        std::count_if(rollout.step_map.begin(), rollout.step_map.end(), [](int s) { return s > 0; });
    return rollout.tokens[rollout.prompt_tokens + scored - 1] == token;
  };
  for (const Rollout& rollout : rollouts) {
    const bool limit = rollout.finish == FinishReason::kTokenLimit;
    CHECK(rollout.tokens_left ==
          (limit ? 0 : std::max<int64_t>(0, settings.max_new_tokens - rollout.scored_tokens())));
  }
  for (const int64_t token : end_tokens)
    CHECK(std::any_of(rollouts.begin(), rollouts.end(), [&](const Rollout& r) { return ends_at(r, token); }));
}

TEST_CASE("a response depends on its request alone, not on the batch", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 14;
  const Transformer policy = tiny_policy(tiny_config());
  const auto requests = make_requests(4, 4);
  const auto together = generate(policy, settings, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    INFO("request " << i);
    CHECK(identical(together[i], generate(policy, settings, {requests[i]})[0]));
  }
  auto reversed = requests;
  std::reverse(reversed.begin(), reversed.end());
  const auto backwards = generate(policy, settings, reversed);
  for (size_t i = 0; i < requests.size(); ++i) {
    CHECK(identical(together[i], backwards[requests.size() - 1 - i]));
    if (i > 0) CHECK(together[i].tokens != together[i - 1].tokens);
  }
}

TEST_CASE("a lower threshold or a wider entropy bound takes fewer steps", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config());
  const auto steps = [&](AcceptanceStrategy strategy, double threshold, double entropy_bound) {
    DecodingSettings settings;
    settings.max_new_tokens = 16;
    settings.acceptance = {strategy, threshold, entropy_bound};
    int64_t sum = 0;
    for (const auto& rollout : generate(policy, settings, make_requests(4, 2))) sum += rollout.denoise_steps;
    return sum;
  };
  const int64_t one_by_one = steps(AcceptanceStrategy::kLowConfidenceStatic, 0, 0);
  const int64_t dynamic = steps(AcceptanceStrategy::kLowConfidenceDynamic, 0.3, 0);
  CHECK(dynamic < one_by_one);
  CHECK(steps(AcceptanceStrategy::kLowConfidenceDynamic, 0.1, 0) < dynamic);
  CHECK(steps(AcceptanceStrategy::kLowConfidenceDynamic, 1.0, 0) == one_by_one);
  const int64_t bounded = steps(AcceptanceStrategy::kEntropyBounded, 0, 7.0);
  CHECK(bounded < one_by_one);
  CHECK(steps(AcceptanceStrategy::kEntropyBounded, 0, 14.0) < bounded);
}

TEST_CASE("a clamped response ends where its delimiter appears", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 24;
  const Transformer policy = tiny_policy(tiny_config());
  auto requests = make_requests(4, 2);
  const auto free = generate(policy, settings, requests);
  int clamped = 0;
  for (size_t n = 0; n < requests.size(); ++n) {
    // Two neighbouring tokens of ASCII text, behind the first block, become the delimiter of a request of its
    // own.
    const auto bytes = [&](int64_t i) { return std::string(tiny_tokenizer().bytes(free[n].tokens[i])); };
    const auto ascii = [](const std::string& text) {
      return std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
    };
    for (int64_t i = free[n].prompt_tokens + 5; i + 1 < static_cast<int64_t>(free[n].tokens.size()); ++i) {
      if (!ascii(bytes(i)) || !ascii(bytes(i + 1))) continue;
      GenerationRequest request = requests[n];
      request.clamp_prefix = "open ";
      request.delimiter = bytes(i) + bytes(i + 1);
      request.clamp_suffix = " close";
      const Rollout rollout = generate(policy, settings, {request})[0];
      REQUIRE(rollout.finish == FinishReason::kDelimiter);
      REQUIRE(std::equal(rollout.tokens.begin(), rollout.tokens.end(), free[n].tokens.begin()));
      const auto scored =
          std::count_if(rollout.step_map.begin(), rollout.step_map.end(), [](int s) { return s > 0; });
      CHECK(scored <= i + 2 - rollout.prompt_tokens);
      const size_t middle = free[n].text.find(request.delimiter);
      CHECK(rollout.text == "open " + free[n].text.substr(0, middle) + request.delimiter + " close");
      ++clamped;
      break;
    }
  }
  CHECK(clamped > 2);
}

TEST_CASE("a fused commit saves forwards and changes nothing", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 16;
  const Transformer policy = tiny_policy(tiny_config());
  const auto requests = make_requests(4, 2);
  DecodingStatistics fused, plain;
  const auto a = generate(policy, settings, requests, &fused);
  settings.fused_commit = false;
  const auto b = generate(policy, settings, requests, &plain);
  for (size_t i = 0; i < requests.size(); ++i) CHECK(identical(a[i], b[i]));
  CHECK(fused.forwards < plain.forwards);
  CHECK(fused.rows == plain.rows);
}

TEST_CASE("a group's prompt is computed once", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 4;
  const Transformer policy = tiny_policy(tiny_config());
  auto requests = make_requests(1, 6, 21);
  DecodingStatistics shared, apart;
  const auto a = generate(policy, settings, requests, &shared);
  CHECK(shared.prefill_rows == 20);
  for (auto& request : requests) request.group = -1;
  const auto b = generate(policy, settings, requests, &apart);
  CHECK(apart.prefill_rows == 6 * 20);
  CHECK(shared.cache_bytes < apart.cache_bytes);
  for (size_t i = 0; i < requests.size(); ++i) CHECK(identical(a[i], b[i]));
  requests[2].group = requests[3].group = 7;
  requests[3].prompt_tokens.back() ^= 1;
  CHECK_THROWS_WITH(generate(policy, settings, requests), ContainsSubstring("different prompts"));
}

TEST_CASE("a prompt without a whole block is decoded too", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 6;
  const Transformer policy = tiny_policy(tiny_config());
  auto requests = make_requests(1, 2, 3);
  requests[1].group = -1;
  requests[1].prompt_tokens.resize(1);
  const auto rollouts = generate(policy, settings, requests);
  for (size_t i = 0; i < 2; ++i) {
    check_equal(rollouts[i], decode_literally(policy, 266, {}, requests[i], settings), {});
  }
  CHECK(rollouts[0].tokens.size() == 12);  // 3 + 6, up to the end of the block
  CHECK(rollouts[1].tokens.size() == 8);   // 1 + 6
}

TEST_CASE("MASK and ids without a token are never drawn", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 40;
  settings.sampling.temperature = 50.0;  // nearly uniform
  const auto rollouts = generate(tiny_policy(tiny_config()), settings, make_requests(4, 12));
  std::vector<int> seen(272, 0);
  for (const auto& rollout : rollouts) {
    for (int64_t i = rollout.prompt_tokens; i < static_cast<int64_t>(rollout.tokens.size()); ++i) {
      ++seen[rollout.tokens[i]];
    }
  }
  CHECK(std::count(seen.begin(), seen.begin() + 265, 0) < 20);
  CHECK(std::count(seen.begin() + 265, seen.end(), 0) == 7);
}

TEST_CASE("the cache is bounded, and a request that cannot fit is refused by name", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config());
  auto requests = make_requests(3, 4);
  DecodingSettings settings;
  settings.max_new_tokens = 20;
  settings.max_active = 3;
  DecodingStatistics statistics;
  generate(policy, settings, requests, &statistics);
  CHECK(statistics.peak_active == 3);
  const int64_t page = KvCache::bytes_per_page(policy.config(), at::kFloat);
  CHECK(statistics.cache_bytes <= 3 * (1 + 2) * page);

  settings.cache_tokens = 4 * KvCache::kPageTokens;  // one sequence at a time
  generate(policy, settings, requests, &statistics);
  CHECK(statistics.peak_active == 1);
  CHECK(statistics.cache_bytes == 4 * page);

  settings.cache_tokens = 2 * KvCache::kPageTokens;
  CHECK_THROWS_AS(generate(policy, settings, requests), InputError);
  CHECK_THROWS_WITH(generate(policy, settings, requests),
                    ContainsSubstring("task0") && ContainsSubstring("cache_tokens"));
  settings.cache_tokens = 0;
  settings.max_new_tokens = 300;
  CHECK_THROWS_WITH(generate(policy, settings, requests), ContainsSubstring("positions"));
  settings.denoise_steps = 5;
  CHECK_THROWS_WITH(generate(policy, settings, requests), ContainsSubstring("denoise_steps is 5"));
}

TEST_CASE("a sequence is handed out while others still generate", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 40;
  const auto requests = make_requests(2, 3);
  const Transformer endless = tiny_policy(tiny_config());
  const int64_t end_token = token_in_the_middle(generate(endless, settings, requests), 4).token;
  std::vector<size_t> order;
  std::vector<int64_t> steps;
  const Transformer ending = tiny_policy(tiny_config({end_token}));
  DecodeEngine(ending, tiny_tokenizer()).generate(settings, requests, 9, [&](size_t index, Rollout rollout) {
    order.push_back(index);
    steps.push_back(rollout.denoise_steps);
  });
  CHECK(order.size() == requests.size());
  CHECK(std::is_sorted(steps.begin(), steps.end()));
  CHECK(steps.front() < steps.back());
}

TEST_CASE("a GPU gives the host's responses", "[decode_engine][gpu]") {
  if (!at::hasCUDA()) SKIP("no GPU in this build or machine");
  const auto requests = make_requests(6, 4);
  for (const AcceptanceStrategy strategy :
       {AcceptanceStrategy::kLowConfidenceDynamic, AcceptanceStrategy::kEntropyBounded}) {
    DecodingSettings settings;
    settings.max_new_tokens = 18;
    settings.max_active = 9;
    settings.acceptance = {strategy, 0.3, 7.0};
    settings.sampling.top_p = 0.9;
    const auto host = generate(tiny_policy(tiny_config()), settings, requests);
    const auto device = generate(tiny_policy(tiny_config(), at::Device(at::kCUDA, 0)), settings, requests);
    size_t equal = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      // Rounding may tip a draw that falls on a border; from there on a response is another one.
      if (host[i].tokens != device[i].tokens) continue;
      ++equal;
      CHECK(host[i].step_map == device[i].step_map);
      for (size_t t = 0; t < host[i].log_probs.size(); ++t) {
        CHECK(std::abs(host[i].log_probs[t] - device[i].log_probs[t]) < 1e-3);
      }
    }
    CHECK(equal + 1 >= requests.size());
  }
}

TEST_CASE("what the callback throws ends the generation", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 8;
  const Transformer policy = tiny_policy(tiny_config());
  DecodeEngine engine(policy, tiny_tokenizer());
  const auto requests = make_requests(2, 3);
  CHECK_THROWS_WITH(
      engine.generate(settings, requests, 0, [](size_t, Rollout) { throw Error("verifier lost"); }),
      ContainsSubstring("verifier lost"));
  CHECK(engine.idle());
  const auto expected = generate(policy, settings, requests);
  engine.generate(settings, requests, 9,
                  [&](size_t index, Rollout rollout) { CHECK(identical(rollout, expected[index])); });
}

}  // namespace bicrl
