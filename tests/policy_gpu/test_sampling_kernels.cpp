// Draws and acceptance against torch's operators, on the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "policy/gpu/gpu_kernels.h"
#include "rollout/decoding/acceptance.h"
#include "rollout/decoding/sampling.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/kernel_texts.h"

namespace bicrl {
namespace {

using namespace testing;

struct Settings {
  SamplingSettings sampling;
  gpu::Score score = gpu::Score::kConfidence;
};

Settings some_settings() {
  return GENERATE(
      Settings{{.temperature = 1.0}}, Settings{{.temperature = 0.0}}, Settings{{.temperature = 0.7}},
      Settings{{.temperature = 1.3, .top_k = 5}}, Settings{{.temperature = 1.0, .top_p = 0.6}},
      Settings{{.temperature = 0.8, .top_k = 40, .top_p = 0.9, .reference_confidence = true}},
      // More than the largest values that are sorted reach, or are asked for at once.
      Settings{{.temperature = 2.0, .top_p = 0.999}},
      Settings{{.temperature = 1.0, .top_k = 600, .top_p = 0.97}},
      Settings{{.temperature = 1.0, .top_p = 0.6, .reference_confidence = true}},
      Settings{{.temperature = 1.0, .top_k = 512}}, Settings{{.temperature = 1.0, .top_p = 0.0}},
      // All of them, but for rounding.
      Settings{
          {.temperature = 1.0, .top_k = 5, .top_p = std::nextafter(1.0, 0.0), .reference_confidence = true}},
      Settings{{.temperature = 0.0, .top_k = 3, .reference_confidence = true}},
      Settings{{.temperature = 1.0}, gpu::Score::kMinusEntropy},
      Settings{{.temperature = 1.0}, gpu::Score::kLot});
}

constexpr int64_t kRows = 24;

struct SampleCase {
  explicit SampleCase(int64_t its_vocab, double allowed_share = 0.9) : vocab(its_vocab) {
    at::manual_seed(8);
    logits = at::randn({kRows, vocab}) * 3;
    logits[3] = 0.5;                                                                 // all alike
    for (const int64_t row : {4, 10, 11, 12}) logits[row] = at::floor(logits[row]);  // many alike
    logits[5].slice(0, 0, vocab / 2) = -1000;  // half of them weigh nothing
    logits[6] *= 30;                           // one has nearly all the weight
    logits.slice(0, 7, 10) *= 0.01;            // none has much
    allowed = at::rand({vocab}) < allowed_share;
    allowed[vocab - 1] = false;
    uniforms = at::rand({kRows}, at::kDouble);
    uniforms[0] = 0.0;
    uniforms[1] = std::nextafter(1.0, 0.0);
    lots = at::rand({kRows});
  }
  int64_t vocab;
  at::Tensor logits, allowed, uniforms, lots;

