#include "trainer/run/run_policies.h"

#include <algorithm>
#include <iterator>

#include "common/error.h"
#include "policy/files/adapter_io.h"

namespace bicrl {
namespace fs = std::filesystem;

Transformer make_run_policy(const RunSettings& settings, const Tokenizer& tokenizer,
                            const fs::path& checkpoint, const ControlPlane& control) {
  PolicySource source = settings.policy;
  if (!checkpoint.empty()) check_adapters_of(checkpoint, source.lora);
  if (!checkpoint.empty() && !source.lora) {
    source.checkpoint = checkpoint;
    source.config_file.clear();
    source.verify = false;  // CheckpointStore::latest() has checked all of it
  }
  Transformer policy = make_policy(source, tokenizer, weights_key(settings.seed), control.local_rank(),
                                   control.ranks_on_host());
  if (!checkpoint.empty() && source.lora) load_adapters(adapter_folder(checkpoint), policy);
  return policy;
}

const Transformer& ReferencePolicy::policy(KlReference kind) {
  const auto& phases = progress_.phases;
  const auto takes_steps = [](const auto& phase) { return phase->steps() > 0; };
  const auto first_stage = std::ranges::find_if(
      phases, [&](const auto& phase) { return phase->stage().has_value() && takes_steps(phase); });
  const int64_t begun =
      kind == KlReference::kStage ? progress_.state.phase : std::distance(phases.begin(), first_stage);
  if (held_ && held_->phase == begun) return held_->policy;
  held_.reset();  // before the next one takes its memory
  const auto earlier = std::ranges::find_if(phases.rend() - begun, phases.rend(), takes_steps);
  const std::string before = earlier == phases.rend() ? "" : (*earlier)->name();
  held_ = Held{.phase = begun, .policy = policy_at_start(begun, before)};
  return held_->policy;
}

Transformer ReferencePolicy::policy_at_start(int64_t phase, const std::string& before) const {
  const Transformer& trained = sources_.policy;
  if (trained.has_adapters() && before.empty())
    return trained.base();  // adapters that nothing has trained change nothing
  if (progress_.state.phase <= phase && progress_.state.step == 0)
    return trained.has_adapters() ? trained.frozen_copy() : trained.clone();
  // The run goes on within that phase or a later one; what it began with lies in a checkpoint, or can be made
  // again.
  const fs::path end = before.empty() ? fs::path() : sources_.settings.directory / "checkpoints" / before;
  if (!end.empty() && !fs::is_directory(end))
    throw InputError(concat(end.string(), " is missing, and kl_reference needs it"));
  if (!trained.has_adapters())
    return make_run_policy(sources_.settings, sources_.tokenizer, end, sources_.control);
  Transformer policy = trained.frozen_copy();
  load_adapters(adapter_folder(end), policy);
  return policy;
}

}  // namespace bicrl
