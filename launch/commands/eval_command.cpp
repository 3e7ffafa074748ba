#include <ATen/Parallel.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/files/files.h"
#include "common/files/named_file.h"
#include "common/log.h"
#include "launch/commands/suite_evaluation.h"
#include "launch/launcher_check.h"
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

std::string name_of(const PolicySource& policy) {
  return policy.checkpoint.empty() ? policy.config_file.string() : policy.checkpoint.string();
}

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
  json["policy"] = name_of(settings.policy);
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
  if (!settings.responses_file.empty()) write_named_file(settings.responses_file, scores.responses);
  if (!command.json_path.empty())
    write_named_file(command.json_path,
                     full_json(settings, report, scores, tasks, ranks, seconds).dump(2) + "\n");
  if (report.unverified == 0) return ExitCode::kOk;
  log_warning("one of the responses without a verdict: ", scores.unverified_reason);
  const std::string problem = unverified_problem(scores.unverified, settings.max_unverified_share);
  if (problem.empty()) return ExitCode::kOk;
  log_error(problem, " (max_unverified_share is ", settings.max_unverified_share,
            "): these figures say little of the policy");
  return ExitCode::kFailure;
}

// A policy's answers to the tasks; to those of a suite by KernelBench's own protocol without verdicts.
struct Answers {
  TaskScores scores;
  GeneratedResponses ungraded;
};

void print_plan(const ConfigDocument& document, const EvalSettings& settings, size_t task_count,
                const std::vector<std::string>& notes) {
  const auto most = static_cast<int64_t>(task_count);
  const int64_t count = settings.task_limit > 0 ? std::min(settings.task_limit, most) : most;
  std::cout << document.resolved_yaml() << "\n# tasks: " << count;
  if (!settings.suite || settings.suite->programs.empty())
    std::cout << ", responses: " << count * settings.samples_per_task;
  std::cout << "\n";
  for (const std::string& note : notes) std::cout << "# " << note << "\n";
  std::cout << std::flush;
}

// One evaluation from its configuration on. Every method is collective.
class Evaluation {
 public:
  Evaluation(const LearnerCommand& command, ControlPlane& control)
      : command_(command),
        control_(control),
        document_(ConfigDocument::from_file(command.config_path, command.overrides)),
        settings_(EvalSettings::from_config(document_.root(), fs::path(command.config_path).parent_path())),
        // The embedded server reads this section itself; here its keys are checked before anything starts.
        server_(VerifierOptions::from_config(document_.root().section("verifier").section("server"))) {
    settings_.policy.verify = command.verify;
    document_.finish();
  }

  ExitCode run() {
    const std::vector<std::string> notes = notes_on_configuration();
    if (settings_.suite)
      load_suite();
    else
      tasks_ = load_eval_tasks(settings_);
    if (command_.dry_run) {
      if (first()) print_plan(document_, settings_, tasks_.size(), notes);
      return ExitCode::kOk;
    }
    if (first())
      for (const std::string& note : notes) log_warning(note);
    expect_equal_on_ranks(control_, "configuration", document_.resolved_yaml());
    expect_equal_on_ranks(control_, "set of tasks", hash_of(tasks_));
    if (first()) check_writable(command_.json_path);
    if (first()) check_writable(settings_.responses_file.string());
    if (first() && settings_.suite) prepare_results(*settings_.suite);
    return settings_.suite ? evaluate_suite() : evaluate_tasks();
  }

 private:
  bool first() const { return control_.rank() == 0; }
  bool is_stock() const {
    return settings_.suite && settings_.suite->protocol == SuiteProtocol::kKernelBench;
  }

  // On what the configuration says without effect.
  std::vector<std::string> notes_on_configuration() const {
    std::vector<std::string> notes = document_.notes();
    const std::string server =
        note_on_unused_server(document_.root().section("verifier"), settings_.verifier.addresses);
    if (!server.empty()) notes.push_back(server);
    return notes;
  }

  ExitCode evaluate_tasks() {
    const Answers answers = ask_policy();
    if (!first()) return ExitCode::kOk;
    return publish(command_, settings_, tasks_, answers.scores, control_.size(), watch_.seconds());
  }

  ExitCode evaluate_suite() {
    const SuiteSettings& suite = *settings_.suite;
    std::unique_ptr<StockGrader> stock;  // of rank 0
    if (is_stock())
      on_rank_zero(control_, [&] {
        stock = std::make_unique<StockGrader>(suite, server_.pipeline.python, server_.pipeline.bwrap);
      });
    nlohmann::json about{{"ranks", control_.size()}};
    const KernelBenchResults results =
        programs_.empty() ? grade_responses(stock.get(), about) : grade_programs(stock.get(), about);
    if (!first()) return ExitCode::kOk;
    about["seconds"] = watch_.seconds();
    return publish_suite(command_, settings_, problems_, results, std::move(about));
  }

