// A training run: warm-up, then the stages in order, with an evaluation and a checkpoint after each phase.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "policy/tokenizer.h"
#include "policy/transformer.h"
#include "reward/reward_rule.h"
#include "reward/verifier_client.h"
#include "trainer/communicator.h"
#include "trainer/evaluation.h"
#include "trainer/policy_updater.h"
#include "trainer/run_directory.h"
#include "trainer/run_settings.h"
#include "trainer/task_pool.h"

namespace bicrl {

enum class RunEnd { kFinished, kStopped };

// One object per rank; run() is collective. Refers to what it is given and owns policy and optimizer.
class TrainingRun {
 public:
  // `directory` is null on ranks other than 0. `verifier` may be null where nothing is to be verified.
  TrainingRun(const RunSettings& settings, Communicator& communicator, VerifierClient* verifier,
              const RewardFunction& reward, RunDirectory* directory, std::function<bool()> stop_requested);

  // Throws Error where a phase cannot go on (too many masked responses, a policy that is no longer finite).
  RunEnd run();

 private:
  void warm_up();
  void reinforce(size_t stage_index);
  void finish_phase(const std::string& phase, double seconds);
  // True on all ranks as soon as one was asked to stop.
  bool stopping();
  void report(StepMetrics& metrics, double phase_seconds);
  void check_update(const UpdateStatistics& statistics, const std::string& phase, int64_t step) const;
  void write_summary() const;

  const RunSettings& settings_;
  Communicator& communicator_;
  VerifierClient* verifier_;
  const RewardFunction& reward_;
  RunDirectory* directory_;
  std::function<bool()> stop_requested_;
  Tokenizer tokenizer_;
  Transformer policy_;
  TaskPool tasks_;
  PolicyUpdater updater_;
  int64_t policy_version_ = 0;  // updates applied since the start
  std::vector<EvaluationResult> evaluations_;
  std::vector<std::pair<std::string, double>> phase_seconds_;
};

// The device and type that a policy source names; `local_rank` chooses among GPUs. Throws Error
// (kUnavailable) where the device is not there.
at::Device policy_device(const PolicySource& source, int local_rank);
Tokenizer load_tokenizer(const PolicySource& source);
// Throws InputError where tokenizer and policy do not fit together.
Transformer make_policy(const PolicySource& source, const Tokenizer& tokenizer, uint64_t seed,
                        int local_rank);

}  // namespace bicrl
