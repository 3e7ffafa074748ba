// An engine over its life: who shares its pool, what it refuses, and that nothing of earlier work is left.
#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <optional>

#include "common/error.h"
#include "common/rng.h"
#include "policy/attention/kv_cache.h"
#include "tests/rollout/forwarded_step.h"
#include "tests/rollout/tiny_decoding.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

// Prompts of 1 to 40 tokens for 1 to 24 new ones; every third request has the prompt of the one before.
std::vector<GenerationRequest> random_requests(int64_t count) {
  RandomStream stream(5);
  std::vector<GenerationRequest> requests;
  for (int64_t i = 0; i < count; ++i) {
    GenerationRequest request;
    request.task_id = "task" + std::to_string(i);
    request.key = stream.next();
    request.max_new_tokens = 1 + static_cast<int64_t>(stream.below(24));
    if (i % 3 == 2) {
      request.group = requests.back().group = i;
      request.prompt_tokens = requests.back().prompt_tokens;
    } else {
      request.prompt_tokens.resize(1 + stream.below(40));
      for (int64_t& token : request.prompt_tokens) token = static_cast<int64_t>(stream.below(264));
    }
    requests.push_back(request);
  }
  return requests;
}

DecodingSettings pool_of_three() {
  DecodingSettings settings;
  settings.cache_tokens = 3 * 5 * KvCache::kPageTokens;  // 40 shared and 24 own tokens take 3 and 2 pages
  settings.acceptance.threshold = 0.3;
  return settings;
}

// Counts what an engine asks of its step.
struct CountedStep : ForwardedStep {
  explicit CountedStep(std::unique_ptr<DenoiseStep> step) : ForwardedStep(std::move(step)) {
    begun = finished = cancelled = expected = exact = 0;
  }
  void begin(const StepState& state) override {
    ++begun;
    if (bound) {
      CHECK(state.tokens.size() <= bound->rows);
      CHECK(state.masked() <= bound->masked);
      exact += state.tokens.size() == bound->rows && state.masked() == bound->masked;
      bound.reset();
    }
    inner->begin(state);
  }
  bool expect(const StepBound& its_bound) override {
    CHECK(begun == finished + cancelled + 1);
    ++expected;
    bound = its_bound;
    return inner->expect(its_bound);
  }
  StepResult finish() override {
    ++finished;
    return inner->finish();
  }
  void cancel() override {
    ++cancelled;
    bound.reset();
    inner->cancel();
  }
  static inline int64_t begun, finished, cancelled, expected, exact;
  std::optional<StepBound> bound;
};

}  // namespace

TEST_CASE("what is expected of the next forward is what it brings, unless a response ends early",
          "[decode_engine]") {
  auto config = tiny_config({7, 70});
  const bool fused = GENERATE(true, false), ends_early = GENERATE(false, true);
  if (!ends_early) config.end_token_ids.clear();
  const Transformer policy = tiny_policy(config);
  DecodingSettings settings;
  settings.fused_commit = fused;
  settings.denoise_steps = GENERATE(1, 2, 0);
  settings.acceptance.strategy = GENERATE(AcceptanceStrategy::kLowConfidenceStatic,
                                          AcceptanceStrategy::kSequential, AcceptanceStrategy::kRandom);
  auto requests = random_requests(30);
  if (!ends_early)
    for (auto& request : requests) request.max_new_tokens = 24;
  DecodeEngine engine(policy, tiny_tokenizer(), make_forwarded<CountedStep>);
  engine.generate(settings, requests, 9, [](size_t, const Rollout&) {});
  CHECK(CountedStep::begun == CountedStep::finished);
  // All but those in which prompts are computed. Where finished blocks are committed by themselves, some
  // sequence does so in nearly every forward.
  if (fused) CHECK(CountedStep::expected > CountedStep::begun / 3);
  if (!ends_early) {
    CHECK(CountedStep::exact == CountedStep::expected);
    CHECK(CountedStep::cancelled == 0);
  }
  // Where more than a quota may be accepted, nothing is known.
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceDynamic;
  CountedStep::expected = 0;
  engine.generate(settings, requests, 9, [](size_t, const Rollout&) {});
  CHECK(CountedStep::expected == 0);
}

