#include "tasks/synthetic/synthetic_operators.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"

namespace bicrl {
namespace {

double sigmoid(double v) { return 1.0 / (1.0 + std::exp(-v)); }

template <class Combine>
Sample with_row(const Sample& x, std::span<const double> y, Combine combine) {
  Sample out = x;
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t c = 0; c < x.cols; ++c) out.at(r, c) = combine(x.at(r, c), y[c]);
  return out;
}

Sample row_sum(const Sample& x) {
  Sample out{x.rows, 1, std::vector<double>(x.rows, 0.0)};
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t c = 0; c < x.cols; ++c) out.values[r] += x.at(r, c);
  return out;
}

Sample row_mean(const Sample& x) {
  Sample out = row_sum(x);
  for (double& value : out.values) value /= static_cast<double>(x.cols);
  return out;
}

Sample row_max(const Sample& x) {
  Sample out{x.rows, 1, std::vector<double>(x.rows, -INFINITY)};
  for (size_t r = 0; r < x.rows; ++r)
    for (size_t c = 0; c < x.cols; ++c) out.values[r] = std::max(out.values[r], x.at(r, c));
  return out;
}

Sample row_softmax(const Sample& x) {
  Sample out = x;
  const Sample top = row_max(x);
  for (size_t r = 0; r < x.rows; ++r) {
    double sum = 0;
    for (size_t c = 0; c < x.cols; ++c) sum += out.at(r, c) = std::exp(x.at(r, c) - top.values[r]);
    for (size_t c = 0; c < x.cols; ++c) out.at(r, c) /= sum;
  }
  return out;
}

// `outside` stands for neighbours beyond the row's ends.
template <class Combine>
Sample neighbours(const Sample& x, double outside, Combine combine) {
  Sample out = x;
  for (size_t r = 0; r < x.rows; ++r) {
    for (size_t c = 0; c < x.cols; ++c) {
      const double left = c > 0 ? x.at(r, c - 1) : outside;
      const double right = c + 1 < x.cols ? x.at(r, c + 1) : outside;
      out.at(r, c) = combine(left, x.at(r, c), right);
    }
  }
  return out;
}

