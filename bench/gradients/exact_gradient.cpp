// How far the gradients of `trace`, `draws` and `exact` agree on the same responses, how much they vary, and
// what they cost. Of runs without a learning rate, which sampled the same responses for different objectives:
//   bench_exact_gradient CHECKPOINT RUN_OF_EXACT RUN_OF_DRAWS --steps 80 [--threads 8] [--device cuda]
// Steps are shared out among threads, each with a policy of its own; with one thread the seconds are a cost.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "policy/distribution.h"
#include "trainer/experience/rollout_store.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {
namespace {

constexpr const char* kPhase = "end_to_end";

using Steps = std::vector<std::vector<Experience>>;

// By group and sample.
std::map<std::pair<int64_t, int64_t>, double> advantages_of(const nlohmann::json& step) {
  std::map<std::pair<int64_t, int64_t>, double> advantages;
  for (const auto& response : step.at("responses"))
    advantages[{response.at("group").get<int64_t>(), response.at("sample").get<int64_t>()}] =
        response.at("advantage").get<double>();
  return advantages;
}

Steps read_run(const std::filesystem::path& run, int64_t steps) {
  const RolloutStore store(run / "rollouts");
  std::ifstream log(run / "responses.jsonl");
  Steps all;
  for (std::string line; std::ssize(all) < steps && std::getline(log, line);) {
    const nlohmann::json step = nlohmann::json::parse(line);
    if (step.at("phase") != kPhase) continue;
    const auto advantages = advantages_of(step);
    std::vector<Experience>& experiences = all.emplace_back();
    for (const Episode& episode : store.read(kPhase, std::ssize(all))) {
      const auto found = advantages.find({episode.key.group, episode.key.sample});
      if (found != advantages.end() && found->second != 0)
        experiences.push_back({.group = episode.key.group,
                               .sample = episode.key.sample,
                               .rollout = episode.last().rollout,
                               .advantage = found->second});
    }
  }
  BICRL_CHECK(std::ssize(all) == steps, run.string(), " has ", all.size(), " steps");
  return all;
}

// Sums of the gradients of even and of odd steps: their products are without the noise of either.
struct Gradients {
  at::Tensor halves[2];
  double squares = 0, seconds = 0;  // summed over steps
  double scored = 0;                // terms
  double largest_gap = 0;

  void add(const Gradients& other) {
    for (int i = 0; i < 2; ++i)
      if (other.halves[i].defined())
        halves[i] = halves[i].defined() ? halves[i] + other.halves[i] : other.halves[i];
    squares += other.squares;
    seconds += other.seconds;
    scored += other.scored;
    largest_gap = std::max(largest_gap, other.largest_gap);
  }
};

class Bench {
 public:
  Bench(const PolicySource& source, const Tokenizer& tokenizer, int64_t threads) {
    for (int64_t i = 0; i < threads; ++i) policies_.push_back(make_policy(source, tokenizer, 1, 0));
    allowed_ = allowed_ids(policies_.front().config(), tokenizer.size(), policy_device(source, 0));
  }

  int64_t block_size() const { return policies_.front().config().block_size; }

  Gradients measure(const std::string& objective, const Steps& steps) {
    std::vector<Gradients> parts(policies_.size());
    std::vector<std::jthread> threads;
    for (size_t part = 0; part < parts.size(); ++part)
      threads.emplace_back(
          [&, part] { parts[part] = measure_part(policies_[part], objective, steps, part, parts.size()); });
    threads.clear();
    Gradients sum;
    for (const Gradients& part : parts) sum.add(part);
    return sum;
  }

 private:
  // Of steps `first`, `first` + `stride`, ...
  Gradients measure_part(Transformer& policy, const std::string& objective, const Steps& steps, size_t first,
                         size_t stride) const {
    UpdaterSettings settings;
    settings.learning_rate.peak = 0;
    settings.max_grad_norm = 0;
    settings.tokens_per_pack = 2048;
    settings.surrogate.normaliser = Normaliser::kConstant;
    settings.surrogate.normaliser_tokens = 1;
    settings.objective = objective_named(objective);
    SingleProcessControl control;
    SingleProcessTensors tensors;
    PolicyUpdater updater(policy, allowed_, settings, control, tensors);
    at::Tensor gradient;
    updater.observe_gradients([&](const std::vector<at::Tensor>& of_parameters) {
      std::vector<at::Tensor> flat;
      for (const at::Tensor& one : of_parameters) flat.push_back(one.flatten().to(at::kDouble));
      gradient = at::cat(flat);
    });
    Gradients sum;
    for (size_t i = first; i < steps.size(); i += stride) {
      if (steps[i].empty()) continue;
      const Stopwatch stopwatch;
      const UpdateTotals totals = updater.reinforce(steps[i], {shares_of(steps[i])});
      sum.seconds += stopwatch.seconds();
      gradient *= static_cast<double>(steps[i].size());  // the normaliser divides by it
      at::Tensor& half = sum.halves[i % 2];
      half = half.defined() ? half + gradient : gradient;
      sum.squares += gradient.square().sum().item<double>();
      sum.scored += totals[UpdateRow::kTrainedTokens];
      sum.largest_gap = std::max(sum.largest_gap, totals[UpdateRow::kLargestGap]);
    }
    return sum;
  }