  gpu::SampleRows work(const Settings& settings) const {
    gpu::SampleRows work;
    work.rows = kRows;
    work.vocab = vocab;
    work.temperature = static_cast<float>(settings.sampling.temperature);
    work.top_k = settings.sampling.top_k;
    work.top_p = settings.sampling.top_p;
    work.reference_confidence = settings.sampling.reference_confidence;
    work.score = settings.score;
    return work;
  }
};

// Tokens are the operators'. Where the draw falls next to a border between two, they are between those for a
// draw that is moved a little to either side.
void check_draws(const SampleCase& work, const Settings& settings, const gpu::Drawn* drawn) {
  // Of so many ids some have one probability in fp32 that have different logits. Which of them are among
  // those that weigh top_p is a matter of rounding, and draws behind them move by an id's weight.
  const bool meets_ties = settings.sampling.top_p < 1 && work.vocab > 100'000;
  const double border = meets_ties ? 3.0 / static_cast<double>(work.vocab) : 2e-6;
  const auto candidates = [&](double moved) {
    return sample_candidates(work.logits, work.allowed,
                             (work.uniforms + moved).clamp(0, std::nextafter(1.0, 0.0)), settings.sampling,
                             true);
  };
  const Candidates expected = candidates(0), before = candidates(-border), behind = candidates(border);
  const at::Tensor log_probs =
      (settings.sampling.temperature == 0 ? work.logits : work.logits / settings.sampling.temperature)
          .masked_fill(work.allowed.logical_not(), -INFINITY)
          .log_softmax(1);
  for (int64_t r = 0; r < kRows; ++r) {
    INFO("row " << r);
    const gpu::Drawn& mine = drawn[r];
    REQUIRE((mine.token >= 0 && mine.token < work.vocab));
    const auto of = [&](const Candidates& some) { return some.tokens[r].item<int64_t>(); };
    INFO("token " << mine.token << ", the operators draw " << of(expected) << ", " << of(before) << " and "
                  << of(behind) << " nearby");
    if (settings.sampling.temperature == 0)
      CHECK(mine.token == of(expected));
    else
      CHECK((of(before) <= mine.token && mine.token <= of(behind)));
    const auto log_prob = log_probs[r][mine.token].item<float>();
    CHECK(std::abs(mine.log_prob - log_prob) < 1e-4 * (1 + std::abs(log_prob)));
    if (mine.token != of(expected)) continue;
    float score = settings.score == gpu::Score::kLot ? work.lots[r].item<float>()
                                                     : expected.confidence[r].item<float>();
    if (settings.score == gpu::Score::kMinusEntropy) score = -expected.entropy[r].item<float>();
    INFO("score " << mine.score << ", the operators' " << score);
    // An entropy near to nothing is a difference of numbers near to one.
    const double rounding = settings.score == gpu::Score::kMinusEntropy ? 1e-6 : 1e-12;
    CHECK(std::abs(mine.score - score) < 5e-4 * std::abs(score) + rounding);
  }
}

std::vector<gpu::Drawn> draw_on_interpreter(const SampleCase& work, const Settings& settings) {
  auto interpreter = interpreter_with("sampling");
  const auto upload = [&]<class T>(const at::Tensor& tensor, T) {
    const auto* first = static_cast<const T*>(tensor.const_data_ptr());
    return reinterpret_cast<const T*>(interpreter.upload(std::vector<T>(first, first + tensor.numel())));
  };
  gpu::SampleRows arguments = work.work(settings);
  arguments.logits = upload(work.logits, float{});
  arguments.allowed = upload(work.allowed, uint8_t{});
  arguments.uniforms = upload(work.uniforms, double{});
  arguments.lots = upload(work.lots, float{});
  arguments.count = upload(at::tensor({kRows}, at::kInt), int32_t{});
  const uint64_t drawn = interpreter.upload(std::vector<gpu::Drawn>(kRows));
  arguments.drawn = reinterpret_cast<gpu::Drawn*>(drawn);
  CHECK(ptx::testing::fault_text(interpreter.launch(kernel_named(interpreter, {"sample_row"}), {kRows, 1, 1},
                                                    {512, 1, 1}, 0, arguments)) == "");
  return interpreter.download<gpu::Drawn>(drawn);
}

}  // namespace

TEST_CASE("draws are those of the operators, on the PTX interpreter", "[sampling_kernels]") {
  const Settings settings = some_settings();
  // Rows that begin anywhere; that can be moved sixteen bytes at a time; shorter than what a warp sums up;
  // with work for all warps, and with less allowed ids than there may be.
  const int64_t vocab = GENERATE(int64_t{3001}, int64_t{3004}, int64_t{300}, int64_t{16388});
  const SampleCase work(vocab, vocab == 16388 ? GENERATE(0.9, 0.002) : 0.9);
  check_draws(work, settings, draw_on_interpreter(work, settings).data());
}

TEST_CASE("a row that is broken has no finite log-probability, on the PTX interpreter",
          "[sampling_kernels]") {
  const Settings settings =
      GENERATE(Settings{{.temperature = 1.0}}, Settings{{.temperature = 0.0}},
               Settings{{.temperature = 1.0, .top_k = 30}}, Settings{{.temperature = 1.0, .top_p = 0.7}},
               Settings{{.temperature = 1.0, .top_k = 900, .top_p = 0.7}});
  SampleCase work(3004);
  work.allowed.fill_(true);
  const float infinity = std::numeric_limits<float>::infinity();
  work.logits[0][1700] = NAN;
  work.logits[1].fill_(NAN);
  work.logits[2][3] = infinity;
  work.logits[3].fill_(infinity);
  work.logits[4].fill_(-infinity);
  const auto some = draw_on_interpreter(work, settings);
  work.allowed.fill_(false);
  const auto none = draw_on_interpreter(work, settings);
  for (int64_t r = 0; r < kRows; ++r) {
    INFO("row " << r);
    const auto row = static_cast<size_t>(r);
    CHECK(std::isfinite(some[row].log_prob) == (r > 4));
    CHECK_FALSE(std::isfinite(none[row].log_prob));
    for (const auto& drawn : {some[row], none[row]}) CHECK((drawn.token >= 0 && drawn.token < work.vocab));
  }
}

TEST_CASE("draws are those of the operators, on a GPU", "[sampling_kernels][gpu]") {
  require_gpu();
  const Settings settings = some_settings();
  const SampleCase work(GENERATE(int64_t{3001}, int64_t{16388}, int64_t{151936}));
  const at::Tensor logits = on_gpu(work.logits), allowed = on_gpu(work.allowed),
                   uniforms = on_gpu(work.uniforms);
  const at::Tensor lots = on_gpu(work.lots), count = on_gpu(at::tensor({kRows}, at::kInt));
  const at::Tensor drawn = bytes_on_gpu(std::vector<gpu::Drawn>(kRows));
  gpu::SampleRows arguments = work.work(settings);
  arguments.logits = logits.const_data_ptr<float>();
  arguments.allowed = static_cast<const uint8_t*>(allowed.const_data_ptr());
  arguments.uniforms = uniforms.const_data_ptr<double>();
  arguments.lots = lots.const_data_ptr<float>();
  arguments.count = count.const_data_ptr<int32_t>();
  arguments.drawn = static_cast<gpu::Drawn*>(drawn.mutable_data_ptr());
  gpu::sample_rows(arguments, current_stream());
  const at::Tensor back = drawn.cpu();
  check_draws(work, settings, static_cast<const gpu::Drawn*>(back.const_data_ptr()));
}

namespace {

// Blocks of eight with some positions masked, scores that repeat, and quotas.
struct AcceptCase {
  explicit AcceptCase(AcceptanceStrategy strategy) {
    at::manual_seed(9);
    settings.strategy = strategy;
    settings.threshold = 0.6;
    settings.entropy_bound = 1.0;
    score = at::floor(at::rand({kBlocks, 8}) * 10) / 10;
    if (strategy == AcceptanceStrategy::kEntropyBounded) score = -score;
    masked = at::rand({kBlocks, 8}) < 0.6;
    quotas = at::randint(1, 4, {kBlocks}, at::kLong);
    cells = masked.flatten().nonzero().flatten();
    for (int64_t i = 0; i < cells.numel(); ++i)
      drawn.push_back({.score = score.flatten()[cells[i]].item<float>()});
  }
  gpu::AcceptDrawn work() const {
    const bool entropy = settings.strategy == AcceptanceStrategy::kEntropyBounded;
    gpu::AcceptDrawn work;
    work.rows = cells.numel() + 20;
    work.block_size = 8;
    work.rule = settings.strategy == AcceptanceStrategy::kLowConfidenceDynamic
                    ? gpu::Acceptance::kAboveThreshold
                : settings.strategy == AcceptanceStrategy::kSequential ? gpu::Acceptance::kLeftmost
                : entropy                                              ? gpu::Acceptance::kEntropyBounded
                                                                       : gpu::Acceptance::kBest;
    work.threshold = static_cast<float>(settings.threshold);
    work.entropy_bound = static_cast<float>(settings.entropy_bound);
    return work;
  }
  void check(const gpu::Drawn* done) const {
    const at::Tensor expected = accept_by_operators(settings, score, masked, quotas).flatten();
    for (int64_t i = 0; i < cells.numel(); ++i) {
      INFO("masked position " << i << ", cell " << cells[i].item<int64_t>());
      CHECK((done[i].accepted != 0) == expected[cells[i]].item<bool>());
    }
  }

