#include "trainer/evaluation/kernelbench_results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/error.h"
#include "reward/reward_rule.h"
#include "trainer/evaluation/task_scores.h"

namespace bicrl {
namespace {

using nlohmann::ordered_json;

// What KernelBench takes a problem for that it has no result of.
KernelBenchSample missing_sample() {
  KernelBenchSample sample;
  sample.metadata["missing"] = "no program was graded";
  return sample;
}

const KernelBenchSample* first_sample(const KernelBenchEntry& entry) {
  const bool has = !entry.samples.empty() && entry.samples.front().number == 0;
  return has ? &entry.samples.front() : nullptr;
}

double baseline_ms(const KernelBenchEntry& entry) { return entry.baseline.value("mean", 0.0); }

// 0 if it is not correct, or not known.
double speedup_of(const KernelBenchEntry& entry, const KernelBenchSample& sample) {
  if (!sample.correct || sample.runtime_ms <= 0) return 0;
  return (sample.paired ? sample.reference_ms : baseline_ms(entry)) / sample.runtime_ms;
}

double best_speedup_of(const KernelBenchEntry& entry) {
  double best = 0;
  for (const KernelBenchSample& sample : entry.samples) best = std::max(best, speedup_of(entry, sample));
  return best;
}

double geometric_mean(const std::vector<double>& speedups) {
  double logarithms = 0;
  int64_t count = 0;
  for (const double speedup : speedups) {
    if (speedup <= 0) continue;
    logarithms += std::log(speedup);
    ++count;
  }
  return count > 0 ? std::exp(logarithms / static_cast<double>(count)) : 0;
}

std::vector<double> shares_above(const std::vector<double>& speedups) {
  std::vector<double> shares;
  for (const double threshold : kFastThresholds) {
    const auto above = std::ranges::count_if(speedups, [&](double s) { return s > threshold; });
    shares.push_back(static_cast<double>(above) / static_cast<double>(speedups.size()));
  }
  return shares;
}

ordered_json json_of(const KernelBenchSample& sample) {
  return {{"sample_id", sample.number},         {"compiled", sample.compiled},
          {"correctness", sample.correct},      {"metadata", sample.metadata},
          {"runtime", sample.runtime_ms},       {"runtime_stats", sample.runtime_stats},
          {"ref_runtime", sample.reference_ms}, {"ref_runtime_stats", sample.reference_stats}};
}

std::string file_name(const KernelBenchProblem& problem) {
  return problem.name.ends_with(".py") ? problem.name : problem.name + ".py";
}

// Our medians in the form of a baseline.
ordered_json stats_of(double median_ms, double spread_ms, const Verdict& verdict) {
  return {{"mean", median_ms},         {"std", spread_ms},      {"min", median_ms},
          {"max", median_ms},          {"num_trials", 1},       {"hardware", verdict.device},
          {"device", verdict.backend}, {"clock", verdict.clock}};
}

int64_t graded_of(const KernelBenchEntry& entry) {
  return std::ranges::count_if(entry.samples, &KernelBenchSample::graded);
}

// Keys of metadata that say why a program is not correct.
std::string fault_of(const KernelBenchSample& sample) {
  if (const auto named = sample.metadata.find("fault_class"); named != sample.metadata.end()) return *named;
  for (const char* key : {"compilation_error", "cuda_error", "other_error", "timeout", "memory",
                          "output_limit", "process_ended", "runtime_error"})
    if (sample.metadata.contains(key)) return key;
  return "correctness_issue";
}

}  // namespace

KernelBenchSample ungraded_sample(const std::string& reason, int64_t number) {
  KernelBenchSample sample;
  sample.number = number;
  sample.graded = false;
  sample.metadata["ungraded"] = reason;
  return sample;
}

KernelBenchSample sample_of(const Verdict& verdict, int64_t number) {
  if (!judges_program(verdict.outcome)) return ungraded_sample(verdict.diagnostics, number);
  KernelBenchSample sample;
  sample.number = number;
  sample.compiled = verdict.compiled;
  sample.correct = verdict.correct;
  sample.metadata = {{"protocol", "bicrl, does not trust the candidate"},
                     {"backend", verdict.backend},
                     {"tolerance", verdict.tolerance},
                     {"correctness_trials", concat("(", verdict.trials_passed, " / ", verdict.trials, ")")}};
  if (!verdict.graded_at.empty()) sample.metadata["graded_at"] = verdict.graded_at;
  if (!verdict.correct) sample.metadata["fault_class"] = verdict.fault_class;
  if (!verdict.diagnostics.empty()) sample.metadata["diagnostics"] = verdict.diagnostics;
  if (trusted_speedup(verdict) <= 0) return sample;
  sample.runtime_ms = verdict.candidate_ms;
  sample.reference_ms = verdict.eager_ms;
  sample.paired = true;
  sample.runtime_stats = stats_of(verdict.candidate_ms, verdict.candidate_spread_ms, verdict);
  sample.reference_stats = stats_of(verdict.eager_ms, verdict.eager_spread_ms, verdict);
  sample.metadata["clock"] = verdict.clock;
  sample.metadata["hardware"] = verdict.device;
  if (!verdict.costed_at.empty()) sample.metadata["costed_at"] = verdict.costed_at;
  return sample;
}

KernelBenchSample sample_of(const ordered_json& record, int64_t number) {
  KernelBenchSample sample;
  sample.number = number;
  record.at("compiled").get_to(sample.compiled);
  record.at("correctness").get_to(sample.correct);
  record.at("runtime").get_to(sample.runtime_ms);
  record.at("ref_runtime").get_to(sample.reference_ms);
  sample.metadata = record.at("metadata");
  sample.runtime_stats = record.at("runtime_stats");
  sample.reference_stats = record.at("ref_runtime_stats");
  return sample;
}

void take_baselines_of_pairs(KernelBenchResults& results) {
  for (KernelBenchEntry& entry : results.entries) {
    const auto timed = std::ranges::find_if(entry.samples, &KernelBenchSample::paired);
    if (timed != entry.samples.end()) entry.baseline = timed->reference_stats;
  }
}

ordered_json eval_results_json(const KernelBenchResults& results) {
  auto json = ordered_json::object();
  for (const KernelBenchEntry& entry : results.entries) {
    auto samples = ordered_json::array();
    if (!first_sample(entry)) samples.push_back(json_of(missing_sample()));
    for (const KernelBenchSample& sample : entry.samples) samples.push_back(json_of(sample));
    json[std::to_string(entry.problem.number)] = std::move(samples);
  }
  return json;
}

ordered_json baseline_json(const KernelBenchResults& results) {
  const ordered_json none{{"mean", 0.0},     {"std", 0.0},     {"min", 0.0},  {"max", 0.0},
                          {"num_trials", 0}, {"hardware", ""}, {"device", ""}};
  auto level = ordered_json::object();
  for (const KernelBenchEntry& entry : results.entries)
    level[file_name(entry.problem)] = entry.baseline.empty() ? none : entry.baseline;
  return {{concat("level", results.level), std::move(level)}};
}

KernelBenchSummary summarise(const KernelBenchResults& results) {
  BICRL_CHECK(!results.entries.empty(), "no problems");
  KernelBenchSummary summary;
  summary.problems = static_cast<int64_t>(results.entries.size());
  std::vector<double> first, best;
  for (const KernelBenchEntry& entry : results.entries) {
    const auto samples = static_cast<int64_t>(entry.samples.size());
    summary.programs += graded_of(entry);
    summary.ungraded += samples - graded_of(entry);
    summary.missing += samples == 0;
    summary.most_samples = std::max(summary.most_samples, samples);
    const KernelBenchSample* sample = first_sample(entry);
    summary.compiled += sample && sample->compiled;
    summary.correct += sample && sample->correct;
    summary.best_correct += std::ranges::any_of(entry.samples, &KernelBenchSample::correct);
    summary.timed |= std::ranges::any_of(
        entry.samples, [](const KernelBenchSample& s) { return s.correct && s.runtime_ms > 0; });
    first.push_back(sample ? speedup_of(entry, *sample) : 0);
    best.push_back(best_speedup_of(entry));
  }
  for (double* share : {&summary.compiled, &summary.correct, &summary.best_correct})
    *share /= static_cast<double>(summary.problems);
  summary.fast = shares_above(first);
  summary.best_fast = shares_above(best);
  summary.speedup = geometric_mean(first);
  summary.best_speedup = geometric_mean(best);
  return summary;
}

std::vector<TaskScore> scores_of(const KernelBenchResults& results) {
  size_t most = 1;
  for (const KernelBenchEntry& entry : results.entries) most = std::max(most, entry.samples.size());
  std::vector<TaskScore> scores;
  for (const KernelBenchEntry& entry : results.entries) {
    TaskScore& score = scores.emplace_back();
    score.verified = graded_of(entry);
    score.unverified = static_cast<int64_t>(entry.samples.size()) - score.verified;
    if (entry.samples.empty()) score.fault_classes["missing"] = score.verified = static_cast<int64_t>(most);
    for (const KernelBenchSample& sample : entry.samples) {
      if (!sample.graded) continue;
      score.compiled += sample.compiled;
      score.correct += sample.correct;
      score.truncated += sample.truncated;
      score.reduced += sample.metadata.value("graded_at", "") == kReducedSize;
      if (!sample.correct) ++score.fault_classes[fault_of(sample)];
    }
  }
  return scores;
}

std::string summary_table(const KernelBenchSummary& s) {
  const bool several = s.most_samples > 1;
  char line[200];
  const auto row = [&](const std::string& name, double first, double best) {
    snprintf(line, sizeof line, several ? "%-12s %7.1f %%  %9.1f %%\n" : "%-12s %7.1f %%\n", name.c_str(),
             100 * first, 100 * best);
    return std::string(line);
  };
  snprintf(line, sizeof line, "             first sample%s\n",
           several ? concat("   best of ", s.most_samples).c_str() : "");
  std::string table = line;
  snprintf(line, sizeof line, "%-12s %7.1f %%\n", "compiled", 100 * s.compiled);
  table += line;
  table += row("correct", s.correct, s.best_correct);
  if (s.timed)
    for (size_t i = 0; i < std::size(kFastThresholds); ++i) {
      snprintf(line, sizeof line, "fast_%g", kFastThresholds[i]);
      table += row(line, s.fast[i], s.best_fast[i]);
    }
  if (s.timed) {
    snprintf(line, sizeof line, several ? "%-12s %8.2fx  %10.2fx\n" : "%-12s %8.2fx\n", "speed-up", s.speedup,
             s.best_speedup);
    table += concat(line, "shares are of all ", s.problems,
                    " problems; speed-ups geometric means over correct programs\n");
  } else {
    table += concat("shares are of all ", s.problems,
                    " problems; no correct program has times, so fast_p is not printed\n");
  }
  if (s.missing > 0) table += concat(s.missing, " problems have no program\n");
  if (s.ungraded > 0)
    table += concat(
        s.ungraded, " of ", s.programs + s.ungraded,
        " programs got no verdict through the grader's fault; a problem without one counts as wrong\n");
  return table;
}

nlohmann::json to_json(const KernelBenchSummary& s) {
  nlohmann::json fast = nlohmann::json::object(), best = nlohmann::json::object();
  for (size_t i = 0; i < std::size(kFastThresholds); ++i) {
    char name[32];
    snprintf(name, sizeof name, "%g", kFastThresholds[i]);
    fast[name] = s.timed ? nlohmann::json(s.fast[i]) : nlohmann::json();
    best[name] = s.timed ? nlohmann::json(s.best_fast[i]) : nlohmann::json();
  }
  return {
      {"problems", s.problems},
      {"programs", s.programs},
      {"ungraded", s.ungraded},
      {"missing", s.missing},
      {"samples", s.most_samples},
      {"first_sample",
       {{"compiled", s.compiled},
        {"correct", s.correct},
        {"fast_p", std::move(fast)},
        {"speedup", s.speedup}}},
      {"best_of", {{"correct", s.best_correct}, {"fast_p", std::move(best)}, {"speedup", s.best_speedup}}}};
}

}  // namespace bicrl
