#include "tasks/synthetic/synthetic_quality.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl {
namespace {

constexpr size_t kSampleRows = 48;
constexpr int kFunctionColumns = 6;  // of the samples that tell functions apart

struct Inputs {
  Sample x;
  std::vector<double> y;  // [cols]
};

Inputs draw_inputs(int cols) {
  // The name of the stream is part of what is drawn: another one would make other sets of tasks.
  RandomStream stream(mix_key(static_cast<uint64_t>(cols), "judge inputs"));
  const auto width = static_cast<size_t>(cols);
  Inputs inputs{{kSampleRows, width, std::vector<double>(kSampleRows * width)}, std::vector<double>(width)};
  for (double& value : inputs.x.values) value = stream.normal();
  for (double& value : inputs.y) value = stream.normal();
  return inputs;
}

// Thousands of chains are judged on the same few.
const Inputs& inputs_of(int cols) {
  thread_local std::map<int, Inputs> drawn;
  const auto [known, fresh] = drawn.try_emplace(cols);
  if (fresh) known->second = draw_inputs(cols);
  return known->second;
}

Sample apply(const ChainStep& step, Sample x, const std::vector<double>& y) {
  if (step.op->whole) return step.op->whole(x, y);
  double constants[2] = {0, 0};
  BICRL_CHECK(step.constants.size() <= 2, step.op->name);
  for (size_t i = 0; i < step.constants.size(); ++i) constants[i] = std::stod(std::string(step.constants[i]));
  for (double& value : x.values) value = step.op->pointwise(value, constants);
  return x;
}

// Nothing if a value leaves the permitted magnitude (or is NaN).
std::optional<Sample> run(std::span<const ChainStep> steps, Sample x, const std::vector<double>& y,
                          double max_magnitude) {
  for (const ChainStep& step : steps) {
    x = apply(step, std::move(x), y);
    const bool bounded =
        std::ranges::all_of(x.values, [&](double value) { return std::fabs(value) <= max_magnitude; });
    if (!bounded) return std::nullopt;
  }
  return x;
}

// What goes into each step, and the output behind it. Of a chain that leaves the permitted magnitude nothing.
std::vector<Sample> run_step_by_step(const std::vector<ChainStep>& chain, const Inputs& inputs,
                                     double max_magnitude) {
  std::vector<Sample> samples{inputs.x};
  for (const ChainStep& step : chain) {
    auto next = run({&step, 1}, samples.back(), inputs.y, max_magnitude);
    if (!next) return {};
    samples.push_back(std::move(*next));
  }
  return samples;
}

double deviation(const Sample& x) {
  double sum = 0, squares = 0;
  for (double value : x.values) sum += value, squares += value * value;
  const auto count = static_cast<double>(x.values.size());
  return std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
}

double common_share(const Sample& x) {
  std::vector<long long> keys;
  for (double value : x.values) keys.push_back(std::llround(value * 1e4));
  std::ranges::sort(keys);
  size_t longest = 0;
  for (size_t i = 0, start = 0; i < keys.size(); ++i) {
    if (keys[i] != keys[start]) start = i;
    longest = std::max(longest, i - start + 1);
  }
  return static_cast<double>(longest) / static_cast<double>(keys.size());
}

// Share of outputs that change by more than `difference` when an operator is left out; 1 if the shape
// changes.
double changed_share(const Sample& full, const std::optional<Sample>& reduced, double difference) {
  if (!reduced || reduced->cols != full.cols) return 1.0;
  size_t changed = 0;
  for (size_t i = 0; i < full.values.size(); ++i)
    changed += std::fabs(full.values[i] - reduced->values[i]) > difference;
  return static_cast<double>(changed) / static_cast<double>(full.values.size());
}

}  // namespace

std::string chain_problem(const std::vector<ChainStep>& chain, std::span<const int> column_counts,
                          const QualityLimits& limits) {
  for (int cols : column_counts) {
    const Inputs& inputs = inputs_of(cols);
    const std::vector<Sample> samples = run_step_by_step(chain, inputs, limits.max_magnitude);
    if (samples.empty()) return concat("a value exceeds ", limits.max_magnitude);
    const Sample& output = samples.back();
    if (deviation(output) < limits.min_deviation) return "the output hardly varies";
    if (common_share(output) > limits.max_common_share) return "most outputs are equal";
    if (changed_share(output, inputs.x, limits.min_difference) < limits.min_different_share)
      return "the input itself would do";
    for (size_t i = 0; i < chain.size(); ++i) {
      const auto without = run(std::span(chain).subspan(i + 1), samples[i], inputs.y, limits.max_magnitude);
      if (changed_share(output, without, limits.min_difference) < limits.min_different_share)
        return concat("operator ", i + 1, " (", chain[i].op->name, ") hardly matters");
    }
  }
  return {};
}

uint64_t function_key(const std::vector<ChainStep>& chain) {
  const Inputs& inputs = inputs_of(kFunctionColumns);
  const auto output = run(chain, inputs.x, inputs.y, std::numeric_limits<double>::infinity());
  BICRL_CHECK(output, "nothing exceeds infinity");
  std::string digits;
  for (double value : output->values) {
    char text[16];
    // What is nothing but rounding is 0, whose sign says nothing, either.
    snprintf(text, sizeof text, "%.3e ", std::fabs(value) < 1e-9 ? 0.0 : value);
    digits += text;
  }
  return mix_key(0, digits);
}

}  // namespace bicrl
