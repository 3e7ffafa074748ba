// The head's softmax and gradient, tile by tile, against fp64, in the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "policy/gpu/head/head_kernels.h"
#include "rollout/record/rejected_mass.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/interpreter_tensors.h"

namespace bicrl {
namespace {

using namespace testing;
using gpu::kHeadTileIds;

constexpr int64_t kRows = 7, kWidth = 520;

// Logits of three tiles, the last of which is ragged. With `excludes` some rows drew none of several ids.
struct LogitsCase {
  LogitsCase(double its_temperature, bool first_tile_is_allowed, bool excludes)
      : temperature(its_temperature) {
    at::manual_seed(5);
    logits = at::randn({kRows, vocab}) * 4;
    logits[1].slice(0, kHeadTileIds) += 200;     // far above what the first tile has
    logits[2].slice(0, 2 * kHeadTileIds) += 70;  // the third far above both
    logits[3].slice(0, 0, 5) += 300;             // and the first above the others
    logits[4] = 0.25;
    labels = at::tensor(std::vector<int64_t>{100, 17, 2 * kHeadTileIds + 3, 2, 30, kHeadTileIds, vocab - 2},
                        at::kLong);
    allowed = at::rand({vocab}) < 0.8;
    if (!first_tile_is_allowed) allowed.slice(0, 0, kHeadTileIds) = false;
    allowed[vocab - 1] = false;
    for (int64_t r = 0; r < kRows; ++r) {
      if (!first_tile_is_allowed) labels[r] = std::max(labels[r].item<int64_t>(), kHeadTileIds + r);
      allowed[labels[r].item<int64_t>()] = true;
    }
    logits[5][kHeadTileIds] = 60;  // a label that is nearly certain
    grad = at::randn({kRows});
    if (excludes) exclude_some();
    allowed.index_fill_(0, other_ids, true);
    const at::Tensor leaf = logits.to(at::kDouble).requires_grad_(true);
    const at::Tensor all = (leaf / temperature).masked_fill(allowed.logical_not(), -INFINITY).log_softmax(1);
    log_prob = all.gather(1, labels.unsqueeze(1)).squeeze(1);
    const at::Tensor others = all.index({other_rows - kFirstRow, other_ids}).exp();
    const at::Tensor mass = log_prob.exp().index_add(0, other_rows - kFirstRow, others);
    log_likelihood = at::where(excluded > 0, log_complement(mass), log_prob);
    log_likelihood.backward(grad.to(at::kDouble));
    grad_logits = leaf.grad();
    log_likelihood = log_likelihood.detach();
    log_prob = log_prob.detach();
    const at::Tensor p = all.detach().exp();
    entropy = -(p * all.detach().clamp_min(-1e30)).sum(1);
  }
  // A mass that is 0, one of two tiles, one that is small, one that rounds to 1, and one of the label alone.
  void exclude_some() {
    const int64_t certain = kHeadTileIds, label = labels[5].item<int64_t>();
    logits[2][2 * kHeadTileIds + 9] = 85;
    logits[6][vocab - 2] = 18;
    excluded = at::tensor(std::vector<int64_t>{0, 1, 3, 0, 4, 2, 1});
    other_rows = at::tensor(std::vector<int64_t>{2, 2, 4, 4, 4, 5}) + kFirstRow;
    other_ids = at::tensor(std::vector<int64_t>{kHeadTileIds + 5, 2 * kHeadTileIds + 9, kHeadTileIds + 11,
                                                kHeadTileIds + 700, 2 * kHeadTileIds + 77,
                                                label == certain ? certain + 1 : certain});
  }
  int64_t tiles() const { return (vocab + kHeadTileIds - 1) / kHeadTileIds; }
  int64_t ids(int64_t tile) const { return std::min(kHeadTileIds, vocab - tile * kHeadTileIds); }
  // As a product leaves it: what is behind a tile's ids is of no meaning.
  at::Tensor tile_logits(int64_t tile) const {
    at::Tensor some = at::full({kRows, kHeadTileIds}, NAN);
    some.slice(1, 0, ids(tile)).copy_(logits.slice(1, tile * kHeadTileIds, tile * kHeadTileIds + ids(tile)));
    return some;
  }

