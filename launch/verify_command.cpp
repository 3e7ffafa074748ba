#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/config.h"
#include "common/files.h"
#include "common/log.h"
#include "launch/commands.h"
#include "launch/embedded_verifier.h"
#include "reward/client/verifier_client.h"
#include "sandbox/service/verifier_server.h"
#include "tasks/prompt.h"
#include "tasks/task_set.h"
#include "tasks/verdict.h"

namespace bicrl {
namespace {

struct Candidate {
  const Task* task;
  std::string program;
};

std::vector<Candidate> candidates_of(const VerifyCommand& command, const std::vector<Task>& tasks) {
  if (command.candidate_path.empty()) {
    if (!command.task_id.empty())
      throw InputError("--task names the task of a --candidate, and none is given");
    std::vector<Candidate> all;
    for (const Task& task : tasks) all.push_back({&task, task.cuda_code});
    return all;
  }
  if (command.task_id.empty()) throw InputError("--candidate needs --task, the id of the task it answers");
  for (const Task& task : tasks)
    if (task.id == command.task_id) return {{&task, extract_program(read_file(command.candidate_path))}};
  throw InputError(concat(command.tasks_path, " has no task '", command.task_id, "'"));
}

std::string outcome_text(const Verdict& verdict) {
  if (verdict.correct) return "correct";
  return verdict.fault_class.empty() ? to_string(verdict.outcome) : verdict.fault_class;
}

void print_row(const std::string& task_id, const Verdict& v) {
  char line[160];
  snprintf(line, sizeof line, "%-24s %-20s %-7s %4d/%-4d %8.0f ms", task_id.c_str(), outcome_text(v).c_str(),
           v.tier.c_str(), v.trials_passed, v.trials, v.total_ms);
  std::cout << line;
  if (!v.correct && !v.diagnostics.empty())
    std::cout << "  " << v.diagnostics.substr(0, v.diagnostics.find('\n'));
  std::cout << std::endl;
}

nlohmann::json report(const std::vector<Candidate>& candidates, const std::vector<Verdict>& verdicts,
                      double seconds, const std::map<std::string, int>& counts) {
  nlohmann::json records = nlohmann::json::array();
  std::vector<double> times_ms;
  for (size_t i = 0; i < candidates.size(); ++i) {
    nlohmann::json record = to_json(verdicts[i]);
    record["task_id"] = candidates[i].task->id;
    records.push_back(std::move(record));
    times_ms.push_back(verdicts[i].total_ms);
  }
  std::sort(times_ms.begin(), times_ms.end());
  const auto quantile = [&](double q) {
    return times_ms.empty() ? 0.0
                            : times_ms[static_cast<size_t>(q * static_cast<double>(times_ms.size() - 1))];
  };
  return {{"candidates", candidates.size()},
          {"seconds", seconds},
          {"candidates_per_second", seconds > 0 ? static_cast<double>(candidates.size()) / seconds : 0.0},
          {"p50_ms", quantile(0.5)},
          {"p95_ms", quantile(0.95)},
          {"outcomes", counts},
          {"verdicts", std::move(records)}};
}

}  // namespace

int run_verify_command(const VerifyCommand& command) {
  const ConfigDocument document = command.config_path.empty()
                                      ? ConfigDocument::from_text("{}", "command line", command.overrides)
                                      : ConfigDocument::from_file(command.config_path, command.overrides);
  const ConfigSection section = document.root().section("verifier");
  VerifierClientOptions options = VerifierClientOptions::from_config(section);
  VerifierOptions::from_config(
      section.section("server"));  // for its keys; the embedded server reads them itself
  // A file may be a whole run's configuration, of which this reads the verifier.
  if (command.config_path.empty()) document.finish();
  check_writable(command.json_path);
  if (!command.addresses.empty()) options.addresses = command.addresses;
  const std::vector<Task> tasks = load_tasks(command.tasks_path);
  const std::vector<Candidate> candidates = candidates_of(command, tasks);

  std::unique_ptr<EmbeddedVerifier> server;
  if (options.addresses.empty()) {
    server = std::make_unique<EmbeddedVerifier>(command.config_path, command.overrides, "");
    options.addresses = {server->address()};
  }
  VerifierClient client(options);
  const Stopwatch watch;
  for (size_t i = 0; i < candidates.size(); ++i)
    client.submit({.request_id = std::to_string(i),
                   .task_id = candidates[i].task->id,
                   .pytorch_code = candidates[i].task->pytorch_code,
                   .program = candidates[i].program});
  std::vector<Verdict> verdicts(candidates.size());
  std::map<std::string, int> counts;
  while (client.pending() > 0) {
    std::optional<Verdict> verdict = client.next(std::chrono::seconds(5));
    if (!verdict) continue;  // the client's own deadline ends a request that hangs
    const size_t index = std::stoul(verdict->request_id);
    print_row(candidates[index].task->id, *verdict);
    ++counts[outcome_text(*verdict)];
    verdicts[index] = std::move(*verdict);
  }
  const double seconds = watch.seconds();
  std::cout << "\n";
  for (const auto& [name, count] : counts) std::cout << "  " << count << " " << name << "\n";
  std::cout << candidates.size() << " candidates in " << clock_text(seconds) << std::endl;
  if (!command.json_path.empty())
    write_file_atomically(command.json_path, report(candidates, verdicts, seconds, counts).dump(2) + "\n");
  return static_cast<int>(counts["infrastructure"] > 0 ? ExitCode::kFailure : ExitCode::kOk);
}

}  // namespace bicrl