  KernelBenchResults grade_programs(StockGrader* stock, nlohmann::json& about) {
    about["programs"] = settings_.suite->programs.string();
    if (stock) return stock->grade(problems_, programs_);
    const std::unique_ptr<EmbeddedVerifier> server = start_verifier();
    VerifierClient verifier(settings_.verifier);
    common_grading_basis(verifier, settings_.verifier, control_);
    return grade_natively(verifier, settings_.suite->level, problems_, programs_);
  }

  // Empty but on rank 0.
  KernelBenchResults grade_responses(StockGrader* stock, nlohmann::json& about) {
    about.update({{"policy", name_of(settings_.policy)},
                  {"samples_per_task", settings_.samples_per_task},
                  {"temperature", settings_.decoding.sampling.temperature},
                  {"seed", settings_.seed}});
    const Answers answers = ask_policy();
    if (!first()) return {};
    const std::string& lines = is_stock() ? answers.ungraded.lines : answers.scores.responses;
    if (!settings_.responses_file.empty()) write_named_file(settings_.responses_file, lines);
    if (stock) return stock->grade(problems_, parse_programs(lines, "the policy's responses", problems_));
    return results_of_responses(lines, settings_.suite->level, problems_);
  }

  void load_suite() {
    problems_ = load_problems(settings_);
    for (const KernelBenchTask& problem : problems_) tasks_.push_back(problem.task);
    if (settings_.suite->programs.empty()) return;
    if (control_.size() > 1)
      throw InputError("programs that exist are graded by one process: start it without mpirun");
    programs_ = load_programs(settings_.suite->programs, problems_);
    check_enough();
  }

  void check_enough() const {
    std::map<size_t, int64_t> counts;
    for (const KernelBenchProgram& program : programs_) ++counts[program.problem];
    int64_t most = 0;
    for (const auto& [problem, count] : counts) most = std::max(most, count);
    if (!settings_.pass_at_k.empty() && settings_.pass_at_k.back() > most)
      throw InputError(concat("pass@", settings_.pass_at_k.back(),
                              " needs as many programs of a problem, and ",
                              settings_.suite->programs.string(), " has ", most, " at most"));
  }

  std::unique_ptr<EmbeddedVerifier> start_verifier() {
    return share_embedded_verifier(command_.config_path, command_.overrides, /*log_path=*/"", control_,
                                   settings_.verifier.addresses);
  }

  // Leaves out of `tasks_` what is not asked. A suite's problems count all the same.
  Answers ask_policy() {
    at::set_num_threads(static_cast<int>(settings_.threads_per_rank));
    report_bindings(control_, settings_.threads_per_rank);
    const Tokenizer tokenizer = load_tokenizer(settings_.policy);
    const Transformer policy = make_policy(settings_.policy, tokenizer, settings_.seed, control_.local_rank(),
                                           control_.ranks_on_host());
    const std::string left_out =
        keep_fitting(tasks_, "tasks", {settings_.stage, settings_.tasks.prompt_style, settings_.decoding},
                     tokenizer, policy.config());
    if (settings_.task_limit > 0 && static_cast<int64_t>(tasks_.size()) > settings_.task_limit)
      tasks_.resize(static_cast<size_t>(settings_.task_limit));
    if (first() && !left_out.empty()) log_warning(left_out);
    DecodeEngine engine(policy, tokenizer);
    const Placement placement = Placement::colocated(control_.size());
    if (is_stock()) return {{}, generate_responses(engine, control_, placement, tasks_, settings_.scoring())};
    const std::unique_ptr<EmbeddedVerifier> server = start_verifier();
    VerifierClient verifier(settings_.verifier);
    common_grading_basis(verifier, settings_.verifier, control_);  // refuses servers that differ
    const Quarantine quarantine(settings_.quarantine);
    ScoringSettings scoring = settings_.scoring();
    scoring.quarantine = &quarantine;
    // The server stays until the last rank has its verdicts, which rank 0 then has gathered.
    return {score_tasks(engine, verifier, /*ledger=*/nullptr, control_, placement, tasks_, scoring), {}};
  }

  const LearnerCommand& command_;
  ControlPlane& control_;
  const Stopwatch watch_;
  const ConfigDocument document_;
  EvalSettings settings_;
  const VerifierOptions server_;
  std::vector<KernelBenchTask> problems_;     // of a suite
  std::vector<KernelBenchProgram> programs_;  // that exist
  std::vector<Task> tasks_;
};

}  // namespace

static int run_eval_command(const LearnerCommand& command) {
  return with_ranks(
      [&](RankPlanes ranks) { return static_cast<int>(Evaluation(command, ranks.control).run()); });
}

namespace {

const LearnerCommandRegistration kEvalRegistered("eval", run_eval_command, /*has_ranks=*/true);

}  // namespace
}  // namespace bicrl
