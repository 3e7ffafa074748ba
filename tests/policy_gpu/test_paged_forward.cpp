// The forward and the engine on a GPU against the same policy in fp32 on the CPU.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>

#include "common/rng.h"
#include "policy/attention/cached_attention.h"
#include "policy/files/checkpoint_io.h"
#include "policy/files/safetensors.h"
#include "policy/gpu/paged_attention/paged_forward.h"
#include "rollout/decoding/operator_step.h"
#include "rollout/gpu/graph_step.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/rollout/tiny_decoding.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

struct Shape {
  int64_t heads, kv_heads, head_dim, block_size;
};

// A head_dim of 64 and of 128, one to four heads of queries to one of keys, blocks of 4 to 64.
Shape some_shape() {
  return GENERATE(Shape{6, 2, 64, 4}, Shape{8, 2, 128, 4}, Shape{2, 2, 128, 8}, Shape{4, 2, 64, 16},
                  Shape{4, 1, 128, 32}, Shape{6, 2, 64, 64});
}

std::string description(const Shape& shape) {
  return concat(shape.heads, " heads, ", shape.kv_heads, " of keys, head_dim ", shape.head_dim,
                ", blocks of ", shape.block_size);
}

// For the tiny tokenizer, of a shape that there are kernels for.
PolicyConfig small_config(std::vector<int64_t> end_tokens = {}, const Shape& shape = {6, 2, 64, 4}) {
  PolicyConfig c = tiny_config(std::move(end_tokens), shape.block_size);
  c.hidden_size = 96;
  c.layers = 3;
  c.heads = shape.heads;
  c.kv_heads = shape.kv_heads;
  c.head_dim = shape.head_dim;
  c.intermediate_size = 160;
  c.initializer_range = 0.15;
  c.max_position = 2048;
  return c;
}

const at::Device kGpu(at::kCUDA, 0);

// The same weights, widened.
Transformer widened(const Transformer& policy) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, value] : policy.parameters()) tensors[name] = value.cpu().to(at::kFloat);
  Transformer wide = Transformer::from_tensors(policy.config(), tensors, at::kCPU, at::kFloat);
  return wide;
}

// One way to run segments of sequences through a cache of its own.
struct Host {
  Host(const Transformer& its_policy, int64_t max_rows)
      : policy(its_policy),
        cache(policy.config(), 200, policy.device(), policy.dtype()),
        buffer(policy.device()),
        tokens(buffer, max_rows),
        rows(buffer, max_rows),
        count(buffer, 1) {}
  virtual ~Host() = default;
  virtual at::Tensor forward(
      const std::vector<CachedSegment>& segments) = 0;  // [rows, hidden] fp32 on the CPU
  at::Tensor run(const std::vector<CachedSegment>& segments,
                 const std::vector<std::vector<int64_t>>& sequences) {
    tokens.clear();
    for (size_t i = 0; i < segments.size(); ++i)
      for (int64_t r = 0; r < segments[i].rows; ++r)
        tokens.push_back(sequences[i][static_cast<size_t>(segments[i].context_tokens + r)]);
    return forward(segments);
  }

  const Transformer& policy;
  KvCache cache;
  StepBuffer buffer;
  StepArray<int64_t> tokens, rows;
  StepArray<int32_t> count;
};

struct OperatorHost : Host {
  OperatorHost(const Transformer& policy, int64_t max_rows)
      : Host(policy, max_rows), attention(policy.config(), max_rows, cache, buffer) {
    buffer.allocate();
  }
  at::Tensor forward(const std::vector<CachedSegment>& segments) override {
    attention.begin(segments);
    buffer.upload();
    const at::Tensor hidden = policy.hidden(tokens.tensor(), attention.positions(), attention);
    attention.commit();
    return hidden.cpu().to(at::kFloat);
  }
  CachedAttention attention;
};

