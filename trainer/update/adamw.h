// AdamW (decoupled weight decay) over this rank's shard of a policy's parameters. Its state lies in their
// store and stays for the whole run, across phases and updates: two fp32 moments of each parameter, and fp32
// values of those that the policy keeps in low precision. Nothing else of the policy's size is ever allocated.
// Refers to the store, which must outlive it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "common/config.h"
#include "policy/parameter_store.h"

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
  // Allocates its state in the store, of the given extent.
  AdamW(ParameterStore& store, AdamWSettings settings, PartExtent extent = PartExtent::kWhole);
  ~AdamW();  // frees the state
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  // One update by the store's gradient. The caller has clipped it and knows it to be finite.
  void step(double learning_rate);
  int64_t steps() const { return steps_; }
  void set(AdamWSettings settings) { settings_ = settings; }  // from the next step on; the moments stay
  void reset();                                               // moments and step count, as if fresh

  // Views of the state by name, no copies: "<parameter>.exp_avg", ".exp_avg_sq", ".master" (low-precision
  // policies) in the parameter's shape, and "step". What they hold changes with the next step.
  std::map<std::string, at::Tensor> export_state() const;
  // Copies what export_state() gave. Throws InputError on a missing, extra or misshapen tensor.
  void import_state(const std::map<std::string, at::Tensor>& state);
  // To be called when somebody else wrote the parameters (weights loaded from a file).
  void parameters_replaced();

 private:
  struct Step;  // the numbers of one step
  void step_group(int64_t group, const Step& step);

  ParameterStore& store_;
  AdamWSettings settings_;
  int64_t steps_ = 0;
};

}  // namespace bicrl