TEST_CASE("a broken policy is reported when the next forward was expected already", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config({7, 70}));
  DecodingSettings settings;
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
  auto requests = random_requests(4);
  for (auto& request : requests) request.max_new_tokens = 24;
  DecodeEngine engine(policy, tiny_tokenizer(), make_forwarded<CountedStep>);
  engine.open(settings, 9, capacity_for(requests, policy.config(), settings));
  for (const auto& request : requests) engine.submit(request);
  engine.step();
  engine.step();
  at::Tensor(policy.store().values().front().second).fill_(NAN);
  CHECK_THROWS_WITH(
      [&] {
        while (!engine.idle()) engine.step();
      }(),
      ContainsSubstring("NaN"));
  CHECK(CountedStep::cancelled == 1);
  engine.abandon();
  CHECK(engine.idle());
}

TEST_CASE("2,000 requests of random length through a pool that holds three of them", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config({7, 70}));
  const auto requests = random_requests(2000);
  const DecodingSettings settings = pool_of_three();
  DecodingStatistics statistics;
  const auto pooled = generate(policy, settings, requests, &statistics);
  // Of the longest three fit, of others more: fewer than have room at max_active, and more than one.
  CHECK(statistics.peak_active >= 3);
  CHECK(statistics.peak_active <= 15);
  CHECK(settings.max_active > 15);
  CHECK(statistics.cache_bytes == 15 * KvCache::bytes_per_page(policy.config(), at::kFloat));
  DecodeEngine solo(policy, tiny_tokenizer());
  int64_t different = 0;
  for (size_t i = 0; i < requests.size(); ++i)
    solo.generate(settings, {requests[i]}, 9,
                  [&](size_t, Rollout rollout) { different += !identical(rollout, pooled[i]); });
  // None on any processor that this has run on. Forwards of other sizes may round otherwise, so that a draw
  // close to a border falls on its other side.
  CHECK(different <= 2);
}

TEST_CASE("a device with little memory has a smaller cache, and one with none says what there is",
          "[decode_engine]") {
  static int64_t unused = 0;
  const auto say_unused = [](at::Device) { return unused; };
  const Transformer policy = tiny_policy(tiny_config());
  const auto requests = make_requests(4, 3);
  DecodingSettings settings;
  settings.max_new_tokens = 14;
  settings.max_active = 5;
  const auto expected = generate(policy, settings, requests);
  const EngineCapacity capacity = capacity_for(requests, policy.config(), settings);
  const StepMemory step = denoise_step_memory(policy.config(), at::kCPU, at::kFloat, capacity);
  const int64_t page = KvCache::bytes_per_page(policy.config(), at::kFloat) + step.bytes_per_page;
  DecodeEngine engine(policy, tiny_tokenizer(), make_denoise_step, say_unused);
  unused = step.fixed_bytes + 4 * page + page / 2;
  REQUIRE(capacity.pages > 4);
  int64_t finished = 0;
  engine.generate(settings, requests, 9, [&](size_t index, const Rollout& rollout) {
    ++finished;
    CHECK(rollout.tokens == expected[index].tokens);
  });
  CHECK(finished == std::ssize(requests));
  CHECK(engine.budget().cache_pages == 4);
  engine.release_memory();
  unused = step.fixed_bytes + page - 1;
  CHECK_THROWS_WITH(
      engine.open(settings, 9, capacity),
      ContainsSubstring(concat("no room for a key/value cache, of which a page takes ", page)) &&
          ContainsSubstring("weights") && ContainsSubstring("workspace of a forward") &&
          ContainsSubstring("free"));
  unused = 1 << 30;
  engine.open(settings, 9, capacity);
  CHECK(engine.budget().cache_pages == capacity.pages);
}

TEST_CASE("a step has room for what is recorded of its candidates", "[decode_engine]") {
  static bool has_room = false;
  MakeDenoiseStep* const make_step = [](const Transformer& policy, const at::Tensor& allowed,
                                        const EngineCapacity& capacity, KvCache& cache, StepBuffer& buffer) {
    has_room = capacity.keeps_distributions;
    return make_denoise_step(policy, allowed, capacity, cache, buffer);
  };
  const Transformer policy = tiny_policy(tiny_config());
  DecodeEngine engine(policy, tiny_tokenizer(), *make_step);
  DecodingSettings settings;
  settings.max_new_tokens = 14;
  for (const CandidateTerms recorded : {CandidateTerms::kNone, CandidateTerms::kRejected}) {
    settings.recorded = recorded;
    engine.generate(settings, make_requests(4, 3), 9, [](size_t, const Rollout&) {});
    CHECK(has_room == (recorded == CandidateTerms::kRejected));
  }
}

