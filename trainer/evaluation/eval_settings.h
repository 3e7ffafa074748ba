// Everything `bicrl eval` reads from its YAML file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "common/config/config.h"
#include "reward/client/verifier_client.h"
#include "reward/quarantine.h"
#include "rollout/decoding_settings.h"
#include "trainer/evaluation/suite_settings.h"
#include "trainer/evaluation/task_scores.h"
#include "trainer/inputs/policy_source.h"
#include "trainer/inputs/task_source.h"

namespace bicrl {

struct EvalSettings {
  std::optional<SuiteSettings> suite;
  PolicySource policy;     // not read, like all that is of generating, if the suite names programs
  TaskSource tasks;        // files are in held_out_files
  int64_t task_limit = 0;  // the first so many; 0: all
  Stage stage = Stage::kEndToEnd;
  int64_t samples_per_task = 1;
  std::vector<int64_t> pass_at_k;  // ascending, none above samples_per_task
  uint64_t seed = 1;
  int64_t threads_per_rank = 1;
  DecodingSettings decoding;  // temperature 0: greedy
  double confidence = 0.95;
  int64_t bootstrap_resamples = 2000;
  double max_unverified_share = 0.5;     // of the responses; from it on the evaluation counts as failed
  QuarantineSettings quarantine;         // which successes are verified a second time
  std::filesystem::path responses_file;  // JSON lines, each response with its verdict; empty: none
  VerifierClientOptions verifier;

  ScoringSettings scoring() const;
  bool greedy() const { return decoding.sampling.temperature == 0; }

  // Reads every key but `verifier.server`, which belongs to the embedded server.
  static EvalSettings from_config(const ConfigSection& root, const std::filesystem::path& config_folder);
};

// The tasks that can be evaluated on, of which `task_limit` may be fewer; equal on all ranks. Throws
// InputError if the settings leave none.
std::vector<Task> load_eval_tasks(const EvalSettings& settings);

}  // namespace bicrl