struct PagedHost : Host {
  PagedHost(const Transformer& policy, int64_t its_max_rows)
      : Host(policy, its_max_rows), max_rows(its_max_rows), paged(policy, max_rows, cache, buffer) {
    buffer.allocate();
  }
  at::Tensor forward(const std::vector<CachedSegment>& segments) override {
    paged.plan(segments);
    rows.clear();
    count.clear();
    for (int64_t r = 0; r < tokens.size(); ++r) rows.push_back(r);
    count.push_back(static_cast<int32_t>(tokens.size()));
    buffer.upload();
    paged.run(tokens.on_device(), std::min(max_rows, tokens.size() + 5));
    paged.commit();
    const at::Tensor out = at::zeros({tokens.size(), policy.config().hidden_size},
                                     at::TensorOptions().device(kGpu).dtype(at::kBFloat16));
    paged.select(rows.on_device(), count.on_device(), out);
    return out.cpu().to(at::kFloat);
  }
  int64_t max_rows;
  gpu::PagedForward paged;
};

std::vector<int64_t> draw_tokens(int64_t count, uint64_t key) {
  RandomStream stream(key);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int64_t>(stream.below(260)));
  return tokens;
}

// Prefill, then members of a group at different places, in every form; all outputs one behind the other.
at::Tensor run_script(Host& host) {
  const int64_t b = host.policy.config().block_size;
  const auto whole = [&](int64_t tokens) { return (tokens + b - 1) / b * b; };
  const int64_t begun = whole(40), shared = begun + whole(36), own = whole(24) + 3 * b;
  const int64_t first = whole(300), last = whole(688) - b;
  const auto prompt = draw_tokens(shared, 2), lonely = draw_tokens(last + b, 3);
  const auto prefix = host.cache.reserve(shared).value();
  std::vector<std::vector<int64_t>> members;
  std::vector<KvCache::SlotId> slots;
  for (uint64_t n = 0; n < 4; ++n) {
    members.push_back(prompt);
    const auto tail = draw_tokens(own, 10 + n);
    members.back().insert(members.back().end(), tail.begin(), tail.end());
    slots.push_back(host.cache.reserve(own, prefix).value());
  }
  const auto lonely_slot = host.cache.reserve(last + b).value();
  std::vector<at::Tensor> out;
  out.push_back(host.run({{prefix, 0, begun, begun}, {lonely_slot, 0, first, first}}, {prompt, lonely}));
  out.push_back(host.run(
      {{prefix, begun, shared - begun, shared - begun}, {lonely_slot, first, last - first, last - first}},
      {prompt, lonely}));
  const int64_t ahead = whole(24);
  out.push_back(
      host.run({{slots[1], shared, ahead, ahead}, {slots[3], shared, b, b}}, {members[1], members[3]}));
  out.push_back(host.run({{slots[0], shared, 2 * b, b},
                          {slots[1], shared + ahead, 2 * b, b},
                          {slots[2], shared, b, 0},
                          {slots[3], shared + b, b, 0},
                          {lonely_slot, last, b, 0}},
                         {members[0], members[1], members[2], members[3], lonely}));
  return at::cat(out);
}

TEST_CASE("the forward over pages is as close to fp32 as that of operators", "[paged_forward][gpu]") {
  require_gpu();
  const at::NoGradGuard no_grad;
  const Shape shape = some_shape();
  Transformer policy = Transformer::random(small_config({}, shape), 5, kGpu, at::kBFloat16);
  const bool adapted = GENERATE(false, true);
  if (adapted) {
    policy.add_adapters({.rank = 4, .alpha = 8}, 3);
    for (const auto& [name, value] : policy.trained().values()) at::Tensor(value).normal_(0, 0.1);
  }
  Transformer wide = widened(policy);
  if (adapted) {
    wide.add_adapters(*policy.lora(), 3);
    for (size_t i = 0; i < policy.trained().values().size(); ++i)
      wide.trained().values()[i].second.copy_(policy.trained().values()[i].second);
  }
  OperatorHost exact(wide, 1024), operators(policy, 1024);
  PagedHost paged(policy, 1024);
  const at::Tensor expected = run_script(exact);
  const auto error = [&](Host& host) { return (run_script(host) - expected).abs().amax(1).nan_to_num(1e9); };
  const at::Tensor ours = error(paged), theirs = error(operators);
  const int64_t worst = ours.argmax().item<int64_t>();
  INFO(description(shape) << ", adapters " << adapted << ", row " << worst << ": "
                          << ours[worst].item<float>() << " (operators " << theirs[worst].item<float>()
                          << "), mean of rows " << ours.mean().item<float>() << " ("
                          << theirs.mean().item<float>() << ")");
  CHECK(ours.mean().item<float>() < 1.3 * theirs.mean().item<float>() + 1e-3);
  CHECK(ours.max().item<float>() < 2 * theirs.max().item<float>() + 1e-2);
}

