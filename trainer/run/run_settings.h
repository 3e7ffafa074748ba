// Everything a training run reads from its YAML file, and the numbers that follow from it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "episode/curation.h"
#include "reward/advantage.h"
#include "reward/client/verifier_client.h"
#include "rollout/decoding_settings.h"
#include "tasks/curriculum.h"
#include "trainer/evaluation/best_checkpoint.h"
#include "trainer/experience/bench_programs.h"
#include "trainer/experience/imitation.h"
#include "trainer/inputs/pair_epochs.h"
#include "trainer/inputs/pair_source.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/inputs/task_source.h"
#include "trainer/run/layout/trainer_settings.h"
#include "trainer/run/replay_settings.h"
#include "trainer/update/memory/training_memory.h"
#include "trainer/update/packing/known_samples.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {

struct WarmUpSettings {
  int64_t steps = 0;
  int64_t samples_per_step = 32;     // over all ranks
  int64_t epochs = 0;                // over pairs, in the place of `steps`, which follow from them
  PairEpochs epoch;                  // of `epochs`
  std::string length_key = "steps";  // or "epochs": which of them counts
  double infilling_share = 0.5;      // of the samples; the others are end-to-end
  KnownPrograms programs = KnownPrograms::kFirst;
  PairSettings pairs;  // with sources: what is trained on, in the place of tasks' known programs
  UpdaterSettings updater;

  bool is_enabled() const { return steps > 0 || epochs > 0; }
  // What is to be loaded: none if no step trains on them.
  PairSettings trained_pairs() const { return is_enabled() ? pairs : PairSettings{}; }
  // With epochs: steps and schedule follow from the number of pairs that are trained on.
  void expect_pairs(int64_t pairs);
};

struct StageSettings {
  Stage stage = Stage::kInfilling;
  std::vector<std::string> sources;  // names of the task files that it asks (task_files.h); empty: all
  int64_t steps = 0;
  int64_t tasks_per_step = 0;    // over all ranks
  int64_t samples_per_task = 0;  // the group
  AdvantageSettings advantage;
  CurriculumSettings curriculum;
  DecodingSettings decoding;
  UpdaterSettings updater;
  ImitationSettings imitation;
  std::filesystem::path reward_file;  // empty: the run's

  int64_t responses_per_step() const { return tasks_per_step * samples_per_task; }
};

// After the last phase, the best of several samples to the first held-out tasks.
struct BestOfSettings {
  int64_t tasks = 0;  // 0: none
  int64_t samples = 8;
  bool after_warm_up = false;  // there, too
  DecodingSettings decoding;
};

struct EvaluationSettings {
  int64_t tasks = 0;  // held-out tasks; 0: no evaluation
  int64_t infilling_tasks =
      0;                     // of these, asked in the form of an infilling stage as well, where one is near
  int64_t every_steps = 0;   // within phases; 0: only after them
  int64_t every_epochs = 0;  // within a warm-up by epochs; 0: none
  bool last_phase_alone = false;  // neither at the start nor after others
  DecodingSettings decoding;
  BestOfSettings best_of;
};

struct RunSettings {
  std::filesystem::path directory;
  uint64_t seed = 1;
  int64_t threads_per_rank = 1;
  PolicySource policy;
  TaskSource tasks;
  WarmUpSettings warm_up;
  std::vector<StageSettings> stages;
  CurationSettings curation;
  EvaluationSettings evaluation;
  std::filesystem::path reward_file;     // of stages without their own; may be empty where there is none
  double checkpoint_every_s = 60;        // besides one after each phase; 0: only those
  bool checkpoint_in_background = true;  // from a copy in host memory; else the run waits
  int64_t keep_checkpoints = 2;          // of those within phases
  BestMetric best_metric = BestMetric::kReward;  // of the checkpoint that is kept whatever its age
  int64_t samples_per_step = 2;                  // responses that samples.jsonl keeps with text and verdict
  bool save_rollouts = false;                    // keeps every step's rollouts in RUN/rollouts
  bool keep_all_texts = false;                   // prompts, texts and verdicts of all responses in RUN/texts
  int64_t max_skipped_updates = 10;   // for gradients that are not finite; after more of them the run stops
  double max_loss = 1000;             // in magnitude; above it, or not finite, the run stops
  double max_unverified_share = 0.5;  // of a step's responses, without a verdict; from it on the run stops
  // A rank gives up the verdicts that a step still misses so long after its last response; 0: it waits for
  // each as long as the client does.
  double straggler_deadline_s = 0;
  TrainerSettings trainer;
  ReplaySettings replay;
  BenchSettings bench;
  VerifierClientOptions verifier;

  // Whether anything has to be verified: by stages, or after phases.
  bool needs_verifier() const {
    return (replay.verifies() && !stages.empty()) || (replay.updates() && evaluation.tasks > 0);
  }

  // Reads every key of a run but `verifier.server`, which belongs to the embedded server.
  // Relative paths are looked up from the working directory, then from `config_folder` and the folders above
  // it.
  static RunSettings from_config(const ConfigSection& root, const std::filesystem::path& config_folder);
};

// How infilling is asked in the warm-up: as in the first infilling stage.
Scaffold infilling_scaffold(const RunSettings& settings);

// Settings that are valid and do nothing, each with the reason, for a person.
std::vector<std::string> settings_without_effect(const RunSettings& settings);

// Of the policy that a source names, before its weights are read.
PolicyConfig policy_shape(const PolicySource& policy);

// Of a training rank, beside activations, with the copies that checkpoints are written from.
TrainingMemory memory_of(const RunSettings& settings, int ranks);

// What --dry-run prints below the resolved configuration: responses, tokens and memory.
std::string derived_numbers(const RunSettings& settings, int ranks);

}  // namespace bicrl
