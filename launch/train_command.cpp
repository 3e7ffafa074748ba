#include <ATen/Parallel.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "launch/learner_commands.h"
#include "launch/rank_session.h"
#include "launch/signals.h"
#include "sandbox/service/verifier_server.h"
#include "tasks/verifier_description.h"
#include "trainer/inputs/run_inputs.h"
#include "trainer/run/training_run.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

// Settings of a run with everything that was read for them.
struct LoadedRun {
  ConfigDocument document;
  RunSettings settings;
  RewardFunction reward;
};

// An embedded verifier is known before it starts; others are asked (trainer/experience/grading_basis.h).
void check_times(const RunSettings& settings, const RewardFunction& reward, const std::string& clock) {
  if (!settings.verifier.protocol.measure_time || clock == reward.clock()) return;
  throw InputError(
      concat("reward: ", settings.reward_file.string(), " wants times by the clock '", reward.clock(),
             "', and the verifier of this machine has the clock '", clock,
             "': name that in the reward file (clock: ", clock,
             "), choose a reward without times (configs/rewards/binary.yaml, pass_rate.yaml), or name "
             "verifiers with the other clock in verifier.addresses"));
}

LoadedRun load_run(const LearnerCommand& command) {
  std::vector<std::string> overrides = command.overrides;
  if (command.name == "sft") overrides.push_back("stages=[]");  // so that it is another run than `train`'s
  ConfigDocument document = ConfigDocument::from_file(command.config_path, overrides);
  RunSettings settings =
      RunSettings::from_config(document.root(), fs::path(command.config_path).parent_path());
  // The embedded server reads this section itself; here its keys are checked before anything starts.
  const VerifierOptions server =
      VerifierOptions::from_config(document.root().section("verifier").section("server"));
  document.finish();
  if (command.name == "sft" && settings.warm_up.steps == 0)
    document.root().section("warm_up").reject("steps",
                                              "`bicrl sft` runs the warm-up, and this one has no steps");
  RewardFunction reward = RewardFunction::from_file(settings.reward_file);
  // The warm-up and evaluations alone need no reward.
  settings.verifier.protocol.measure_time = reward.uses_times() && !settings.stages.empty();
  if (settings.needs_verifier() && settings.verifier.addresses.empty())
    check_times(settings, reward, server.pipeline.clock());
  return {std::move(document), std::move(settings), std::move(reward)};
}

// What the configuration says that will do nothing.
std::vector<std::string> notes_on(const LoadedRun& run) {
  std::vector<std::string> notes = settings_without_effect(run.settings);
  const std::string server =
      note_on_unused_server(run.document.root().section("verifier"), run.settings.verifier.addresses);
  if (!server.empty()) notes.push_back(server);
  if (run.settings.evaluation.tasks == 0 && run.document.root().section("evaluation").has("max_new_tokens"))
    notes.push_back("evaluation.max_new_tokens has no effect with 'tasks: 0'");
  if (run.settings.evaluation.tasks == 0 && run.settings.evaluation.every_steps > 0)
    notes.push_back("evaluation.every_steps has no effect with 'tasks: 0'");
  return notes;
}

// The printed document stays a configuration that can be run.
std::string as_comment(const std::string& text) {
  std::string commented;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) commented += "# " + line + "\n";
  return commented;
}

// What lies in the run directory already.
struct OpenedRun {
  std::unique_ptr<RunDirectory> directory;  // on rank 0
  fs::path checkpoint;                      // to go on from; empty at the start
  bool finished = false;
};

