// AdamW (decoupled weight decay) over this rank's shard of a policy's parameters. Its state lies in their
// store and stays for the whole run, across phases and updates: two fp32 moments of each parameter, and fp32
// values of those that the policy keeps in low precision. Nothing else of the policy's size is ever
// allocated. Refers to the store, which must outlive it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "common/config/config.h"
#include "policy/parameters/parameter_store.h"
#include "trainer/update/optimizer/fused_optimizer.h"
#include "trainer/update/optimizer/saved_state.h"

namespace bicrl {

// Whether a phase goes on with the moments that the phase before left.
enum class MomentsAtStart { kKeep, kReset };

struct AdamWSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // on matrices only, never on norms
  MomentsAtStart moments = MomentsAtStart::kKeep;
  static AdamWSettings from_config(const ConfigSection& section);
};

class AdamW {
 public:
  // Allocates its state in the store, of the given extent. `fused`: takes the steps, if it is not null.
  AdamW(ParameterStore& store, AdamWSettings settings, PartExtent extent = PartExtent::kWhole,
        FusedOptimizer* fused = nullptr);
  ~AdamW();  // frees the state
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  // One update by the store's gradient. The caller has clipped it and knows it to be finite. `group_done` is
  // called as soon as a group has its new values.
  void step(double learning_rate, const std::function<void(int64_t group)>& group_done = {});
  // The last step was none, as it turned out.
  void forget_step() { --steps_; }
  int64_t steps() const { return steps_; }
  void set(AdamWSettings settings) { settings_ = settings; }  // from the next step on; the moments stay
  void reset();                                               // moments and step count, as if fresh

  // Views of the state, no copies: "<parameter>.exp_avg", ".exp_avg_sq", ".master" (low-precision policies),
  // whole or this rank's pieces, and "step". What they hold changes with the next step.
  SavedState export_state() const;
  // Copies what this rank needs of what export_state() gave on all ranks, of any number and extent. Throws
  // InputError on a missing, extra, incomplete or misshapen tensor.
  void import_state(const SavedState& state);
  // To be called when somebody else wrote the parameters (weights loaded from a file).
  void parameters_replaced();

 private:
  void step_group(int64_t group, const AdamWNumbers& step);
  void step_fused(int64_t group, const AdamWNumbers& step);
  // What the state covers: whole groups, or this rank's shard of each.
  bool is_whole() const;
  ShardOf held_shard() const;  // the only one of one if it is whole
  at::Tensor held(ParameterPart part, int64_t group) const;
  at::Tensor held_values(int64_t group) const;

  ParameterStore& store_;
  AdamWSettings settings_;
  FusedOptimizer* fused_;
  int64_t steps_ = 0;
};

}  // namespace bicrl