std::vector<SyntheticOperator> make_operators() {
  using Kind = OperatorKind;
  using C = const double*;
  std::vector<SyntheticOperator> table;
  const auto pointwise = [&](std::string_view name, std::string_view torch, std::string_view cuda,
                             std::vector<std::vector<std::string_view>> constants, double (*f)(double, C)) {
    table.push_back({name, Kind::kPointwise, torch, cuda, std::move(constants), f, nullptr});
  };
  const auto whole = [&](std::string_view name, Kind kind, std::string_view torch, std::string_view cuda,
                         Sample (*f)(const Sample&, std::span<const double>)) {
    table.push_back({name, kind, torch, cuda, {{}}, nullptr, f});
  };

  pointwise("relu", "torch.relu(x)", "fmaxf(v, 0.0f)", {{}}, [](double v, C) { return std::max(v, 0.0); });
  pointwise("sigmoid", "torch.sigmoid(x)", "1.0f / (1.0f + expf(-v))", {{}},
            [](double v, C) { return sigmoid(v); });
  pointwise("tanh", "torch.tanh(x)", "tanhf(v)", {{}}, [](double v, C) { return std::tanh(v); });
  pointwise("exp_neg", "torch.exp(-x)", "expf(-v)", {{}}, [](double v, C) { return std::exp(-v); });
  pointwise("abs", "torch.abs(x)", "fabsf(v)", {{}}, [](double v, C) { return std::fabs(v); });
  pointwise("square", "torch.square(x)", "v * v", {{}}, [](double v, C) { return v * v; });
  pointwise("sqrt_abs", "torch.sqrt(torch.abs(x))", "sqrtf(fabsf(v))", {{}},
            [](double v, C) { return std::sqrt(std::fabs(v)); });
  pointwise("sin", "torch.sin(x)", "sinf(v)", {{}}, [](double v, C) { return std::sin(v); });
  pointwise("cos", "torch.cos(x)", "cosf(v)", {{}}, [](double v, C) { return std::cos(v); });
  pointwise("clamp", "torch.clamp(x, -$0, $0)", "fminf(fmaxf(v, -$0), $0)", {{"0.5"}, {"1.0"}, {"2.0"}},
            [](double v, C c) { return std::clamp(v, -c[0], c[0]); });
  pointwise("leaky_relu", "F.leaky_relu(x, $0)", "v > 0.0f ? v : v * $0", {{"0.1"}, {"0.2"}},
            [](double v, C c) { return v > 0 ? v : v * c[0]; });
  pointwise("elu", "F.elu(x, $0)", "v > 0.0f ? v : $0 * (expf(v) - 1.0f)", {{"0.5"}, {"1.0"}},
            [](double v, C c) { return v > 0 ? v : c[0] * std::expm1(v); });
  pointwise("softplus", "F.softplus(x)", "v > 20.0f ? v : log1pf(expf(v))", {{}},
            [](double v, C) { return v > 20 ? v : std::log1p(std::exp(v)); });
  pointwise("softsign", "F.softsign(x)", "v / (1.0f + fabsf(v))", {{}},
            [](double v, C) { return v / (1.0 + std::fabs(v)); });
  pointwise("silu", "F.silu(x)", "v / (1.0f + expf(-v))", {{}}, [](double v, C) { return v * sigmoid(v); });
  pointwise("gelu", "F.gelu(x)", "0.5f * v * (1.0f + erff(v * 0.7071068f))", {{}},
            [](double v, C) { return 0.5 * v * (1.0 + std::erf(v * M_SQRT1_2)); });
  pointwise("hardswish", "F.hardswish(x)", "v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f", {{}},
            [](double v, C) { return v * std::clamp(v + 3.0, 0.0, 6.0) / 6.0; });
  pointwise("add", "x + $0", "v + $0", {{"0.5"}, {"1.0"}, {"2.0"}}, [](double v, C c) { return v + c[0]; });
  pointwise("sub", "x - $0", "v - $0", {{"0.5"}, {"1.0"}, {"2.0"}}, [](double v, C c) { return v - c[0]; });
  pointwise("mul", "x * $0", "v * $0", {{"0.5"}, {"2.0"}, {"3.0"}}, [](double v, C c) { return v * c[0]; });
  pointwise("rsub", "$0 - x", "$0 - v", {{"1.0"}, {"2.0"}}, [](double v, C c) { return c[0] - v; });

  whole("add_row", Kind::kRowVector, "x + y", "v + y[i % cols]",
        [](const Sample& x, std::span<const double> y) {
          return with_row(x, y, [](double a, double b) { return a + b; });
        });
  whole("mul_row", Kind::kRowVector, "x * y", "v * y[i % cols]",
        [](const Sample& x, std::span<const double> y) {
          return with_row(x, y, [](double a, double b) { return a * b; });
        });
  whole("sum", Kind::kReduction, "torch.sum(x, dim=-1)", "",
        [](const Sample& x, std::span<const double>) { return row_sum(x); });
  whole("mean", Kind::kReduction, "torch.mean(x, dim=-1)", "",
        [](const Sample& x, std::span<const double>) { return row_mean(x); });
  whole("max", Kind::kReduction, "torch.amax(x, dim=-1)", "",
        [](const Sample& x, std::span<const double>) { return row_max(x); });
  whole("softmax", Kind::kSoftmax, "torch.softmax(x, dim=-1)", "",
        [](const Sample& x, std::span<const double>) { return row_softmax(x); });
  whole("avg3", Kind::kStencil, "F.avg_pool1d(x, 3, 1, 1)", "", [](const Sample& x, std::span<const double>) {
    return neighbours(x, 0.0, [](double a, double b, double c) { return (a + b + c) / 3.0; });
  });
  whole("max3", Kind::kStencil, "F.max_pool1d(x, 3, 1, 1)", "", [](const Sample& x, std::span<const double>) {
    return neighbours(x, -INFINITY, [](double a, double b, double c) { return std::max(std::max(a, b), c); });
  });
  whole("diff", Kind::kStencil, "x - F.pad(x, (1, -1))", "", [](const Sample& x, std::span<const double>) {
    return neighbours(x, 0.0, [](double a, double b, double) { return b - a; });
  });
  return table;
}

}  // namespace

const std::vector<SyntheticOperator>& synthetic_operators() {
  static const std::vector<SyntheticOperator> table = make_operators();
  return table;
}

const SyntheticOperator* find_synthetic_operator(std::string_view name) {
  const auto& table = synthetic_operators();
  const auto found = std::ranges::find(table, name, &SyntheticOperator::name);
  return found == table.end() ? nullptr : &*found;
}

const SyntheticOperator& synthetic_operator(std::string_view name) {
  const SyntheticOperator* found = find_synthetic_operator(name);
  BICRL_CHECK(found, "unknown operator '", name, "'");
  return *found;
}

bool is_structural(const SyntheticOperator& op) {
  return op.kind != OperatorKind::kPointwise && op.kind != OperatorKind::kRowVector;
}

std::string with_constants(std::string_view text, std::span<const std::string_view> constants,
                           std::string_view suffix) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    const size_t index = static_cast<size_t>(text[++i] - '0');
    BICRL_CHECK(index < constants.size(), text);
    out += concat(constants[index], suffix);
  }
  return out;
}

}  // namespace bicrl