TEST_CASE("weights that a device has no room for are reported before they are made", "[decode_engine]") {
  const PolicyConfig config = tiny_config();
  const Transformer policy = tiny_policy(config);
  const int64_t weights = DecodeEngine(policy, tiny_tokenizer()).budget().weights_bytes;
  // Between entries there may be gaps.
  const int64_t gaps = ParameterLayout::kAlignment * std::ssize(policy.parameters()) * int64_t{sizeof(float)};
  check_weights_fit(config, at::kFloat, weights + gaps);
  check_weights_fit(config, at::kFloat, 0);
  check_weights_fit(config, at::kBFloat16, (weights + gaps) / 2);
  CHECK_THROWS_WITH(check_weights_fit(config, at::kFloat, weights - 1),
                    ContainsSubstring("weights do not fit into the device\n") &&
                        ContainsSubstring("  weights") && ContainsSubstring("  free"));
}

TEST_CASE("responses do not depend on when a request is submitted, or on who shares the pool",
          "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config({7, 70}));
  auto requests = random_requests(60);
  const DecodingSettings settings = pool_of_three();
  const auto expected = generate(policy, settings, requests);
  // In another order, a few at a time, while others are in work.
  std::vector<size_t> order;
  for (size_t i = 0; i < requests.size(); ++i) order.push_back(i);
  RandomStream stream(17);
  stream.shuffle(order);
  DecodeEngine engine(policy, tiny_tokenizer());
  engine.open(settings, 9, capacity_for(requests, policy.config(), settings));
  size_t submitted = 0, finished = 0;
  while (finished < requests.size()) {
    for (uint64_t n = engine.idle() ? 1 : stream.below(3); n > 0 && submitted < order.size(); --n)
      engine.submit(requests[order[submitted++]]);
    for (const FinishedRollout& done : engine.step()) {
      ++finished;
      CHECK(identical(done.rollout, expected[order[static_cast<size_t>(done.number)]]));
    }
  }
  CHECK(engine.idle());
}

TEST_CASE("a cache that was used gives the responses of a fresh one, whatever is left in it",
          "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config());
  Transformer changing = policy.clone();
  const auto requests = make_requests(4, 3), others = make_requests(3, 2, 17);
  DecodingSettings settings;
  settings.max_new_tokens = 14;
  settings.max_active = 5;
  const auto expected = generate(policy, settings, requests);
  DecodeEngine engine(changing, tiny_tokenizer());
  const auto expect_same = [&] {
    engine.generate(settings, requests, 9, [&](size_t index, const Rollout& rollout) {
      CHECK(rollout.tokens == expected[index].tokens);
      CHECK(rollout.log_probs == expected[index].log_probs);  // bit for bit
    });
  };
  expect_same();
  const int64_t pages = engine.budget().cache_pages;
  expect_same();
  CHECK(engine.budget().cache_pages == pages);
  engine.generate(settings, others, 9, [](size_t, const Rollout&) {});
  expect_same();
  // A policy that is broken fills pages with NaN.
  const at::Tensor weight = changing.parameters()[7].second;
  const at::Tensor value = weight[0].clone();
  weight[0].fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK_THROWS_WITH(engine.generate(settings, requests, 9, [](size_t, const Rollout&) {}),
                    ContainsSubstring(changing.parameters()[7].first + " holds NaN"));
  CHECK(engine.idle());
  weight[0].copy_(value);
  expect_same();
  engine.release_memory();
  CHECK(engine.budget().cache_bytes == 0);
  expect_same();
}

