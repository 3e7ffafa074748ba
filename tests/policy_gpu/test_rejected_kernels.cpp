// The ids that rejected candidates exclude, against torch's operators, on the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstring>

#include "policy/gpu/gpu_kernels.h"
#include "rollout/decoding/acceptance.h"
#include "rollout/decoding/sampling.h"
#include "rollout/gpu/rejected_arrays.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/interpreter_tensors.h"

namespace bicrl {
namespace {

using namespace testing;

constexpr int64_t kBlock = 4, kForbidden = 11;

// Blocks of masked positions, with what their rows come to under the operators.
struct RejectedCase {
  RejectedCase(int64_t its_vocab, AcceptanceStrategy strategy, double its_temperature)
      : vocab(its_vocab), temperature(its_temperature) {
    at::manual_seed(3);
    settings.strategy = strategy;
    settings.threshold = 0.5;
    allowed = at::rand({vocab}) < 0.9;
    allowed[kForbidden] = false;
    add_ties();
    add_several();
    add_many();
    add_certain();
    add_open(2, {0, 3}, {heavy({{40, 0.8}}), heavy({{41, 0.7}, {900, 0.2}})}, {0.4, 0.85});
    add_open(1, {2}, {heavy({{40, 0.3}})}, {0.9});  // which is accepted, so that nothing is left over
    logits = at::stack(rows) * temperature;
    expect();
  }

  // Log-probabilities, but for their normaliser, of ids with so much mass, and of others that share the rest.
  at::Tensor heavy(const std::vector<std::pair<int64_t, double>>& masses) {
    double left = 1;
    for (const auto& [id, mass] : masses) left -= mass;
    at::Tensor row = at::randn({vocab}) * 0.1 + std::log(left / (0.9 * static_cast<double>(vocab)));
    for (const auto& [id, mass] : masses) {
      row[id] = std::log(mass);
      allowed[id] = true;
    }
    row[kForbidden] = 30;
    return row;
  }
  // Rows that are equal: the second and the third draw the likeliest id, with the same confidence.
  void add_ties() {
    const at::Tensor row = heavy({{7, 0.3}, {100, 0.6}});
    add_open(1, {0, 1, 2, 3}, {row, row, row, row}, {0.2, 0.6, 0.6, 0.97});
  }
  // A quota that takes an id of little confidence leaves several ahead of it.
  void add_several() {
    const at::Tensor row = heavy({{20, 0.19}, {21, 0.17}, {600, 0.15}, {601, 0.13}, {2000, 0.11}});
    add_open(2, {0, 1, 2, 3}, {row, row + 0.01, heavy({{20, 0.16}, {30, 0.09}}), row}, {0.7, 0.6, 0.9, 0.95});
  }
  // More than are listed.
  void add_many() {
    const at::Tensor row = heavy({});
    add_open(1, {0, 1, 3}, {row * 5, row * 5.5, row * 6}, {0.5, 0.1, 0.8});
  }
  // A row whose likeliest id has a mass that rounds to 1, and which drew another.
  void add_certain() {
    at::Tensor certain = heavy({});
    certain[50] = 60;
    allowed[50] = true;
    add_open(1, {0, 1}, {certain, heavy({{40, 0.8}})}, {0.0, 0.4});
  }
  void add_open(int64_t quota, const std::vector<int64_t>& offsets, const std::vector<at::Tensor>& some,
                const std::vector<double>& its_uniforms) {
    for (const int64_t offset : offsets) cells.push_back(std::ssize(quotas) * kBlock + offset);
    quotas.push_back(quota);
    rows.insert(rows.end(), some.begin(), some.end());
    uniforms.insert(uniforms.end(), its_uniforms.begin(), its_uniforms.end());
  }