// The kernels' logits of whole blocks, [tokens, vocab] fp32: the first two thirds are committed, the others
// see them in the cache.
at::Tensor logits_by_kernels(const Transformer& policy, const at::Tensor& tokens) {
  const int64_t rows = tokens.size(0), b = policy.config().block_size, first = rows * 2 / 3 / b * b;
  PagedHost host(policy, 256);
  const auto slot = host.cache.reserve(rows).value();
  const std::vector<int64_t> all(tokens.const_data_ptr<int64_t>(), tokens.const_data_ptr<int64_t>() + rows);
  std::vector<at::Tensor> hidden;
  if (first > 0) hidden.push_back(host.run({{slot, 0, first, first}}, {all}));
  hidden.push_back(host.run({{slot, first, rows - first, 0}}, {all}));
  const at::Tensor selected = at::cat(hidden).to(kGpu, at::kBFloat16);
  return at::mm(selected, policy.head().t(), at::kFloat).cpu();
}

// The figures of largest and mean distance to transformers in fp32, of the kernels and of transformers in
// bf16.
TEST_CASE("the kernels' logits are as close to transformers' in fp32 as its own in bf16 are",
          "[paged_forward][gpu]") {
  require_gpu();
  const at::NoGradGuard no_grad;
  const TemporaryFolder folder;
  run_python(testing::source_path("tests/policy/oracle_model.py"), {folder.path().string()});
  for (const auto& [variant, lengths] :
       {std::pair{"head_dim_64", std::vector{4, 192}}, std::pair{"head_dim_128", std::vector{192}}}) {
    const Transformer policy = load_policy(folder.path() / variant, kGpu, at::kBFloat16);
    REQUIRE(gpu::PagedForward::supports(policy.config(), policy.device(), policy.dtype()));
    std::vector<at::Tensor> ours, theirs;
    for (const int length : lengths) {
      const SafetensorsFile expected(folder.path() / variant / concat("case_", length, ".safetensors"));
      const at::Tensor exact = expected.load("logits");
      ours.push_back((logits_by_kernels(policy, expected.load("tokens")) - exact).abs());
      theirs.push_back((expected.load("logits_bf16").to(at::kFloat) - exact).abs());
    }
    const at::Tensor gap = at::cat(ours), bf16 = at::cat(theirs);
    WARN(variant << ": the kernels' logits differ by " << gap.max().item<float>() << " at most, "
                 << gap.mean().item<float>() << " in the mean; transformers' in bf16 by "
                 << bf16.max().item<float>() << ", " << bf16.mean().item<float>());
    CHECK(gap.mean().item<float>() < 1.5 * bf16.mean().item<float>());
    CHECK(gap.max().item<float>() < 2 * bf16.max().item<float>());
  }
}

// The share of rollouts with the same tokens and the mean gap of their log-probabilities, and the share of
// positions with the same token in all.
struct Agreement {
  double same = 0, gap = 0, tokens = 0;
};
Agreement agreement(const std::vector<Rollout>& a, const std::vector<Rollout>& b) {
  int64_t same = 0, scored = 0, alike = 0, positions = 0;
  double gap = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto end = static_cast<int64_t>(std::min(a[i].tokens.size(), b[i].tokens.size()));
    for (int64_t j = a[i].prompt_tokens; j < end; ++j)
      alike += a[i].tokens[static_cast<size_t>(j)] == b[i].tokens[static_cast<size_t>(j)];
    positions += std::max(a[i].response_tokens(), b[i].response_tokens());
    if (a[i].tokens != b[i].tokens || a[i].step_map != b[i].step_map) continue;
    ++same;
    for (size_t j = 0; j < a[i].log_probs.size(); ++j) gap += std::abs(a[i].log_probs[j] - b[i].log_probs[j]);
    scored += static_cast<int64_t>(a[i].log_probs.size());
  }
  return {static_cast<double>(same) / static_cast<double>(a.size()),
          scored > 0 ? gap / static_cast<double>(scored) : 1e9,
          static_cast<double>(alike) / static_cast<double>(positions)};
}