TEST_CASE("pages come without what they held before", "[decode_engine]") {
  KvCache cache(tiny_config(), 6, at::kCPU, at::kFloat);
  const auto first = cache.reserve(40).value();
  for (int64_t layer = 0; layer < 2; ++layer)
    cache.pool(layer).fill_(std::numeric_limits<float>::quiet_NaN());
  cache.release(first);
  const auto second = cache.reserve(20).value();
  for (int64_t layer = 0; layer < 2; ++layer)
    for (const int64_t page : cache.own_pages(second))
      CHECK(cache.pool(layer)
                .narrow(0, page * KvCache::kPageTokens, KvCache::kPageTokens)
                .eq(0)
                .all()
                .item<bool>());
}

TEST_CASE("what can never be decoded is refused at submission, with its numbers", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config());
  DecodingSettings settings;
  settings.max_new_tokens = 20;
  DecodeEngine engine(policy, tiny_tokenizer());
  engine.open(settings, 0, {.sequences = 2, .pages = 5, .prefill_tokens = 16});
  GenerationRequest request;
  request.task_id = "kernel";
  request.prompt_tokens.assign(50, 65);
  engine.submit(request);  // 48 shared and 24 own tokens
  request.prompt_tokens.assign(90, 65);
  CHECK_THROWS_WITH(
      engine.submit(request),
      ContainsSubstring("request 1 (task kernel, prompt of 90 tokens) needs 8 pages of 16 tokens") &&
          ContainsSubstring("20 new tokens") && ContainsSubstring("it has 5") &&
          ContainsSubstring("weights"));
  request.prompt_tokens.assign(250, 65);
  CHECK_THROWS_WITH(engine.submit(request),
                    ContainsSubstring("needs 272 positions") && ContainsSubstring("the policy has 256"));
  request.prompt_tokens.assign(256, 65);
  CHECK_THROWS_WITH(engine.submit(request), ContainsSubstring("leaves no position"));
  request.prompt_tokens.clear();
  CHECK_THROWS_WITH(engine.submit(request), ContainsSubstring("its prompt is empty"));
  for (const int64_t stranger : {int64_t{-1}, policy.config().vocab_size}) {
    request.prompt_tokens = {65, stranger};
    CHECK_THROWS_WITH(engine.submit(request),
                      ContainsSubstring(concat("token ", stranger, " at position 1")));
  }
  request.prompt_tokens = {65};
  request.max_new_tokens = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_WITH(engine.submit(request), ContainsSubstring("the policy has 256 positions"));
  // The first request is as it was.
  size_t finished = 0;
  while (!engine.idle()) finished += engine.step().size();
  CHECK(finished == 1);

  // Nor does anybody make a cache for it first.
  DecodingSettings endless;
  endless.max_new_tokens = int64_t{1} << 40;
  CHECK_THROWS_WITH(generate(policy, endless, make_requests(1, 1)), ContainsSubstring("positions"));

  const Transformer odd = tiny_policy(tiny_config({}, 6));
  CHECK_THROWS_WITH(generate(odd, settings, make_requests(1, 1)), ContainsSubstring("block_size is 6"));
  settings.cache_tokens = 15;
  CHECK_THROWS_WITH(generate(policy, settings, make_requests(1, 1)), ContainsSubstring("cache_tokens is 15"));
}

TEST_CASE("the budget's table holds what the engine takes", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config());
  DecodeEngine engine(policy, tiny_tokenizer());
  engine.open({}, 0, {.sequences = 2, .pages = 4, .prefill_tokens = 16});
  const EngineBudget budget = engine.budget();
  CHECK(budget.weights_bytes == 4 * policy.config().parameter_count());
  CHECK(budget.cache_pages == 4);
  CHECK(budget.cache_bytes == 4 * KvCache::bytes_per_page(policy.config(), at::kFloat));
  CHECK(budget.workspace_bytes > 0);
  CHECK_THAT(budget.table(), ContainsSubstring("weights") && ContainsSubstring("4 pages of 16 tokens") &&
                                 ContainsSubstring("workspace"));
  EngineBudget limited = budget;
  limited.limit_bytes = budget.weights_bytes + budget.cache_bytes + budget.workspace_bytes + (1 << 30);
  CHECK_THAT(limited.table(), ContainsSubstring("free") && ContainsSubstring("1.000"));
}