OpenedRun open_run(const LearnerCommand& command, const LoadedRun& run, ControlPlane& control) {
  OpenedRun opened;
  on_rank_zero(control, [&] {
    opened.directory = std::make_unique<RunDirectory>(run.settings.directory);
    opened.finished = opened.directory->finished();
    if (opened.finished) {
      opened.directory->check_config(run.document.resolved_yaml(), /*allow_changes=*/false);
      return;
    }
    const CheckpointStore checkpoints(opened.directory->path() / "checkpoints");
    opened.checkpoint = checkpoints.latest().value_or("");
    if (!opened.checkpoint.empty() && !opened.directory->has_run())
      throw InputError(
          concat((opened.directory->path() / "config.yaml").string(),
                 ": is missing, though the run has checkpoints; put it back, or name another run.directory"));
    // Before the first checkpoint there is nothing that another configuration could spoil.
    opened.directory->adopt(run.document.resolved_yaml(), run.reward.resolved_yaml(),
                            command.allow_changed_config || opened.checkpoint.empty());
  });
  opened.checkpoint = control.all_gather(opened.checkpoint.string()).front();
  opened.finished = control.all_gather(opened.finished ? "finished" : "").front() == "finished";
  return opened;
}

// On the CPU; a GPU's memory is asked for piece by piece.
void require_memory(const RunSettings& settings, const ControlPlane& control) {
  if (settings.policy.device != "cpu") return;
  const int64_t host_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const std::string problem =
      memory_problem(memory_of(settings, control.size()), control.ranks_on_host(), host_bytes);
  if (!problem.empty()) throw InputError(problem);
}

int run_on_ranks(const LearnerCommand& command, RankPlanes ranks) {
  ControlPlane& control = ranks.control;
  const bool first = control.rank() == 0;
  LoadedRun run = load_run(command);
  RunInputs inputs = RunInputs::load(run.settings.policy, run.settings.tasks);
  if (command.dry_run) {
    if (first)
      std::cout << run.document.resolved_yaml() << "\n# reward: " << run.reward.rule_name() << "\n"
                << as_comment(derived_numbers(run.settings, control.size()));
    if (first)
      for (const std::string& note : notes_on(run)) std::cout << as_comment(note);
    std::cout << std::flush;
    return static_cast<int>(ExitCode::kOk);
  }
  require_memory(run.settings, control);
  control.set_wait_limit(run.settings.trainer.wait_limit_s);
  const Stopwatch watch;
  expect_equal_on_ranks(control, "configuration", run.document.resolved_yaml() + run.reward.resolved_yaml());
  if (first)
    for (const std::string& note : notes_on(run)) log_warning(note);
  install_stop_handler();
  at::set_num_threads(static_cast<int>(run.settings.threads_per_rank));
  const OpenedRun opened = open_run(command, run, control);
  if (opened.finished) {
    if (first)
      std::cout << "the run in " << run.settings.directory.string()
                << " has finished; name another run.directory for a new one" << std::endl;
    return static_cast<int>(ExitCode::kOk);
  }
  std::unique_ptr<EmbeddedVerifier> server;
  std::unique_ptr<VerifierClient> verifier;
  if (run.settings.needs_verifier()) {
    server = share_embedded_verifier(command.config_path, command.overrides,
                                     (run.settings.directory / "verifier.log").string(), control,
                                     run.settings.verifier.addresses);
    verifier = std::make_unique<VerifierClient>(run.settings.verifier);
    if (first) log_info("verifier: ", run.settings.verifier.addresses.front(), server ? " (embedded)" : "");
  }
  TensorPlane& tensors = ranks.make_tensors(policy_device(run.settings.policy, control.local_rank()));
  tensors.set_wait_limit(run.settings.trainer.wait_limit_s);
  TrainingRun training(run.settings, std::move(inputs), control, tensors, verifier.get(), run.reward,
                       opened.directory.get(), opened.checkpoint, stop_requested);
  const RunEnd end = training.run();
  if (first) {
    const std::string place = run.settings.directory.string();
    if (end == RunEnd::kFinished) opened.directory->mark_finished();
    std::cout << (end == RunEnd::kStopped
                      ? concat("stopped after ", clock_text(watch.seconds()), " and saved in ", place,
                               "; the same command goes on from there")
                      : concat("finished in ", clock_text(watch.seconds()), "; results in ", place))
              << std::endl;
  }
  return static_cast<int>(end == RunEnd::kStopped ? ExitCode::kInterrupted : ExitCode::kOk);
}

}  // namespace

int run_train_command(const LearnerCommand& command) {
  return with_ranks([&](RankPlanes ranks) { return run_on_ranks(command, ranks); });
}

}  // namespace bicrl