DecodingSettings drawing_by(AcceptanceStrategy strategy, double temperature) {
  DecodingSettings settings;
  settings.max_new_tokens = 24;
  settings.max_active = 48;
  settings.acceptance.strategy = strategy;
  settings.acceptance.threshold = 0.3;
  settings.sampling.temperature = temperature;
  settings.prefill_tokens = 64;
  return settings;
}

std::vector<Rollout> generate_by(MakeDenoiseStep& make_step, const Transformer& policy,
                                 const DecodingSettings& settings,
                                 const std::vector<GenerationRequest>& requests) {
  DecodeEngine engine(policy, tiny_tokenizer(), make_step);
  return rollouts_of(engine, settings, requests);
}

std::string description(const Agreement& agreement) {
  return concat(std::lround(100 * agreement.same), " % (", std::lround(100 * agreement.tokens), " %, ",
                agreement.gap, ")");
}

// How alike the responses of a policy in bf16 on the GPU are to those of its weights in fp32 on the CPU, by
// the engine's own step there and by torch's operators, and to themselves in batches of another size. Draws
// by cumulative weights change with any rounding of any weight, so none of these is all.
void check_agreement(const Shape& shape) {
  const Transformer policy = Transformer::random(small_config({7, 70}, shape), 5, kGpu, at::kBFloat16);
  const Transformer wide = widened(policy);
  for (const double temperature : {1.0, 0.0}) {
    // A group's greedy responses are one.
    const auto requests = temperature > 0 ? make_requests(12, 8, 9) : make_requests(96, 1, 9);
    for (size_t rule = 0; rule < acceptance_strategy_names().size(); ++rule) {
      const auto settings = drawing_by(static_cast<AcceptanceStrategy>(rule), temperature);
      const auto expected = generate_by(OperatorStep::make, wide, settings, requests);
      const auto ours = generate_by(make_denoise_step, policy, settings, requests);
      const auto operators = generate_by(OperatorStep::make, policy, settings, requests);
      auto few = settings;
      few.max_active = 7;
      const Agreement by_ours = agreement(ours, expected), by_operators = agreement(operators, expected);
      const std::string numbers =
          concat(description(shape), ": ", acceptance_strategy_names()[rule], " at temperature ", temperature,
                 ", responses alike (tokens, mean gap of log-probabilities): with fp32 ",
                 description(by_ours), ", operators' ", description(by_operators), "; in batches of 7 ",
                 description(agreement(generate_by(make_denoise_step, policy, few, requests), ours)),
                 ", operators' ",
                 description(agreement(generate_by(OperatorStep::make, policy, few, requests), operators)));
      WARN(numbers);
      // Of 96 responses: four standard deviations of a difference of two shares. Where few responses are
      // alike from their first token to their last, their tokens still are: at random one in 260 would be.
      CHECK(by_ours.same > by_operators.same - 0.29);
      CHECK((by_ours.same > 0 || by_operators.same < 0.05));
      CHECK(by_ours.tokens > by_operators.tokens - 0.12);
      CHECK((by_ours.same == 0 || by_ours.gap < 2 * by_operators.gap + 0.01));
    }
  }
}

TEST_CASE("on a GPU responses are as close to fp32 as those by operators", "[graph_step][agreement][gpu]") {
  require_gpu();
  check_agreement(GENERATE(Shape{6, 2, 64, 4}, Shape{8, 2, 128, 16}));
}