  static std::shared_ptr<const Objective> objective_named(const std::string& name) {
    const auto document = ConfigDocument::from_text("{objective: " + name + "}", "bench");
    return make_objective(document.root());
  }

  std::vector<Transformer> policies_;
  at::Tensor allowed_;
};

double product(const Gradients& a, const Gradients& b) {
  return (at::dot(a.halves[0], b.halves[1]) + at::dot(a.halves[1], b.halves[0])).item<double>() / 2;
}

double plain_cosine(const at::Tensor& a, const at::Tensor& b) {
  return (at::dot(a, b) / a.norm() / b.norm()).item<double>();
}

void report(const std::string& name, const Gradients& g, const Gradients& exact, size_t steps) {
  const at::Tensor sum = g.halves[0] + g.halves[1];
  const double count = static_cast<double>(steps), mean_square = sum.square().sum().item<double>() / count;
  const double variance = (g.squares - mean_square) / (count - 1);  // of a step's gradient
  const double signal = product(g, g) * 4 / (count * count);        // |expectation|^2, without noise
  std::printf(
      "%-6s cosine to exact %.4f (of expectations, noise removed: %.4f), of its own halves %.4f | variance "
      "of a step %.4g, |expectation|^2 %.4g | terms %.0f, %.2f s, largest gap %.2g\n",
      name.c_str(), plain_cosine(sum, exact.halves[0] + exact.halves[1]),
      product(g, exact) / std::sqrt(product(g, g) * product(exact, exact)),
      plain_cosine(g.halves[0], g.halves[1]), variance, signal, g.scored, g.seconds, g.largest_gap);
}

// Of all responses, those of groups without variance left out.
void report_records(const char* name, const Steps& steps, int64_t block_size) {
  double denoise_steps = 0, with_rejected = 0, with_term = 0, terms = 0, ids = 0, tokens = 0;
  for (const auto& step : steps)
    for (const Experience& e : step) {
      const Rollout& r = e.rollout;
      std::map<int32_t, std::set<int32_t>> accepted;  // by block
      for (size_t i = 0; i < r.step_map.size(); ++i)
        accepted[static_cast<int32_t>((r.prompt_tokens + static_cast<int64_t>(i)) / block_size)].insert(
            std::abs(r.step_map[i]));
      // All steps of a block but its last one leave candidates over.
      for (const auto& block : accepted) with_rejected += static_cast<double>(block.second.size()) - 1;
      denoise_steps += static_cast<double>(r.denoise_steps);
      with_term +=
          static_cast<double>(std::set<int32_t>(r.candidates.steps.begin(), r.candidates.steps.end()).size());
      terms += static_cast<double>(r.candidates.terms());
      ids += static_cast<double>(r.candidates.ids.size());
      tokens += static_cast<double>(r.response_tokens());
    }
  std::printf(
      "record of %s: %.1f %% of steps leave candidates over, %.1f %% have a recorded term; %.3f terms and "
      "%.3f ids a response token, %.2f bytes (tokens, steps and log-probabilities: 16)\n",
      name, 100 * with_rejected / denoise_steps, 100 * with_term / denoise_steps, terms / tokens,
      ids / tokens, (16 * terms + 4 * ids) / tokens);
}

void run(const std::string& checkpoint, const std::string& of_exact, const std::string& of_draws,
         int64_t steps, int64_t threads, const std::string& device) {
  at::set_num_threads(1);
  PolicySource source;
  source.checkpoint = checkpoint;
  source.device = device;
  const Tokenizer tokenizer = load_tokenizer(source);
  const Steps exact_steps = read_run(of_exact, steps), draws_steps = read_run(of_draws, steps);
  Bench bench(source, tokenizer, threads);
  report_records("exact", exact_steps, bench.block_size());
  report_records("draws", draws_steps, bench.block_size());
  bench.measure("trace", {exact_steps.front()});  // what is made at the first use
  const Gradients exact = bench.measure("exact", exact_steps), trace = bench.measure("trace", exact_steps),
                  draws = bench.measure("draws", draws_steps), again = bench.measure("exact", exact_steps),
                  trace_again = bench.measure("trace", exact_steps);
  size_t responses = 0;
  for (const auto& step : exact_steps) responses += step.size();
  std::printf("%zu responses with an advantage in %lld steps, %lld parameters\n", responses,
              static_cast<long long>(steps), static_cast<long long>(exact.halves[0].numel()));
  for (const auto& [name, gradients] : {std::pair("trace", &trace), {"draws", &draws}, {"exact", &exact}})
    report(name, *gradients, exact, exact_steps.size());
  std::printf("seconds of all updates once more: exact %.2f, trace %.2f; exact against trace: %.3f\n",
              again.seconds, trace_again.seconds,
              (exact.seconds + again.seconds) / (trace.seconds + trace_again.seconds));
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  CLI::App app;
  std::string checkpoint, of_exact, of_draws, device = "cpu";
  int64_t steps = 80, threads = 1;
  app.add_option("checkpoint", checkpoint)->required();
  app.add_option("of_exact", of_exact)->required();
  app.add_option("of_draws", of_draws)->required();
  app.add_option("--steps", steps);
  app.add_option("--threads", threads)->check(CLI::PositiveNumber);
  app.add_option("--device", device);
  CLI11_PARSE(app, argc, argv);
  bicrl::run(checkpoint, of_exact, of_draws, steps, threads, device);
}
