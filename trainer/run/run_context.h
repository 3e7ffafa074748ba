// References to what the parts of a run share. Owns nothing.
#pragma once
#include <functional>
#include <vector>

#include "episode/curation.h"
#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "reward/client/verifier_client.h"
#include "reward/stage_rewards.h"
#include "rollout/decoding/decode_engine.h"
#include "trainer/experience/verdict_ledger.h"
#include "trainer/inputs/pair_source.h"
#include "trainer/inputs/task_pool.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/placement.h"
#include "trainer/run/run_directory.h"
#include "trainer/run/run_settings.h"
#include "trainer/update/packing/pair_samples.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {

class RunLog;

// All of it belongs to the run, as the context does, and outlives what works with it.
struct RunContext {
  const RunSettings& settings;
  ControlPlane& control;
  Placement placement;
  const Tokenizer& tokenizer;
  const Transformer& policy;
  DecodeEngine& engine;  // of this policy
  TaskPool& tasks;       // whose held-out ones the evaluator cuts to what is evaluated
  const std::vector<PairSet>& pairs;
  PairSamples& pair_samples;
  PolicyUpdater* updater = nullptr;  // null on ranks that do not train
  Curation& curation;
  VerifierClient* verifier = nullptr;  // null if nothing is to be verified
  const StageRewards& rewards;
  // Of configuration and inputs, since the checkpoint that the run goes on from.
  bool changes_allowed = false;
  VerdictLedger* ledger = nullptr;  // null if there are no verdicts
  // Null on ranks other than 0:
  RunDirectory* directory = nullptr;
  RunLog* log = nullptr;
  // Collective: from here on the policy of ranks that do not train is the trainers', too.
  std::function<void()> bring_weights{};
  // The policy with which reinforcement, or the present phase, began; made when it is first asked for.
  std::function<const Transformer&(KlReference)> reference{};
  std::function<bool()> stop_requested{};
};

}  // namespace bicrl
