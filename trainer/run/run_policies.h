// The policies that a run loads: the one that it trains, and the one that a KL term compares it with.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/run/run_progress.h"
#include "trainer/run/run_settings.h"

namespace bicrl {

// The policy of a checkpoint of this run, or the one that the run starts from if `checkpoint` is empty.
// Frozen weights are those of the start in both cases: a checkpoint's have the adapters merged into them.
Transformer make_run_policy(const RunSettings& settings, const Tokenizer& tokenizer,
                            const std::filesystem::path& checkpoint, const ControlPlane& control);

// The policy with which reinforcement, or the phase in progress, began. Made when it is first asked for; one
// is held at a time. Not thread-safe.
class ReferencePolicy {
 public:
  // What it refers to, which outlives it. `policy`: the one that is trained.
  struct Sources {
    const RunSettings& settings;
    const Tokenizer& tokenizer;
    const Transformer& policy;
    const ControlPlane& control;
  };
  ReferencePolicy(const Sources& sources, const RunProgress& progress)
      : sources_(sources), progress_(progress) {}

  // Until the next call with another kind, or in another phase. Throws InputError if the checkpoint that
  // holds it is missing.
  const Transformer& policy(KlReference kind);

 private:
  struct Held {
    int64_t phase = 0;  // the number of the one that it begins
    Transformer policy;
  };
  // `before`: the phase whose end is the start of phase number `phase`; empty: the run's start.
  Transformer policy_at_start(int64_t phase, const std::string& before) const;

  const Sources sources_;
  const RunProgress& progress_;
  std::optional<Held> held_;
};

}  // namespace bicrl
