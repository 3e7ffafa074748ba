#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/files/files.h"
#include "common/files/named_file.h"
#include "common/log.h"
#include "episode/episode_pipeline.h"
#include "launch/commands.h"
#include "launch/commands/verify_mutants.h"
#include "launch/embedded_verifier.h"
#include "launch/subcommands/subcommand.h"
#include "reward/client/verifier_client.h"
#include "sandbox/gpu/timing/statistics.h"
#include "sandbox/service/verifier_server.h"
#include "sandbox/verifier/cost_summary.h"
#include "tasks/prompt.h"
#include "tasks/task_set.h"
#include "verdict/verdict.h"
#include "verdict/verifier_description.h"

namespace bicrl {
namespace {

constexpr auto kServerPatience = std::chrono::seconds(5);

Episode candidate(const Task& task, std::string program, size_t number) {
  return candidate_episode(task, std::move(program), {.group = static_cast<int64_t>(number)});
}

std::vector<Episode> known_programs_of(const VerifyCommand& command, const std::vector<Task>& tasks) {
  if (!command.task_id.empty()) throw InputError("--task names the task of a --candidate, and none is given");
  std::vector<Episode> all;
  for (const Task& task : tasks)
    if (!task.cuda_code.empty()) all.push_back(candidate(task, task.cuda_code, all.size()));
  if (all.empty())
    throw InputError(concat(command.tasks_path, ": none of its ", tasks.size(),
                            " tasks has a program (cuda_code); --candidate and --task give one"));
  return all;
}

std::vector<Episode> candidates_of(const VerifyCommand& command, const std::vector<Task>& tasks) {
  if (command.candidate_path.empty()) return known_programs_of(command, tasks);
  if (command.task_id.empty()) throw InputError("--candidate needs --task, the id of the task it answers");
  for (const Task& task : tasks)
    if (task.id == command.task_id)
      return {candidate(task, extract_program(read_file(command.candidate_path)), 0)};
  throw InputError(concat(command.tasks_path, " has no task '", command.task_id, "'"));
}

std::string outcome_text(const Verdict& verdict) {
  if (verdict.correct) return "correct";
  return verdict.fault_class.empty() ? to_string(verdict.outcome) : verdict.fault_class;
}

void print_row(const std::string& task_id, const Verdict& v) {
  char line[160];
  snprintf(line, sizeof line, "%-24s %-20s %4d/%-4d %8.0f ms", task_id.c_str(), outcome_text(v).c_str(),
           v.trials_passed, v.trials, v.total_ms);
  std::cout << line;
  if (v.graded_at == kReducedSize) std::cout << "  at reduced sizes";
  // Of a correct program: remarks, among them why it has no times.
  if (!v.diagnostics.empty()) std::cout << "  " << v.diagnostics.substr(0, v.diagnostics.find('\n'));
  std::cout << std::endl;
}

void print_profile(const Verdict& v) {
  if (!v.correct || v.candidate_ms == 0) return;
  char line[200], fused[40] = "";
  if (v.torch_compile_ms > 0) snprintf(fused, sizeof fused, ", %.2f us fused", 1000 * v.torch_compile_ms);
  snprintf(line, sizeof line,
           "  %.2f us; the reference: %.2f us as eager PyTorch%s; %.0f %% of what memory allows (clock: %s, "
           "inputs %.60s)\n",
           1000 * v.candidate_ms, 1000 * v.eager_ms, fused, 100 * v.roofline_fraction, v.clock.c_str(),
           v.costed_size.c_str());
  std::cout << line << (v.counters.empty() ? v.measurement + "\n" : profile_text(v.counters, v.device))
            << std::flush;
}

// What went in and what came out.
struct Verified {
  std::vector<Episode> episodes;  // a candidate each, with its verdict
  std::map<std::string, int> counts;
  std::vector<EntryError> left_out;
  std::vector<EntryError> not_clampable;
  size_t without_program = 0;  // tasks of the file that have no program to verify
  double seconds = 0;
};

nlohmann::json messages(const std::vector<EntryError>& errors) {
  nlohmann::json all = nlohmann::json::array();
  for (const EntryError& error : errors) all.push_back(error.message());
  return all;
}

int64_t reduced_among(const std::vector<Episode>& episodes) {
  return std::ranges::count_if(
      episodes, [](const Episode& episode) { return episode.last().verdict->graded_at == kReducedSize; });
}

nlohmann::json report(const Verified& verified) {
  const auto& [episodes, counts, left_out, not_clampable, without_program, seconds] = verified;
  nlohmann::json entries = nlohmann::json::array();
  std::vector<double> times_ms;
  for (const Episode& episode : episodes) {
    nlohmann::json entry = to_json(*episode.last().verdict);
    entry["task_id"] = episode.task_id;
    entries.push_back(std::move(entry));
    times_ms.push_back(episode.last().verdict->total_ms);
  }
  return {{"candidates", episodes.size()},
          {"seconds", seconds},
          {"candidates_per_second", seconds > 0 ? static_cast<double>(episodes.size()) / seconds : 0.0},
          {"p50_ms", timing::quantile(times_ms, 0.5)},
          {"p95_ms", timing::quantile(times_ms, 0.95)},
          {"outcomes", counts},
          {"reduced", reduced_among(episodes)},
          {"left_out", messages(left_out)},
          {"not_clampable", messages(not_clampable)},
          {"without_program", without_program},
          {"verdicts", std::move(entries)}};
}

// The entries that can be used; the others are named. Throws InputError if there is nothing to go on with.
TaskSet usable_tasks(const std::string& path) {
  TaskSet set = load_task_set(path);
  for (const EntryError& error : set.errors) log_warning("left out: ", error.message());
  for (const EntryError& error : set.not_clampable) log_warning("verified, but: ", error.message());
  if (set.tasks.empty())
    throw InputError(concat(path, ": none of its ", set.errors.size(), " entries can be used"));
  return set;
}

// Verdicts of another protocol mean other things. A server that does not answer now may do so later: the
// client tries again.
void check_verifiers(VerifierClient& client, const VerificationProtocol& wishes) {
  for (const Result<VerifierDescription>& answer : client.describe(kServerPatience)) {
    const std::string problem = answer ? verifier_problem(answer.value(), wishes) : "";
    if (!problem.empty())
      throw InputError(concat("the verifier ", answer.value().address, " cannot be used: ", problem));
  }
}

// A file may be a whole run's configuration, of which this command reads the verifier; an override elsewhere
// would have no effect.
void check_reach(const VerifyCommand& command) {
  if (!command.config_path.empty() &&
      !ConfigDocument::from_file(command.config_path, {}).root().has("verifier"))
    throw InputError(concat(command.config_path,
                            ": has no section 'verifier', which is all that `bicrl verify` reads of a "
                            "configuration (a file of a server alone is for `bicrl verifier`)"));
  for (const std::string& override : command.overrides)
    if (!override.starts_with("verifier."))
      throw InputError(concat("'", override,
                              "' has no effect: `bicrl verify` reads only what is below "
                              "'verifier', for instance verifier.server.workers=2"));
}

void verify_all(VerifierClient& client, bool profile, Verified& verified) {
  const Stopwatch watch;
  EpisodeVerifier verifier(&client, /*store=*/nullptr, {});
  const auto report = [&](const Episode& episode) {
    const Verdict& verdict = *episode.last().verdict;
    print_row(episode.task_id, verdict);
    if (profile) print_profile(verdict);
    ++verified.counts[outcome_text(verdict)];
  };
  verified.episodes =
      run_pipeline(std::move(verified.episodes), {.verifier = &verifier, .on_verdict = report}).episodes;
  verified.seconds = watch.seconds();
}

void print_summary(const Verified& verified, const std::string& tasks_path) {
  std::cout << "\n";
  for (const auto& [name, count] : verified.counts) std::cout << "  " << count << " " << name << "\n";
  if (const int64_t reduced = reduced_among(verified.episodes); reduced > 0)
    std::cout << "  " << reduced << " of " << verified.episodes.size() << " graded at reduced sizes\n";
  std::cout << verified.episodes.size() << " candidates in " << clock_text(verified.seconds);
  if (!verified.left_out.empty())
    std::cout << "; " << verified.left_out.size() << " broken entries of " << tasks_path << " left out";
  if (!verified.not_clampable.empty())
    std::cout << "; training refuses " << verified.not_clampable.size()
              << " entries in a clamped infilling stage";
  if (verified.without_program > 0)
    std::cout << "; " << verified.without_program << " tasks of " << tasks_path << " have no program";
  std::cout << std::endl;
}

std::vector<SoundProgram> correct_programs(const Verified& verified) {
  std::vector<SoundProgram> sound;
  for (const Episode& episode : verified.episodes)
    if (episode.last().is_correct()) sound.push_back({episode.task, episode.last().program});
  return sound;
}

// A candidate without a verdict may get one the next time, a broken entry or task will not: the former comes
// first. Incorrect programs come last: of a file with broken entries not even that much is known.
ExitCode exit_code(const Verified& verified) {
  const auto is = [&](Outcome outcome) {
    return std::ranges::any_of(verified.episodes,
                               [&](const Episode& e) { return e.last().verdict->outcome == outcome; });
  };
  if (is(Outcome::kInfrastructure)) return ExitCode::kFailure;
  if (!verified.left_out.empty() || !verified.not_clampable.empty() || is(Outcome::kInvalidTask))
    return ExitCode::kUsage;
  const bool all_correct =
      std::ranges::all_of(verified.episodes, [](const Episode& e) { return e.last().is_correct(); });
  return all_correct ? ExitCode::kOk : ExitCode::kFailure;
}

}  // namespace

int run_verify_command(const VerifyCommand& command) {
  check_reach(command);
  const ConfigDocument document = command.config_path.empty()
                                      ? ConfigDocument::from_text("{}", "command line", command.overrides)
                                      : ConfigDocument::from_file(command.config_path, command.overrides);
  const ConfigSection section = document.root().section("verifier");
  VerifierClientOptions options = VerifierClientOptions::from_config(section);
  VerifierOptions::from_config(
      section.section("server"));  // for its keys; the embedded server reads them itself
  section.finish();
  check_writable(command.json_path);
  if (!command.addresses.empty()) options.addresses = command.addresses;
  options.protocol.measure_time |= command.profile;
  if (const auto size = parse_size_policy(command.size); size && *size != SizePolicy::kOpen)
    options.protocol.size = *size;
  TaskSet set = usable_tasks(command.tasks_path);
  Verified verified;
  verified.episodes = candidates_of(command, set.tasks);
  // Of the other entries of a file nothing was asked if one task is named.
  if (command.candidate_path.empty()) {
    verified.left_out = std::move(set.errors);
    verified.not_clampable = std::move(set.not_clampable);
    verified.without_program = set.tasks.size() - verified.episodes.size();
  }

  std::unique_ptr<EmbeddedVerifier> server;
  if (options.addresses.empty()) {
    server = std::make_unique<EmbeddedVerifier>(command.config_path, command.overrides, "");
    options.addresses = {server->address()};
  }
  VerifierClient client(options);
  if (!server) check_verifiers(client, options.protocol);
  verify_all(client, command.profile, verified);
  print_summary(verified, command.tasks_path);
  nlohmann::json report_json = report(verified);
  if (command.mutate) report_json["mutants"] = verify_mutants(client, correct_programs(verified));
  if (!command.json_path.empty()) write_named_file(command.json_path, report_json.dump(2) + "\n");
  return static_cast<int>(exit_code(verified));
}

namespace {

class VerifySubcommand : public Subcommand {
 public:
  void add_flags(CLI::App& app) override {
    words_.add_to(app);
    app.add_option("--tasks", command_.tasks_path, "task file (JSON list or JSON lines)")->required();
    app.add_option("--candidate", command_.candidate_path,
                   "a Python program to verify instead of the tasks' own");
    app.add_option("--task", command_.task_id, "id of the task the candidate answers");
    app.add_option("--json", command_.json_path, "write the verdicts to this file");
    app.add_flag("--mutate", command_.mutate,
                 "verify small changes to each correct program, too, and list those that stay correct");
    app.add_flag("--profile", command_.profile,
                 "print each correct program's modelled time, what bounds it, and what it does");
    app.add_option("--size", command_.size,
                   "inputs on which programs are judged: the tasks' own or reduced ones; fitting: reduced "
                   "where the own are too large to be run")
        ->check(CLI::IsMember({"own", "reduced", "fitting"}));
    app.add_option("--verifier", command_.addresses, "address of a running verifier (host:port), repeatable")
        ->allow_extra_args(false);
  }
  int run(const CommandLine&) override {
    words_.take(command_);
    return run_verify_command(command_);
  }

 private:
  ConfigArguments words_;
  VerifyCommand command_;
};

const SubcommandRegistration kVerifyRegistered(100, "verify",
                                               "verify the programs of a task file, or one candidate",
                                               std::make_unique<VerifySubcommand>());

}  // namespace
}  // namespace bicrl
