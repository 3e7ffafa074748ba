#include <ATen/Parallel.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "launch/commands/run_layout.h"
#include "launch/launcher_check.h"
#include "launch/learner_commands.h"
#include "launch/rank_checks.h"
#include "launch/rank_session.h"
#include "launch/signals.h"
#include "rollout/decoding/denoise_step.h"
#include "sandbox/service/verifier_server.h"
#include "trainer/experience/grading_basis.h"
#include "trainer/run/determinism.h"
#include "trainer/run/layout/run_memory.h"
#include "trainer/run/run_inputs.h"
#include "trainer/run/training_run.h"
#include "verdict/verifier_description.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

// Settings of a run with everything that was read for them.
struct LoadedRun {
  ConfigDocument document;
  RunSettings settings;
  StageRewards rewards;
};

bool has_reward(const RunSettings& settings) {
  return !settings.reward_file.empty() || !settings.stages.empty();
}

// An embedded verifier is known before it starts; others are asked (trainer/experience/grading_basis.h).
void check_times(const RunSettings& settings, const StageRewards& rewards, const std::string& clock) {
  if (!settings.verifier.protocol.measure_time || clock == rewards.clock()) return;
  throw InputError(
      concat("reward: ", rewards.timed_file().string(), " wants times by the clock '", rewards.clock(),
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
  if (command.name == "sft" && !settings.warm_up.is_enabled())
    document.root().section("warm_up").reject(settings.warm_up.length_key,
                                              "`bicrl sft` runs the warm-up, and this one has no step");
  // Where nothing is rewarded, any rule will do.
  std::vector<fs::path> of_stages;
  for (const StageSettings& stage : settings.stages) of_stages.push_back(stage.reward_file);
  StageRewards rewards(settings.reward_file, of_stages);
  // The warm-up and evaluations alone need no reward.
  settings.verifier.protocol.measure_time = rewards.uses_times() && !settings.stages.empty();
  if (settings.needs_verifier() && settings.verifier.addresses.empty())
    check_times(settings, rewards, server.pipeline.clock());
  return {std::move(document), std::move(settings), std::move(rewards)};
}

// The clock whose times the reward accepts; empty if it uses none.
std::string times_by(const LoadedRun& run) {
  return run.settings.verifier.protocol.measure_time ? run.rewards.clock() : "";
}

// What the configuration says that will do nothing.
std::vector<std::string> notes_on(const LoadedRun& run) {
  std::vector<std::string> notes = run.document.notes();
  if (run.settings.bench.is_enabled()) notes.insert(notes.begin(), BenchSettings::warning());
  for (std::string& note : settings_without_effect(run.settings)) notes.push_back(std::move(note));
  const std::string server =
      note_on_unused_server(run.document.root().section("verifier"), run.settings.verifier.addresses);
  if (!server.empty()) notes.push_back(server);
  if (run.settings.evaluation.tasks == 0 && run.document.root().section("evaluation").has("max_new_tokens"))
    notes.push_back("evaluation.max_new_tokens has no effect with 'tasks: 0'");
  if (run.settings.evaluation.tasks == 0 && run.settings.evaluation.every_steps > 0)
    notes.push_back("evaluation.every_steps has no effect with 'tasks: 0'");
  if (run.settings.evaluation.tasks == 0 && run.settings.evaluation.every_epochs > 0)
    notes.push_back("evaluation.every_epochs has no effect with 'tasks: 0'");
  if (run.settings.evaluation.tasks == 0 && run.settings.evaluation.last_phase_alone)
    notes.push_back("evaluation.phases has no effect with 'tasks: 0'");
  return notes;
}

// Why this run cannot start here, beside what memory and verifiers say: what `--dry-run` refuses as well.
void require_startable(const LoadedRun& run, const RunInputs& inputs, const ControlPlane& control) {
  const int64_t wanted = run.settings.evaluation.tasks;
  const ConfigSection evaluation = run.document.root().section("evaluation");
  if (evaluation.has("tasks") && wanted > std::ssize(inputs.tasks.held_out))
    evaluation.reject("tasks", concat(wanted, " held-out tasks are asked for, and there are ",
                                      inputs.tasks.held_out.size()));
  run.settings.trainer.placement(control.size());
  const PolicySource& policy = run.settings.policy;
  const at::Device device = policy_device(policy, control.local_rank());
  for (const StageSettings& stage : run.settings.stages)
    if (stage.steps > 0)
      require_recordable(policy_shape(policy), device,
                         policy.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat, stage.decoding);
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
    RunDirectory& directory = *opened.directory;
    opened.finished = directory.finished() && !directory.is_extended_by(run.document.resolved_yaml());
    if (opened.finished) {
      directory.check_config(run.document.resolved_yaml(), /*allow_changes=*/false);
      return;
    }
    const bool extends = directory.finished();
    opened.checkpoint = CheckpointStore(directory.path() / "checkpoints").latest().value_or("");
    if (!opened.checkpoint.empty() && !opened.directory->has_run())
      throw InputError(
          concat((opened.directory->path() / "config.yaml").string(),
                 ": is missing, though the run has checkpoints; put it back, or name another run.directory"));
    // A change that cannot be allowed is reported before it is kept.
    if (command.allow_changed_config && !opened.checkpoint.empty())
      check_adapters_of(opened.checkpoint, run.settings.policy.lora);
    // Before the first checkpoint there is nothing that another configuration could spoil.
    directory.adopt(run.document.resolved_yaml(), run.rewards.resolved_yaml(),
                    command.allow_changed_config || opened.checkpoint.empty() || extends);
    if (run.settings.bench.is_enabled()) directory.mark_bench();
  });
  opened.checkpoint = control.all_gather(opened.checkpoint.string()).front();
  opened.finished = control.all_gather(opened.finished ? "finished" : "").front() == "finished";
  return opened;
}