  static constexpr int64_t kBlocks = 40;
  AcceptanceSettings settings;
  at::Tensor score, masked, quotas, cells;
  std::vector<gpu::Drawn> drawn;
};

AcceptanceStrategy every_strategy() {
  return GENERATE(AcceptanceStrategy::kLowConfidenceStatic, AcceptanceStrategy::kLowConfidenceDynamic,
                  AcceptanceStrategy::kSequential, AcceptanceStrategy::kEntropyBounded);
}

}  // namespace

TEST_CASE("acceptance is that of the operators, on the PTX interpreter", "[sampling_kernels]") {
  const AcceptCase work(every_strategy());
  auto interpreter = interpreter_with("sampling");
  const auto upload = [&](const at::Tensor& tensor) {
    const auto* first = tensor.const_data_ptr<int64_t>();
    return reinterpret_cast<const int64_t*>(
        interpreter.upload(std::vector<int64_t>(first, first + tensor.numel())));
  };
  gpu::AcceptDrawn arguments = work.work();
  arguments.cells = upload(work.cells);
  arguments.quotas = upload(work.quotas);
  arguments.count = reinterpret_cast<const int32_t*>(
      interpreter.upload(std::vector<int32_t>{static_cast<int32_t>(work.cells.numel())}));
  const uint64_t drawn = interpreter.upload(work.drawn);
  arguments.drawn = reinterpret_cast<gpu::Drawn*>(drawn);
  CHECK(ptx::testing::fault_text(interpreter.launch(kernel_named(interpreter, {"accept_position"}), {3, 1, 1},
                                                    {128, 1, 1}, 0, arguments)) == "");
  work.check(interpreter.download<gpu::Drawn>(drawn).data());
}

TEST_CASE("acceptance is that of the operators, on a GPU", "[sampling_kernels][gpu]") {
  require_gpu();
  const AcceptCase work(every_strategy());
  const at::Tensor cells = on_gpu(work.cells), quotas = on_gpu(work.quotas), drawn = bytes_on_gpu(work.drawn);
  const at::Tensor count = on_gpu(at::tensor({work.cells.numel()}, at::kInt));
  gpu::AcceptDrawn arguments = work.work();
  arguments.cells = cells.const_data_ptr<int64_t>();
  arguments.quotas = quotas.const_data_ptr<int64_t>();
  arguments.count = count.const_data_ptr<int32_t>();
  arguments.drawn = static_cast<gpu::Drawn*>(drawn.mutable_data_ptr());
  gpu::accept_drawn(arguments, current_stream());
  const at::Tensor back = drawn.cpu();
  work.check(static_cast<const gpu::Drawn*>(back.const_data_ptr()));
}

}  // namespace bicrl
