// AdamW (decoupled weight decay) over a policy's flat parameters. Its state stays for the whole run, across
// phases and updates: two fp32 moments of each parameter, and fp32 values of those that the policy keeps in
// low precision. Nothing else of the policy's size is ever allocated. Refers to the parameters, which must
// outlive it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "common/config.h"
#include "trainer/update/flat_parameters.h"

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
  AdamW(FlatParameters& parameters, AdamWSettings settings);

  // One update by `gradient` [size]. The caller has clipped it and knows it to be finite.
  void step(const at::Tensor& gradient, double learning_rate);
  int64_t steps() const { return steps_; }
  void set(AdamWSettings settings) { settings_ = settings; }  // from the next step on; the moments stay
  void reset();                                               // moments and step count, as if fresh
  at::Tensor values() const;  // [size] a copy of the parameters at their full precision

  // Views of the state by name, no copies: "<parameter>.exp_avg", ".exp_avg_sq", ".master" (low-precision
  // policies) in the parameter's shape, and "step". What they hold changes with the next step.
  std::map<std::string, at::Tensor> export_state() const;
  // Copies what export_state() gave. Throws InputError on a missing, extra or misshapen tensor.
  void import_state(const std::map<std::string, at::Tensor>& state);
  // To be called when somebody else wrote the parameters (weights loaded from a file).
  void parameters_replaced();

 private:
  struct Step;  // the numbers of one step
  void step_slice(const FlatParameters::Entry& entry, int64_t begin, int64_t count,
                  const at::Tensor& gradient, const Step& step);
  // The flat state vectors with the suffixes of their names.
  std::vector<std::pair<std::string, at::Tensor>> parts() const;

  FlatParameters& parameters_;
  AdamWSettings settings_;
  at::Tensor first_moment_, second_moment_;  // [size]
  at::Tensor master_;                        // [size], undefined if the parameters are precise enough
  int64_t steps_ = 0;
};

// Scales `gradient` to a global 2-norm of at most `max_norm` (0: no limit) and returns the norm before. A
// norm that is not finite leaves the gradient as it is.
double clip_global_norm(at::Tensor& gradient, double max_norm);

}  // namespace bicrl