TEST_CASE("a recorded step gives what the unrecorded one gives, and one that is queued ahead as well",
          "[graph_step][gpu]") {
  require_gpu();
  const Shape shape = some_shape();
  INFO(description(shape));
  const Transformer policy = Transformer::random(small_config({7, 70}, shape), 5, kGpu, at::kBFloat16);
  DecodingSettings settings;
  settings.max_new_tokens = 40;
  settings.max_active = 16;
  // With quotas steps are expected, once nobody waits for a place.
  settings.acceptance.strategy =
      GENERATE(AcceptanceStrategy::kLowConfidenceDynamic, AcceptanceStrategy::kLowConfidenceStatic);
  const auto requests = make_requests(10, 4, 30);
  DecodeEngine engine(policy, tiny_tokenizer());
  std::vector<std::vector<Rollout>> rounds;
  for (int round = 0; round < 3; ++round) rounds.push_back(rollouts_of(engine, settings, requests));
  if (accepts_by_quota(settings.acceptance.strategy)) CHECK(engine.statistics().queued_ahead > 0);
  // A round is of the same shapes as the one before, and every shape came twice in the first two.
  for (int round = 1; round < 3; ++round) {
    int64_t different = 0;
    for (size_t i = 0; i < requests.size(); ++i)
      different += !identical(rounds[0][i], rounds[static_cast<size_t>(round)][i]);
    INFO("round " << round);
    CHECK(different == 0);
  }
  // Other settings.
  settings.sampling.temperature = 0.0;
  const auto greedy = rollouts_of(engine, settings, requests);
  const auto fresh = generate(policy, settings, requests);
  CHECK(agreement(greedy, fresh).same == 1.0);
}

TEST_CASE("weights that break while a step is queued ahead are named, and the engine goes on",
          "[graph_step][gpu]") {
  require_gpu();
  const Transformer policy = Transformer::random(small_config({7, 70}), 5, kGpu, at::kBFloat16);
  DecodingSettings settings;
  settings.max_new_tokens = 40;
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
  const auto requests = make_requests(4, 4, 30);
  DecodeEngine engine(policy, tiny_tokenizer());
  for (int round = 0; round < 3; ++round) rollouts_of(engine, settings, requests);
  REQUIRE(engine.statistics().queued_ahead > 0);
  at::Tensor weight = policy.store().values().front().second;
  const at::Tensor kept = weight.clone();
  engine.open(settings, 9, capacity_for(requests, policy.config(), settings));
  for (const auto& request : requests) engine.submit(request);
  for (int i = 0; i < 6; ++i) engine.step();
  weight.fill_(NAN);
  CHECK_THROWS_WITH(
      [&] {
        while (!engine.idle()) engine.step();
      }(),
      ContainsSubstring("NaN"));
  engine.abandon();
  weight.copy_(kept);
  CHECK(agreement(rollouts_of(engine, settings, requests), generate(policy, settings, requests)).same == 1.0);
}

TEST_CASE("steps are rounded up to few shapes", "[graph_step]") {
  CHECK(GraphStep::bucket(1, 512) == 32);
  CHECK(GraphStep::bucket(32, 512) == 32);
  CHECK(GraphStep::bucket(257, 512) == 320);
  CHECK(GraphStep::bucket(510, 511) == 511);
  CHECK(GraphStep::bucket(1025, 4096) == 1152);
}

TEST_CASE("the workspace of an engine on a GPU is counted", "[graph_step]") {
  const PolicyConfig config = small_config();
  const EngineCapacity capacity{.sequences = 8, .pages = 100, .prefill_tokens = 64};
  // Rows: 64 of prompts and 8 * 2 * 4 of blocks.
  const int64_t of_row = 2 * (3 * 96 + 3 * 384 + 2 * 128 + 3 * 160) + 2 * 64 * 4, of_share = 6 * (64 * 2 + 4);
  const int64_t forward = 128 * (of_row + 4 * of_share);
  const int64_t masked = 8 * 4;
  CHECK(gpu::PagedForward::workspace_bytes(config, 128) == forward);
  const int64_t libraries = int64_t{192} << 20;
  CHECK(GraphStep::memory(config, capacity).fixed_bytes ==
        libraries + forward + masked * (272 * 4 + 96 * 2 + 16));
}

}  // namespace
}  // namespace bicrl
