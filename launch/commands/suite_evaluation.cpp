#include "launch/commands/suite_evaluation.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "common/clock.h"
#include "common/files/files.h"
#include "common/files/named_file.h"
#include "common/log.h"
#include "common/usable_machine.h"
#include "episode/episode_pipeline.h"
#include "trainer/evaluation/eval_report.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

KernelBenchResults empty_results(int64_t level, const std::vector<KernelBenchTask>& problems) {
  KernelBenchResults results{.level = level, .entries = {}};
  for (const KernelBenchTask& problem : problems) results.entries.emplace_back().problem = problem.problem;
  return results;
}

void print_row(const KernelBenchTask& problem, const KernelBenchSample& sample) {
  const char* found = !sample.graded    ? "not graded"
                      : sample.correct  ? "correct"
                      : sample.compiled ? "incorrect"
                                        : "not compiled";
  char line[200];
  snprintf(line, sizeof line, "%-24s sample %-4lld %-12s", problem.task.id.c_str(),
           static_cast<long long>(sample.number), found);
  std::cout << line;
  if (sample.runtime_ms > 0) {
    snprintf(line, sizeof line, " %.4g ms", sample.runtime_ms);
    std::cout << line;
  }
  std::cout << std::endl;
}

// Programs may hold anything, messages of their compilers as well.
std::string text_of(const ordered_json& json) {
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void write_results(const fs::path& folder, const KernelBenchResults& results) {
  if (folder.empty()) return;
  write_named_file(folder / "eval_results.json", text_of(eval_results_json(results)));
  write_named_file(folder / "baseline_time_torch.json", text_of(baseline_json(results)));
}

int build_jobs(const SuiteSettings& suite) {
  if (suite.build_jobs > 0) return suite.build_jobs;
  constexpr double kBytesOfBuild = 6ull << 30;  // of nvcc with PyTorch's headers, amply
  const double fit =
      std::min(usable_cpus() / 2, static_cast<double>(available_memory_bytes()) / kBytesOfBuild);
  return static_cast<int>(std::clamp(fit, 1.0, 8.0));
}

StockOptions stock_options(const SuiteSettings& suite) {
  return {.device = suite.device,
          .precision = suite.precision,
          .tolerance = suite.tolerance,
          .correctness_trials = suite.correctness_trials,
          .timing_trials = suite.timing_trials,
          .timeout_s = suite.timeout_s,
          .memory_bytes = suite.memory_bytes,
          .build_jobs = build_jobs(suite)};
}

}  // namespace

std::vector<KernelBenchTask> load_problems(const EvalSettings& settings) {
  std::vector<KernelBenchTask> problems =
      load_kernelbench(settings.tasks.held_out_files, settings.suite->level);
  if (settings.task_limit > 0 && static_cast<int64_t>(problems.size()) > settings.task_limit)
    problems.resize(static_cast<size_t>(settings.task_limit));
  return problems;
}

void prepare_results(const SuiteSettings& suite) {
  if (suite.results.empty()) return;
  std::error_code error;
  fs::create_directories(suite.results, error);
  if (error)
    throw InputError(concat("cannot make the folder ", suite.results.string(), ": ", error.message()));
  check_writable(suite.results / "eval_results.json");
}

StockGrader::StockGrader(const SuiteSettings& suite, const std::string& python, const std::string& bwrap)
    : suite_(suite),
      python_(PythonInstall::find(python)),
      host_(bwrap),
      evaluator_(host_, python_, stock_options(suite)) {}

void StockGrader::time_references(const std::vector<KernelBenchTask>& problems,
                                  const std::vector<KernelBenchProgram>& programs,
                                  KernelBenchResults& results) {
  std::set<size_t> asked;
  for (const KernelBenchProgram& program : programs) {
    if (!asked.insert(program.problem).second) continue;
    const Task& task = problems[program.problem].task;
    auto baseline = evaluator_.time_reference(task.pytorch_code);
    if (baseline)
      results.entries[program.problem].baseline = std::move(baseline.value());
    else
      log_warning(task.id, ": its reference has no times, so no program counts as fast: ", baseline.reason());
    write_results(suite_.results, results);
  }
}