// Collective: of a run that has just saved.
fs::path latest_checkpoint(const RunSettings& settings, ControlPlane& control) {
  fs::path latest;
  on_rank_zero(control, [&] {
    latest = CheckpointStore(settings.directory / "checkpoints").latest().value_or("");
    BICRL_CHECK(!latest.empty(), settings.directory.string());
  });
  return control.all_gather(latest.string()).front();
}

// A rank that is lost ends all: the thread that works may be caught in MPI for ever, and MPI_Abort as well.
std::unique_ptr<Heartbeat> watch_over_ranks(const TrainerSettings& settings, ControlPlane& control) {
  if (settings.heartbeat_limit_s == 0) return nullptr;
  return std::make_unique<Heartbeat>(
      control, settings.heartbeat_limit_s, [rank = control.rank()](const std::string& reason) {
        std::cerr << concat("bicrl: rank ", rank, " ends, as ", reason,
                            "; the same command goes on from the latest checkpoint\n")
                  << std::flush;
        _exit(static_cast<int>(ExitCode::kFailure));
      });
}

// Collective.
RunRanks make_run_ranks(const RunSettings& settings, const Placement& placement, const RankPlanes& planes,
                        MeasuredTensors& tensors) {
  ControlPlane& control = planes.control;
  const at::Device device = policy_device(settings.policy, control.local_rank());
  RunRanks ranks = {.placement = placement,
                    .control = control,
                    .tensors = tensors,
                    .trainer_control = &control,
                    .trainer_tensors = &tensors};
  if (!placement.is_split()) return ranks;
  ranks.trainer_control = nullptr;
  ranks.trainer_tensors = nullptr;
  // What the trainers alone find wrong ends the generators, too, which would wait for them to the limit.
  on_all_ranks(control, [&] {
    if (!placement.trains(control.rank())) return;
    const PartPlanes part = planes.make_part(placement.trainers(), device);
    part.control.set_wait_limit(settings.trainer.wait_limit_s);
    part.tensors.set_wait_limit(settings.trainer.wait_limit_s);
    ranks.trainer_control = &part.control;
    ranks.trainer_tensors = &part.tensors;
  });
  return ranks;
}

// "1:02:10 (0:12:00 since the run was taken up again)"
std::string time_text(double seconds, double seconds_before) {
  if (seconds_before == 0) return clock_text(seconds);
  return concat(clock_text(seconds_before + seconds), " (", clock_text(seconds),
                " since it was taken up again)");
}

// What ends a run says last how to go on.
RunEnd run_with_advice(TrainingRun& training, const LearnerCommand& command, const RunSettings& settings) {
  try {
    return training.run();
  } catch (const SharedError& error) {
    const std::string newest = newest_checkpoint(settings.directory / "checkpoints");
    if (newest.empty()) throw;
    throw SharedError(concat(error.what(), "\nthe latest checkpoint is ", newest,
                             "; the same command goes on from there: ", command.line),
                      error.code());
  }
}

// `--dry-run`, on rank 0.
void print_plan(const LoadedRun& run, int ranks) {
  std::cout << run.document.resolved_yaml()
            << "\n# reward: " << (has_reward(run.settings) ? run.rewards.rule_names() : "none") << "\n"
            << as_comment(derived_numbers(run.settings, ranks));
  for (const std::string& note : notes_on(run)) std::cout << as_comment(note);
  std::cout << std::flush;
}

// Collective: logs what has no effect, and sets up signals and threads of this process.
void prepare_rank(const LoadedRun& run, ControlPlane& control) {
  const bool first = control.rank() == 0;
  if (first)
    for (const std::string& note : notes_on(run)) log_warning(note);
  install_stop_handler(first ? "stopping after this step; again to end now" : "");
  at::set_num_threads(static_cast<int>(run.settings.threads_per_rank));
  report_bindings(control, run.settings.threads_per_rank);
}

// The verifiers of a run, as its ranks reach them; none if nothing is to be verified.
struct RunVerifier {
  std::unique_ptr<EmbeddedVerifier> server;  // on rank 0, if the configuration names no address
  std::unique_ptr<VerifierClient> client;
  std::string basis;  // common_grading_basis()
};