  void expect() {
    const auto masked = std::ssize(cells), blocks = std::ssize(quotas);
    const Candidates drawn =
        sample_candidates(logits, allowed, at::tensor(uniforms, at::kDouble), sampling());
    const at::Tensor places = at::tensor(cells, at::kLong);
    const at::Tensor grid = at::zeros({blocks * kBlock}).index_copy_(0, places, drawn.confidence);
    const at::Tensor is_masked = at::zeros({blocks * kBlock}, at::kBool).index_fill_(0, places, true);
    const at::Tensor taken =
        accept_by_operators(settings, grid.view({blocks, kBlock}), is_masked.view({blocks, kBlock}),
                            at::tensor(quotas, at::kLong))
            .flatten();
    std::vector<AcceptanceCut> cuts;
    std::vector<int64_t> left_over, offsets;
    for (int64_t i = 0; i < masked; ++i) {
      tokens.push_back(drawn.tokens[i].item<int64_t>());
      accepted.push_back(taken[cells[i]].item<bool>());
      if (accepted.back()) continue;
      const int64_t first = cells[i] / kBlock * kBlock;
      std::vector<float> confidence;
      std::vector<char> of_block;
      for (int64_t cell = first; cell < first + kBlock; ++cell) {
        confidence.push_back(grid[cell].item<float>());
        of_block.push_back(taken[cell].item<bool>());
      }
      cuts.push_back(acceptance_cut(settings, confidence, of_block));
      left_over.push_back(i);
      offsets.push_back(cells[i] % kBlock);
    }
    expected =
        rejected_mass(drawn.all_log_probs.index_select(0, at::tensor(left_over, at::kLong)), cuts, offsets);
  }
  SamplingSettings sampling() const { return {.temperature = temperature}; }

  void check(const std::vector<gpu::Drawn>& drawn, const std::vector<gpu::Rejected>& rejected,
             const std::vector<uint32_t>& marks) const {
    REQUIRE(drawn.size() == tokens.size());
    for (size_t i = 0; i < drawn.size(); ++i) {
      INFO("masked position " << i << ", cell " << cells[i]);
      REQUIRE(drawn[i].token == tokens[i]);
      REQUIRE((drawn[i].accepted != 0) == (accepted[i] != 0));
    }
    const RejectedMass found = read_rejected(drawn, rejected.data(), marks.data(), vocab);
    REQUIRE(found.ids.size() == expected.ids.size());
    for (size_t i = 0; i < found.ids.size(); ++i) {
      INFO("left-over position " << i);
      CHECK(found.ids[i] == expected.ids[i]);
      CHECK(std::abs(found.log_masses[i] - expected.log_masses[i]) <
            1e-5 * (1 + std::abs(expected.log_masses[i])));
    }
  }