TEST_CASE("a device that others want is lent between forwards, and responses are the same",
          "[decode_engine]") {
  struct Lent : SharedDevice {
    bool is_wanted() override { return ++asked % 3 == 0; }
    void lend() override {
      ++lent;
      CHECK(CountedStep::begun == CountedStep::finished);  // nothing is under way, nor expected
    }
    int asked = 0, lent = 0;
  };
  const Transformer policy = tiny_policy(tiny_config({7, 70}));
  DecodingSettings settings = pool_of_three();
  settings.acceptance.strategy =
      GENERATE(AcceptanceStrategy::kLowConfidenceStatic, AcceptanceStrategy::kLowConfidenceDynamic);
  const auto requests = random_requests(20);
  const auto rollouts = [&](SharedDevice* device) {
    std::vector<Rollout> found(requests.size());
    DecodeEngine engine(policy, tiny_tokenizer(), make_forwarded<CountedStep>);
    engine.generate(
        settings, requests, 9, [&](size_t index, Rollout rollout) { found[index] = std::move(rollout); },
        device);
    CHECK(engine.idle());
    return found;
  };
  const std::vector<Rollout> alone = rollouts(nullptr);
  const int64_t forwards = CountedStep::finished;
  Lent device;
  const std::vector<Rollout> shared = rollouts(&device);
  CHECK(CountedStep::finished == forwards);
  CHECK(device.asked == forwards);
  CHECK(device.lent == forwards / 3);
  for (size_t i = 0; i < requests.size(); ++i) CHECK(identical(alone[i], shared[i]));
}

TEST_CASE("while a response is handed out the next forward is under way", "[decode_engine]") {
  const Transformer policy = tiny_policy(tiny_config({7, 70}));
  const auto requests = random_requests(20);
  const DecodingSettings settings = pool_of_three();
  const auto expected = generate(policy, settings, requests);
  DecodeEngine engine(policy, tiny_tokenizer(), make_forwarded<CountedStep>);
  size_t handed_out = 0;
  const DecodingStatistics statistics =
      engine.generate(settings, requests, 9, [&](size_t index, const Rollout& rollout) {
        CHECK(identical(rollout, expected[index]));
        ++handed_out;
        CHECK((CountedStep::begun == CountedStep::finished + 1 || engine.idle()));
      });
  CHECK(handed_out == requests.size());
  CHECK(CountedStep::begun == statistics.forwards);
  CHECK(CountedStep::finished == statistics.forwards);
  // What is under way when somebody gives up is neither waited for nor mistaken for what comes later.
  CHECK_THROWS(engine.generate(settings, requests, 9, [](size_t, Rollout) { throw Error("lost"); }));
  CHECK(CountedStep::cancelled == 1);
  engine.generate(settings, requests, 9,
                  [&](size_t index, const Rollout& rollout) { CHECK(identical(rollout, expected[index])); });
  CHECK(CountedStep::begun == CountedStep::finished + 1);
}

TEST_CASE("generation that is stopped ends after a forward, and the engine goes on with other requests",
          "[decode_engine]") {
  const auto config = tiny_config({7, 70});
  const auto policy = Transformer::random(config, 3, at::kCPU, at::kFloat);
  DecodeEngine engine(policy, tiny_tokenizer());
  const std::vector<GenerationRequest> requests = random_requests(24);
  const auto ended_of = [&](int64_t most_forwards) {
    std::vector<std::vector<int64_t>> ended(requests.size());
    int64_t asked = 0;
    engine.generate(
        pool_of_three(), requests, 0,
        [&](size_t index, Rollout rollout) { ended[index] = std::move(rollout.tokens); },
        /*device=*/nullptr, [&](const DecodingStatistics&) { return ++asked < most_forwards; });
    CHECK(engine.idle());
    CHECK(asked <= most_forwards);
    return ended;
  };
  const auto whole = ended_of(1'000'000);
  const auto stopped = ended_of(12);
  const auto is_missing = [](const std::vector<int64_t>& tokens) { return tokens.empty(); };
  CHECK(std::ranges::none_of(whole, is_missing));
  CHECK(std::ranges::any_of(stopped, is_missing));
  for (size_t i = 0; i < whole.size(); ++i)
    if (!is_missing(stopped[i])) CHECK((stopped[i] == whole[i]));
  CHECK((ended_of(1'000'000) == whole));  // nothing of what was dropped is left
}

}  // namespace bicrl