// Collective. Fills in the addresses of an embedded server.
RunVerifier start_verifier(const LearnerCommand& command, LoadedRun& run, ControlPlane& control) {
  RunVerifier verifier;
  RunSettings& settings = run.settings;
  if (!settings.needs_verifier()) return verifier;
  verifier.server = share_embedded_verifier(command.config_path, command.overrides,
                                            (settings.directory / "verifier.log").string(), control,
                                            settings.verifier.addresses);
  verifier.client = std::make_unique<VerifierClient>(settings.verifier);
  if (control.rank() == 0)
    log_info("verifier: ", settings.verifier.addresses.front(), verifier.server ? " (embedded)" : "");
  verifier.basis = common_grading_basis(*verifier.client, settings.verifier, control, times_by(run));
  return verifier;
}

// The rest is printed on rank 0.
void print_finished_before(const std::string& place) {
  std::cout << "the run in " << place
            << " has finished; more steps of its last stage extend it, another run.directory is for a new one"
            << std::endl;
}

void print_end(RunEnd end, const std::string& place, const std::string& time) {
  std::cout << (end == RunEnd::kStopped ? concat("stopped after ", time, " and saved in ", place,
                                                 "; the same command goes on from there")
                                        : concat("finished in ", time, "; results in ", place,
                                                 "; for a page of them: bicrl report ", place))
            << std::endl;
}

int run_on_ranks(const LearnerCommand& command, RankPlanes ranks) {
  ControlPlane& control = ranks.control;
  const bool first = control.rank() == 0;
  LoadedRun run = load_run(command);
  run.settings.policy.verify = command.verify;
  if (run.settings.trainer.deterministic) require_determinism();
  RunInputs inputs =
      RunInputs::load(run.settings.policy, run.settings.tasks, run.settings.warm_up.trained_pairs());
  run.settings.warm_up.expect_pairs(inputs.pair_samples.size());
  if (command.dry_run) {
    if (first) print_plan(run, control.size());
    require_startable(run, inputs, control);
    return static_cast<int>(ExitCode::kOk);
  }
  require_startable(run, inputs, control);
  RunLayout layout = lay_out(run.settings, inputs, control);
  control.set_wait_limit(run.settings.trainer.wait_limit_s);
  const std::unique_ptr<Heartbeat> heartbeat = watch_over_ranks(run.settings.trainer, control);
  const Stopwatch watch;
  expect_like_machines(control, policy_device(run.settings.policy, control.local_rank()).is_cuda());
  expect_equal_on_ranks(control, "configuration", run.document.resolved_yaml() + run.rewards.resolved_yaml());
  prepare_rank(run, control);
  const OpenedRun opened = open_run(command, run, control);
  if (opened.finished) {
    if (first) print_finished_before(run.settings.directory.string());
    return static_cast<int>(ExitCode::kOk);
  }
  expect_shared_folder(control, run.settings.directory);
  const auto decided = decided_before(run.settings, opened.checkpoint, control);
  if (decided && decided->generators > 0)
    layout = lay_out(run.settings, inputs, control, decided->generators);
  if (first) log_info(layout.memory);
  const RunVerifier verifier = start_verifier(command, run, control);
  MeasuredTensors& tensors = ranks.make_tensors(policy_device(run.settings.policy, control.local_rank()));
  tensors.set_wait_limit(run.settings.trainer.wait_limit_s);
  std::optional<PlacementTrial> trial;
  if (!decided) trial = placement_trial(run.settings, inputs, control);
  std::optional<TrainingRun> training;
  const auto train = [&](const fs::path& checkpoint) {
    training.emplace(layout.settings, std::move(inputs),
                     make_run_ranks(layout.settings, layout.placement, ranks, tensors), verifier.client.get(),
                     verifier.basis, run.rewards, opened.directory.get(), checkpoint, stop_requested,
                     std::exchange(trial, std::nullopt));
    return run_with_advice(*training, command, run.settings);
  };
  RunEnd end = train(opened.checkpoint);
  const double seconds_before = training->seconds_before();
  if (end == RunEnd::kMoves) {
    const int generators = training->placement()->generators;
    training.reset();  // it has the memory
    // Of which the part's communicator takes its buffers.
    return_unused_memory(policy_device(run.settings.policy, control.local_rank()));
    inputs = RunInputs::load(run.settings.policy, run.settings.tasks, run.settings.warm_up.trained_pairs());
    layout = lay_out(run.settings, inputs, control, generators);
    if (first) log_info(layout.memory);
    end = train(latest_checkpoint(run.settings, control));
  }
  if (first) {
    if (end == RunEnd::kFinished) opened.directory->mark_finished();
    print_end(end, run.settings.directory.string(), time_text(watch.seconds(), seconds_before));
  }
  return static_cast<int>(end == RunEnd::kStopped ? ExitCode::kInterrupted : ExitCode::kOk);
}

}  // namespace

static int run_train_command(const LearnerCommand& command) {
  return with_ranks([&](RankPlanes ranks) { return run_on_ranks(command, ranks); });
}

namespace {

const LearnerCommandRegistration kTrainRegistered("train", run_train_command, /*has_ranks=*/true);
const LearnerCommandRegistration kSftRegistered("sft", run_train_command, /*has_ranks=*/true);

}  // namespace
}  // namespace bicrl