  int64_t vocab;
  double temperature;
  AcceptanceSettings settings;
  std::vector<at::Tensor> rows;
  std::vector<double> uniforms;
  std::vector<int64_t> cells, quotas, tokens;
  std::vector<char> accepted;
  at::Tensor logits, allowed;
  RejectedMass expected;
};

RejectedCase some_case() {
  // Rows that begin anywhere, and rows that can be moved sixteen bytes at a time.
  const int64_t vocab = GENERATE(int64_t{3001}, int64_t{3004});
  const auto strategy =
      GENERATE(AcceptanceStrategy::kLowConfidenceStatic, AcceptanceStrategy::kLowConfidenceDynamic);
  return {vocab, strategy, GENERATE(1.0, 0.7)};
}

// What the three launches take, of arrays on a device that has room for more positions than are masked.
struct Launches {
  gpu::SampleRows sample;
  gpu::AcceptDrawn accept;
  gpu::RejectedRows reject;
};
struct Arrays {
  const float* logits;
  const uint8_t* allowed;
  const double* uniforms;
  const int32_t* count;
  const int64_t *cells, *quotas;
  gpu::Drawn* drawn;
  gpu::RowScale* scales;
  gpu::Rejected* rejected;
  uint32_t* marks;
};
constexpr int64_t kUnused = 3;  // positions

Launches launches_of(const RejectedCase& work, const Arrays& a) {
  const int64_t rows = std::ssize(work.cells) + kUnused;
  const auto rule = work.settings.strategy == AcceptanceStrategy::kLowConfidenceDynamic
                        ? gpu::Acceptance::kAboveThreshold
                        : gpu::Acceptance::kBest;
  const auto threshold = static_cast<float>(work.settings.threshold),
             temperature = static_cast<float>(work.temperature);
  return {.sample = {.rows = rows,
                     .vocab = work.vocab,
                     .logits = a.logits,
                     .allowed = a.allowed,
                     .uniforms = a.uniforms,
                     .count = a.count,
                     .temperature = temperature,
                     .drawn = a.drawn,
                     .scales = a.scales},
          .accept = {.rows = rows,
                     .block_size = kBlock,
                     .count = a.count,
                     .cells = a.cells,
                     .quotas = a.quotas,
                     .rule = rule,
                     .threshold = threshold,
                     .drawn = a.drawn},
          .reject = {.rows = rows,
                     .vocab = work.vocab,
                     .block_size = kBlock,
                     .logits = a.logits,
                     .allowed = a.allowed,
                     .scales = a.scales,
                     .drawn = a.drawn,
                     .count = a.count,
                     .cells = a.cells,
                     .temperature = temperature,
                     .rule = rule,
                     .threshold = threshold,
                     .rejected = a.rejected,
                     .marks = a.marks}};
}

int64_t words_of(const RejectedCase& work) { return (work.vocab + 31) / 32; }

at::Tensor bytes(size_t count) { return at::full({static_cast<int64_t>(count)}, 0xFF, at::kByte); }

template <class T>
std::vector<T> values_of(const at::Tensor& bytes) {
  std::vector<T> values(static_cast<size_t>(bytes.nbytes()) / sizeof(T));
  std::memcpy(values.data(), bytes.const_data_ptr(), values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("cases of rejected candidates have ties, several ids, many, and a certain one",
          "[rejected_kernels]") {
  const RejectedCase fixed(3001, AcceptanceStrategy::kLowConfidenceStatic, 1.0);
  using Ids = std::vector<int64_t>;
  // Of the ties the first comes before the accepted second one, the others come after it.
  CHECK((fixed.accepted[0] == 0 && fixed.accepted[1] == 1 && fixed.accepted[2] == 0));
  CHECK(fixed.expected.ids[0] == Ids{100});
  CHECK((fixed.expected.ids[1].empty() && fixed.expected.ids[2].empty()));
  size_t most = 0;
  bool has_several = false, is_bounded = false;
  for (size_t i = 0; i < fixed.expected.ids.size(); ++i) {
    const size_t count = fixed.expected.ids[i].size();
    most = std::max(most, count);
    has_several |= count > 1 && count <= static_cast<size_t>(gpu::Rejected::kListed);
    is_bounded |= std::abs(fixed.expected.log_masses[i] - std::log(0x1p-20)) < 1e-3;
  }
  CHECK((has_several && is_bounded && most > 40));
  const RejectedCase threshold(3001, AcceptanceStrategy::kLowConfidenceDynamic, 1.0);
  CHECK((threshold.accepted[1] == 1 && threshold.accepted[2] == 1 && threshold.accepted[3] == 0));
  CHECK((threshold.expected.ids[0] == Ids{100} && threshold.expected.ids[1] == Ids{100}));
}

TEST_CASE("ids that rejected candidates exclude are those of the operators, on the PTX interpreter",
          "[rejected_kernels]") {
  const RejectedCase work = some_case();
  InterpreterTensors interpreter("sampling");
  const auto rows = static_cast<size_t>(std::ssize(work.cells) + kUnused);
  const uint64_t drawn = interpreter.upload(bytes(rows * sizeof(gpu::Drawn))),
                 rejected = interpreter.upload(bytes(rows * sizeof(gpu::Rejected))),
                 marks = interpreter.upload(bytes(rows * static_cast<size_t>(words_of(work)) * 4));
  const auto placed = [&]<class T>(const at::Tensor& x, const T*) {
    return reinterpret_cast<const T*>(interpreter.upload(x));
  };
  const Arrays arrays = {
      .logits = placed(work.logits, static_cast<const float*>(nullptr)),
      .allowed = placed(work.allowed, static_cast<const uint8_t*>(nullptr)),
      .uniforms = placed(at::tensor(work.uniforms, at::kDouble), static_cast<const double*>(nullptr)),
      .count = placed(at::tensor({std::ssize(work.cells)}, at::kInt), static_cast<const int32_t*>(nullptr)),
      .cells = placed(at::tensor(work.cells, at::kLong), static_cast<const int64_t*>(nullptr)),
      .quotas = placed(at::tensor(work.quotas, at::kLong), static_cast<const int64_t*>(nullptr)),
      .drawn = reinterpret_cast<gpu::Drawn*>(drawn),
      .scales = reinterpret_cast<gpu::RowScale*>(interpreter.upload(bytes(rows * sizeof(gpu::RowScale)))),
      .rejected = reinterpret_cast<gpu::Rejected*>(rejected),
      .marks = reinterpret_cast<uint32_t*>(marks)};
  const Launches launches = launches_of(work, arrays);
  const auto blocks = static_cast<uint32_t>(rows);
  interpreter.launch({"sample_row"}, {blocks, 1, 1}, 512, launches.sample);
  interpreter.launch({"accept_position"}, {1, 1, 1}, 128, launches.accept);
  interpreter.launch({"rejected_row"}, {blocks, 1, 1}, 512, launches.reject);
  const auto masked = std::ssize(work.cells);
  const auto back = [&](uint64_t address, size_t of_row) {
    return interpreter.download(address, {masked * static_cast<int64_t>(of_row)}, at::kByte);
  };
  work.check(values_of<gpu::Drawn>(back(drawn, sizeof(gpu::Drawn))),
             values_of<gpu::Rejected>(back(rejected, sizeof(gpu::Rejected))),
             values_of<uint32_t>(back(marks, static_cast<size_t>(words_of(work)) * 4)));
}

TEST_CASE("ids that rejected candidates exclude are those of the operators, on a GPU",
          "[rejected_kernels][gpu]") {
  require_gpu();
  const RejectedCase work = some_case();
  const auto masked = std::ssize(work.cells);
  const auto rows = static_cast<size_t>(masked + kUnused);
  const at::Tensor logits = on_gpu(work.logits), allowed = on_gpu(work.allowed),
                   uniforms = on_gpu(at::tensor(work.uniforms, at::kDouble)),
                   count = on_gpu(at::tensor({masked}, at::kInt)),
                   cells = on_gpu(at::tensor(work.cells, at::kLong)),
                   quotas = on_gpu(at::tensor(work.quotas, at::kLong)),
                   drawn = on_gpu(bytes(rows * sizeof(gpu::Drawn))),
                   scales = on_gpu(bytes(rows * sizeof(gpu::RowScale)));
  RejectedArrays arrays(static_cast<int64_t>(rows), work.vocab, drawn.device());
  const Launches launches =
      launches_of(work, {.logits = logits.const_data_ptr<float>(),
                         .allowed = static_cast<const uint8_t*>(allowed.const_data_ptr()),
                         .uniforms = uniforms.const_data_ptr<double>(),
                         .count = count.const_data_ptr<int32_t>(),
                         .cells = cells.const_data_ptr<int64_t>(),
                         .quotas = quotas.const_data_ptr<int64_t>(),
                         .drawn = static_cast<gpu::Drawn*>(drawn.mutable_data_ptr()),
                         .scales = static_cast<gpu::RowScale*>(scales.mutable_data_ptr()),
                         .rejected = arrays.rejected(),
                         .marks = arrays.marks()});
  gpu::sample_rows(launches.sample, current_stream());
  gpu::accept_drawn(launches.accept, current_stream());
  gpu::rejected_rows(launches.reject, current_stream());
  const at::Tensor on_host = drawn.cpu().narrow(0, 0, masked * static_cast<int64_t>(sizeof(gpu::Drawn)));
  work.check(values_of<gpu::Drawn>(on_host), {arrays.rejected(), arrays.rejected() + masked},
             {arrays.marks(), arrays.marks() + masked * words_of(work)});
}

}  // namespace bicrl