  static constexpr int64_t vocab = 2 * kHeadTileIds + 1003, stride = 2 * kHeadTileIds + 1008;
  static constexpr int64_t kFirstRow = 1000;  // what the other ids' rows call the first
  double temperature;
  at::Tensor logits, labels, allowed, grad, log_prob, log_likelihood, grad_logits, entropy;
  at::Tensor excluded = at::zeros({kRows}, at::kLong), other_rows = at::empty({0}, at::kLong),
             other_ids = at::empty({0}, at::kLong);
};

struct LogitsResults {
  at::Tensor log_prob, log_likelihood, entropy, factor, label_factor, weights;
};

void check_logits(const LogitsCase& work, const LogitsResults& r) {
  check_rounded("log-probability", r.log_prob, work.log_prob, 2e-5, 2e-6);
  check_rounded("log-likelihood", r.log_likelihood, work.log_likelihood, 2e-5, 2e-6);
  check_rounded("entropy", r.entropy, work.entropy, 2e-5, 1e-5);
  // The gradient of the logits, as its products see it.
  at::Tensor mine = r.weights.cpu().to(at::kDouble) * r.factor.cpu().to(at::kDouble).unsqueeze(1);
  CHECK(mine.slice(1, LogitsCase::vocab).abs().max().item<double>() == 0);
  mine = mine.slice(1, 0, LogitsCase::vocab).contiguous();
  CHECK(mine.gather(1, work.labels.unsqueeze(1)).abs().max().item<double>() == 0);
  check_rounded("gradient of the logits", mine.scatter(1, work.labels.unsqueeze(1), 0),
                work.grad_logits.scatter(1, work.labels.unsqueeze(1), 0), 1e-12, 1.0 / 250);
  const at::Tensor of_labels = work.grad_logits.gather(1, work.labels.unsqueeze(1)).squeeze(1);
  check_rounded("gradient of the labels' logits", r.label_factor, of_labels, 1e-9, 1e-3);
}

// ---- What is made of the products.
struct ProductsCase {
  static constexpr int64_t kVocab = 50;
  ProductsCase() {
    at::manual_seed(11);
    product = at::randn({kMany, kWidth});
    factor = at::randn({kMany});
    label_factor = at::randn({kMany});
    labels = at::randint(kVocab, {kMany}, at::kLong).masked_fill(at::rand({kMany}) < 0.5, 3);
    weight = at::randn({kVocab, kWidth}).to(at::kBFloat16);
    hidden = at::randn({kMany, kWidth}).to(at::kBFloat16);
    before = at::randn({kVocab, kWidth});
    const at::Tensor k = label_factor.to(at::kDouble).unsqueeze(1);
    rows = product.to(at::kDouble) * factor.to(at::kDouble).unsqueeze(1) +
           k * weight.to(at::kDouble).index_select(0, labels);
    sum = before.to(at::kDouble).index_add(0, labels, k * hidden.to(at::kDouble));
  }
  void check(const at::Tensor& mine_rows, const at::Tensor& mine_sum) const {
    check_rounded("gradient of hidden rows", mine_rows, rows);
    check_rounded("labels' rows of the weight's gradient", mine_sum, sum, 1e-4, 1e-5);
  }
  static constexpr int64_t kMany = 300;
  at::Tensor product, factor, label_factor, labels, weight, hidden, before, rows, sum;
};

LogitsCase some_logits() {
  return GENERATE(LogitsCase(1.0, true, false), LogitsCase(0.7, true, false), LogitsCase(1.3, false, false),
                  LogitsCase(1.0, true, true), LogitsCase(0.7, true, true), LogitsCase(1.3, false, true));
}

template <class Element>
Element* at_row(const at::Tensor& states, int64_t row) {
  return static_cast<Element*>(states.mutable_data_ptr()) + row * states.size(1);
}

}  // namespace

TEST_CASE("softmax by tiles equals fp64, in the PTX interpreter", "[head_kernels]") {
  const LogitsCase work = some_logits();
  InterpreterTensors interpreter("head_kernels");
  const auto floats = [&] { return interpreter.unwritten({kRows}, at::kFloat); };
  struct State {
    uint64_t best, reference, sum, moment, label;
  } const state = {floats(), floats(), floats(), floats(), floats()};
  const uint64_t allowed = interpreter.upload(at::constant_pad_nd(work.allowed, {0, 1})),
                 labels = interpreter.upload(work.labels),
                 weights = interpreter.unwritten({kRows, LogitsCase::stride}, at::kBFloat16),
                 references = interpreter.unwritten({work.tiles(), kRows}, at::kFloat), none = 0;
  const float scale = 1.4426950408889634f / static_cast<float>(work.temperature);
  const int64_t many = work.other_ids.numel();
  struct Others {
    int64_t count, first_row;
    uint64_t rows, ids, logits;
  } const others = {many, LogitsCase::kFirstRow,
                    interpreter.upload(at::constant_pad_nd(work.other_rows, {0, 1})),
                    interpreter.upload(at::constant_pad_nd(work.other_ids, {0, 1})),
                    interpreter.unwritten({many + 1}, at::kFloat)};
  for (int64_t tile = 0; tile < work.tiles(); ++tile) {
    const uint64_t logits = interpreter.upload(work.tile_logits(tile));
    const int64_t first = tile * kHeadTileIds, left = LogitsCase::stride - first;
    struct {
      uint64_t logits, allowed, labels;
      State state;
      uint64_t weights;
      int64_t weights_stride;
      uint64_t tile_reference;
      float scale;
      int32_t first, ids, padded_ids;
    } const arguments = {logits,
                         allowed + static_cast<uint64_t>(first),
                         labels,
                         state,
                         weights + static_cast<uint64_t>(2 * first),
                         LogitsCase::stride,
                         references + static_cast<uint64_t>(4 * tile * kRows),
                         scale,
                         static_cast<int32_t>(first),
                         static_cast<int32_t>(work.ids(tile)),
                         static_cast<int32_t>(std::min(left, kHeadTileIds))};
    interpreter.launch({"head_tile_row"}, {kRows, 1, 1}, 512, arguments);
    struct {
      uint64_t logits, allowed;
      Others others;
      float scale;
      int32_t first, ids;
    } const of_others = {logits, arguments.allowed, others, scale, arguments.first, arguments.ids};
    interpreter.launch({"head_other_logit"}, {1, 1, 1}, 256, of_others);
  }
  const uint64_t log_prob = floats(), entropy = floats();
  struct {
    State state;
    uint64_t log_prob, entropy, weights;
    int64_t weights_stride;
    uint64_t tile_reference;
    int64_t tile_reference_stride;
    uint64_t row_index;
    struct {
      uint64_t record;
      uint32_t stage;
    } fault;
    int32_t tiles, vocab;
  } const rows = {state,
                  log_prob,
                  entropy,
                  weights,
                  LogitsCase::stride,
                  references,
                  kRows,
                  none,
                  {none, 0},
                  static_cast<int32_t>(work.tiles()),
                  static_cast<int32_t>(LogitsCase::vocab)};
  interpreter.launch({"head_rowE"}, {kRows, 1, 1}, 256, rows);
  const uint64_t log_likelihood = floats(), odds = floats();
  struct {
    uint64_t excluded;
    Others others;
    State state;
    uint64_t log_prob, log_likelihood, odds, weights;
    int64_t weights_stride;
    int32_t rows;
  } const exclusion = {interpreter.upload(work.excluded),
                       others,
                       state,
                       log_prob,
                       log_likelihood,
                       odds,
                       weights,
                       LogitsCase::stride,
                       static_cast<int32_t>(kRows)};
  interpreter.launch({"head_excluded_row"}, {1, 1, 1}, 256, exclusion);
  const uint64_t factor = floats(), label_factor = floats(),
                 scaled = interpreter.unwritten({kRows, kWidth}, at::kBFloat16);
  const at::Tensor hidden = at::randn({kRows, kWidth}).to(at::kBFloat16);
  struct {
    uint64_t grad, log_prob, sum, odds, hidden, factor, label_factor, scaled;
    float inverse_temperature;
    int32_t width;
  } const factors = {interpreter.upload(work.grad),
                     log_prob,
                     state.sum,
                     odds,
                     interpreter.upload(hidden),
                     factor,
                     label_factor,
                     scaled,
                     static_cast<float>(1 / work.temperature),
                     static_cast<int32_t>(kWidth)};
  interpreter.launch({"head_factor_row"}, {kRows, 1, 1}, 256, factors);
  const auto row = [&](uint64_t address) { return interpreter.download(address, {kRows}, at::kFloat); };
  check_logits(work, {row(log_prob), row(log_likelihood), row(entropy), row(factor), row(label_factor),
                      interpreter.download(weights, {kRows, LogitsCase::stride}, at::kBFloat16)});
  check_rounded("scaled rows", interpreter.download(scaled, {kRows, kWidth}, at::kBFloat16),
                hidden.to(at::kDouble) * row(factor).to(at::kDouble).unsqueeze(1), 0);
}

TEST_CASE("rows of the head's gradient equal fp64, in the PTX interpreter", "[head_kernels]") {
  const ProductsCase work;
  InterpreterTensors interpreter("head_kernels");
  const uint64_t labels = interpreter.upload(work.labels),
                 label_factor = interpreter.upload(work.label_factor),
                 out = interpreter.unwritten({ProductsCase::kMany, kWidth}, at::kBFloat16),
                 sum = interpreter.upload(work.before);
  struct {
    uint64_t product, factor, label_factor, labels, weight, out;
    int32_t width;
  } const gradient = {interpreter.upload(work.product),
                      interpreter.upload(work.factor),
                      label_factor,
                      labels,
                      interpreter.upload(work.weight),
                      out,
                      kWidth};
  interpreter.launch({"head_gradient_row"}, {ProductsCase::kMany, 1, 1}, 256, gradient);
  struct {
    uint64_t labels, label_factor, hidden, sum;
    int32_t rows, width;
  } const of_labels = {labels, label_factor,        interpreter.upload(work.hidden),
                       sum,    ProductsCase::kMany, kWidth};
  interpreter.launch({"head_label_row"}, {ProductsCase::kMany, (kWidth + 511) / 512, 1}, 64, of_labels);
  work.check(interpreter.download(out, {ProductsCase::kMany, kWidth}, at::kBFloat16),
             interpreter.download(sum, {ProductsCase::kVocab, kWidth}, at::kFloat));
}

TEST_CASE("softmax by tiles and the head's gradient equal fp64, on a GPU", "[head_kernels][gpu]") {
  require_gpu();
  const gpu::Stream stream = current_stream();
  const auto empty = [](at::IntArrayRef shape, at::ScalarType type) {
    return on_gpu(at::full(shape, NAN, at::TensorOptions().dtype(type)));
  };
  const auto floats = [](const at::Tensor& x) { return x.const_data_ptr<float>(); };
  {
    const LogitsCase work = some_logits();
    const at::Tensor rows = empty({11, kRows}, at::kFloat), grad = on_gpu(work.grad),
                     allowed = on_gpu(at::constant_pad_nd(work.allowed, {0, 1})),
                     labels = on_gpu(work.labels), excluded = on_gpu(work.excluded),
                     other_rows = on_gpu(work.other_rows), other_ids = on_gpu(work.other_ids),
                     other_logits = empty({work.other_ids.numel()}, at::kFloat),
                     weights = empty({kRows, LogitsCase::stride}, at::kBFloat16),
                     references = empty({work.tiles(), kRows}, at::kFloat);
    const auto row = [&](int64_t i) { return at_row<float>(rows, i); };
    const gpu::HeadRowState state = {row(0), row(1), row(2), row(3), row(4)};
    const auto* may = static_cast<const uint8_t*>(allowed.const_data_ptr());
    const auto temperature = static_cast<float>(work.temperature);
    const gpu::HeadOthers others = {.count = other_ids.numel(),
                                    .first_row = LogitsCase::kFirstRow,
                                    .rows = other_rows.const_data_ptr<int64_t>(),
                                    .ids = other_ids.const_data_ptr<int64_t>(),
                                    .logits = other_logits.mutable_data_ptr<float>()};
    for (int64_t tile = 0; tile < work.tiles(); ++tile) {
      const at::Tensor logits = on_gpu(work.tile_logits(tile));
      gpu::head_tile({.rows = kRows,
                      .vocab = LogitsCase::vocab,
                      .first = tile * kHeadTileIds,
                      .ids = work.ids(tile),
                      .logits = floats(logits),
                      .allowed = may,
                      .labels = labels.const_data_ptr<int64_t>(),
                      .temperature = temperature,
                      .state = state,
                      .weights = bf16(weights),
                      .weights_stride = LogitsCase::stride,
                      .tile_reference = at_row<float>(references, tile)},
                     stream);
      gpu::head_other_logits({.first = tile * kHeadTileIds,
                              .ids = work.ids(tile),
                              .logits = floats(logits),
                              .allowed = may,
                              .temperature = temperature,
                              .others = others},
                             stream);
    }
    gpu::head_rows({.rows = kRows,
                    .tiles = work.tiles(),
                    .vocab = LogitsCase::vocab,
                    .state = state,
                    .log_prob = row(5),
                    .entropy = row(6),
                    .weights = bf16(weights),
                    .weights_stride = LogitsCase::stride,
                    .tile_reference = floats(references),
                    .tile_reference_stride = kRows},
                   stream);
    gpu::head_excluded({.rows = kRows,
                        .excluded = excluded.const_data_ptr<int64_t>(),
                        .others = others,
                        .state = state,
                        .log_prob = row(5),
                        .log_likelihood = row(9),
                        .odds = row(10),
                        .weights = bf16(weights),
                        .weights_stride = LogitsCase::stride},
                       stream);
    gpu::head_factors({.rows = kRows,
                       .grad = floats(grad),
                       .log_prob = row(5),
                       .sum = row(2),
                       .odds = row(10),
                       .temperature = temperature,
                       .factor = row(7),
                       .label_factor = row(8)},
                      stream);
    const at::Tensor on_host = rows.cpu();
    check_logits(work, {on_host[5], on_host[9], on_host[6], on_host[7], on_host[8], weights});
  }
  const ProductsCase work;
  const at::Tensor product = on_gpu(work.product), factor = on_gpu(work.factor),
                   label_factor = on_gpu(work.label_factor), labels = on_gpu(work.labels),
                   weight = on_gpu(work.weight), hidden = on_gpu(work.hidden), sum = on_gpu(work.before),
                   out = empty({ProductsCase::kMany, kWidth}, at::kBFloat16);
  gpu::head_gradient_rows({.rows = ProductsCase::kMany,
                           .width = kWidth,
                           .product = floats(product),
                           .factor = floats(factor),
                           .label_factor = floats(label_factor),
                           .labels = labels.const_data_ptr<int64_t>(),
                           .weight = bf16(weight),
                           .out = bf16(out)},
                          stream);
  gpu::head_label_rows({.rows = ProductsCase::kMany,
                        .width = kWidth,
                        .labels = labels.const_data_ptr<int64_t>(),
                        .label_factor = floats(label_factor),
                        .hidden = bf16(hidden),
                        .sum = sum.mutable_data_ptr<float>()},
                       stream);
  work.check(out, sum);
}

}  // namespace bicrl