KernelBenchResults StockGrader::grade(const std::vector<KernelBenchTask>& problems,
                                      const std::vector<KernelBenchProgram>& programs) {
  KernelBenchResults results = empty_results(suite_.level, problems);
  log_info("grading ", programs.size(), " programs by KernelBench's own protocol on ", evaluator_.hardware(),
           ", which trusts them");
  time_references(problems, programs, results);
  std::vector<std::optional<KernelBenchSample>> samples(programs.size());
  std::mutex mutex;  // of samples and of what is written
  const auto take = [&](size_t i, KernelBenchSample sample) {
    const std::lock_guard lock(mutex);
    print_row(problems[programs[i].problem], sample);
    samples[i] = std::move(sample);
    for (KernelBenchEntry& entry : results.entries) entry.samples.clear();
    for (size_t k = 0; k < samples.size(); ++k)
      if (samples[k]) results.entries[programs[k].problem].samples.push_back(*samples[k]);
    write_results(suite_.results, results);
  };
  std::atomic<size_t> next = 0;
  std::vector<std::future<void>> workers;
  for (int worker = 0; worker < evaluator_.build_jobs(); ++worker)
    workers.push_back(std::async(std::launch::async, [&] {
      try {
        for (size_t i; (i = next++) < programs.size();) {
          const auto record =
              evaluator_.evaluate(problems[programs[i].problem].task.pytorch_code, programs[i].program);
          take(i, record ? sample_of(record.value(), programs[i].sample)
                         : ungraded_sample(record.reason(), programs[i].sample));
        }
      } catch (...) {
        next = programs.size();  // the others end soon, and get() throws
        throw;
      }
    }));
  for (std::future<void>& worker : workers) worker.get();
  return results;
}

KernelBenchResults grade_natively(VerifierClient& client, int64_t level,
                                  const std::vector<KernelBenchTask>& problems,
                                  const std::vector<KernelBenchProgram>& programs) {
  std::vector<Episode> episodes;  // keyed by problem and sample
  for (const KernelBenchProgram& program : programs)
    episodes.push_back(
        candidate_episode(problems[program.problem].task, program.program,
                          {.group = static_cast<int64_t>(program.problem), .sample = program.sample}));
  const auto problem_of = [](const Episode& e) { return static_cast<size_t>(e.key.group); };
  const auto verified_sample = [](const Episode& e) { return sample_of(*e.last().verdict, e.key.sample); };
  const auto report = [&](const Episode& e) { print_row(problems[problem_of(e)], verified_sample(e)); };
  EpisodeVerifier verifier(&client, /*store=*/nullptr, {});
  episodes = run_pipeline(std::move(episodes), {.verifier = &verifier, .on_verdict = report}).episodes;
  KernelBenchResults results = empty_results(level, problems);
  for (const Episode& episode : episodes)
    results.entries[problem_of(episode)].samples.push_back(verified_sample(episode));
  take_baselines_of_pairs(results);
  return results;
}

KernelBenchResults results_of_responses(const std::string& lines, int64_t level,
                                        const std::vector<KernelBenchTask>& problems) {
  KernelBenchResults results = empty_results(level, problems);
  std::istringstream stream(lines);
  size_t place = 0;
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line);
    while (problems.at(place).task.id != json.at("task_id")) ++place;  // both are in order
    KernelBenchSample sample =
        sample_of(verdict_from_json(json.at("verdict")), json.at("sample").get<int64_t>());
    json.at("truncated").get_to(sample.truncated);
    results.entries[place].samples.push_back(std::move(sample));
  }
  take_baselines_of_pairs(results);
  return results;
}

ExitCode publish_suite(const LearnerCommand& command, const EvalSettings& settings,
                       const std::vector<KernelBenchTask>& problems, const KernelBenchResults& results,
                       nlohmann::json about) {
  const SuiteSettings& suite = *settings.suite;
  write_results(suite.results, results);
  std::vector<Task> tasks;
  for (const KernelBenchTask& problem : problems) tasks.push_back(problem.task);
  const std::vector<TaskScore> scores = scores_of(results);
  const EvalReport report =
      make_eval_report(tasks, scores, settings.pass_at_k,
                       {.confidence = settings.confidence, .resamples = settings.bootstrap_resamples});
  const KernelBenchSummary summary = summarise(results);
  const bool stock = suite.protocol == SuiteProtocol::kKernelBench;
  std::cout << "KernelBench level " << suite.level << ", " << problems.size() << " problems, "
            << (stock ? concat("its own protocol on ", suite.device, " in ", suite.precision,
                               ", which trusts the programs")
                      : std::string("our verifier"))
            << "\n\n"
            << eval_table(report) << "\n"
            << summary_table(summary);
  if (!suite.results.empty())
    std::cout << "eval_results.json and baseline_time_torch.json are in " << suite.results.string() << "\n";
  std::cout << std::flush;
  if (!command.json_path.empty()) {
    nlohmann::json json = to_json(report);
    json.update(about);
    json["kernelbench"] = to_json(summary);
    json["kernelbench"]["level"] = suite.level;
    json["kernelbench"]["protocol"] = stock ? "kernelbench" : "native";
    if (stock) json["kernelbench"].update({{"device", suite.device}, {"precision", suite.precision}});
    write_named_file(command.json_path, json.dump(2) + "\n");
  }
  const std::string problem =
      unverified_problem({{report.responses, report.unverified}}, settings.max_unverified_share);
  if (problem.empty()) return ExitCode::kOk;
  log_error(problem, " (max_unverified_share is ", settings.max_unverified_share,
            "): these figures say little");
  return ExitCode::kFailure;
}

}  // namespace bicrl
