#include <ATen/Parallel.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/files.h"
#include "common/log.h"
#include "launch/learner_commands.h"
#include "launch/rank_session.h"
#include "sandbox/service/verifier_server.h"
#include "trainer/evaluation/eval_report.h"
#include "trainer/evaluation/eval_settings.h"
#include "trainer/experience/grading_basis.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/inputs/prompt_filter.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

std::string headline(const EvalSettings& settings, size_t tasks) {
  const std::string policy = settings.policy.checkpoint.empty()
                                 ? concat("fresh weights of ", settings.policy.config_file.string())
                                 : settings.policy.checkpoint.string();
  return concat(policy, "\n", to_string(settings.stage), ", ", tasks, " tasks x ", settings.samples_per_task,
                settings.greedy()
                    ? " greedy response"
                    : concat(" samples at temperature ", settings.decoding.sampling.temperature));
}

nlohmann::json full_json(const EvalSettings& settings, const EvalReport& report, const TaskScores& scores,
                         const std::vector<Task>& tasks, int ranks, double seconds) {
  nlohmann::json json = to_json(report);
  json["policy"] = settings.policy.checkpoint.empty() ? settings.policy.config_file.string()
                                                      : settings.policy.checkpoint.string();
  json["stage"] = to_string(settings.stage);
  json["samples_per_task"] = settings.samples_per_task;
  json["temperature"] = settings.decoding.sampling.temperature;
  json["seed"] = settings.seed;
  json["generated_tokens"] = scores.generated_tokens;
  json["ranks"] = ranks;
  json["seconds"] = seconds;
  json["per_task"] = nlohmann::json::array();
  for (size_t i = 0; i < tasks.size(); ++i)
    json["per_task"].push_back({{"task_id", tasks[i].id},
                                {"verified", scores.tasks[i].verified},
                                {"compiled", scores.tasks[i].compiled},
                                {"correct", scores.tasks[i].correct}});
  return json;
}

// What rank 0 shows and writes.
ExitCode publish(const LearnerCommand& command, const EvalSettings& settings, const std::vector<Task>& tasks,
                 const TaskScores& scores, int ranks, double seconds) {
  const EvalReport report =
      make_eval_report(tasks, scores.tasks, settings.pass_at_k,
                       {.confidence = settings.confidence, .resamples = settings.bootstrap_resamples});
  std::cout << headline(settings, tasks.size()) << "\n\n"
            << eval_table(report) << report.responses << " responses in " << clock_text(seconds) << std::endl;
  if (!settings.responses_file.empty()) write_file_atomically(settings.responses_file, scores.responses);
  if (!command.json_path.empty())
    write_file_atomically(command.json_path,
                          full_json(settings, report, scores, tasks, ranks, seconds).dump(2) + "\n");
  if (report.unverified == 0) return ExitCode::kOk;
  log_warning("one of the responses without a verdict: ", scores.unverified_reason);
  const std::string problem = unverified_problem(scores.unverified, settings.max_unverified_share);
  if (problem.empty()) return ExitCode::kOk;
  log_error(problem, " (max_unverified_share is ", settings.max_unverified_share,
            "): these figures say little of the policy");
  return ExitCode::kFailure;
}

int evaluate_on_ranks(const LearnerCommand& command, ControlPlane& control) {
  const bool first = control.rank() == 0;
  const ConfigDocument document = ConfigDocument::from_file(command.config_path, command.overrides);
  EvalSettings settings =
      EvalSettings::from_config(document.root(), fs::path(command.config_path).parent_path());
  // The embedded server reads this section itself; here its keys are checked before anything starts.
  VerifierOptions::from_config(document.root().section("verifier").section("server"));
  document.finish();
  const std::string note =
      note_on_unused_server(document.root().section("verifier"), settings.verifier.addresses);
  std::vector<Task> tasks = load_eval_tasks(settings);
  if (command.dry_run) {
    const auto most = static_cast<int64_t>(tasks.size());
    const int64_t count = settings.task_limit > 0 ? std::min(settings.task_limit, most) : most;
    if (first)
      std::cout << document.resolved_yaml() << "\n# tasks: " << count
                << ", responses: " << count * settings.samples_per_task << "\n"
                << (note.empty() ? "" : "# " + note + "\n") << std::flush;
    return static_cast<int>(ExitCode::kOk);
  }
  if (first && !note.empty()) log_warning(note);
  const Stopwatch watch;
  expect_equal_on_ranks(control, "configuration", document.resolved_yaml());
  expect_equal_on_ranks(control, "set of tasks", hash_of(tasks));
  at::set_num_threads(static_cast<int>(settings.threads_per_rank));
  const Tokenizer tokenizer = load_tokenizer(settings.policy);
  const Transformer policy =
      make_policy(settings.policy, tokenizer, settings.seed, control.local_rank(), control.ranks_on_host());
  const std::string left_out =
      keep_fitting(tasks, "tasks", {settings.stage, settings.tasks.prompt_style, settings.decoding},
                   tokenizer, policy.config());
  if (settings.task_limit > 0 && static_cast<int64_t>(tasks.size()) > settings.task_limit)
    tasks.resize(static_cast<size_t>(settings.task_limit));
  if (first && !left_out.empty()) log_warning(left_out);
  if (first) check_writable(command.json_path);
  if (first) check_writable(settings.responses_file.string());
  const std::unique_ptr<EmbeddedVerifier> server = share_embedded_verifier(
      command.config_path, command.overrides, /*log_path=*/"", control, settings.verifier.addresses);
  VerifierClient verifier(settings.verifier);
  common_grading_basis(verifier, settings.verifier, control);  // refuses servers that differ
  DecodeEngine engine(policy, tokenizer);
  const TaskScores scores = score_tasks(engine, verifier, /*ledger=*/nullptr, control,
                                        Placement::colocated(control.size()), tasks, settings.scoring());
  ExitCode code = ExitCode::kOk;
  if (first) code = publish(command, settings, tasks, scores, control.size(), watch.seconds());
  // The server stays until the last rank has its verdicts, which rank 0 then has gathered.
  return static_cast<int>(code);
}

}  // namespace

int run_eval_command(const LearnerCommand& command) {
  return with_ranks([&](RankPlanes ranks) { return evaluate_on_ranks(command, ranks.control); });
}

}  // namespace bicrl
