// Tiny policies and random decode traces for the trainer's tests. To be included before Catch2.
#pragma once
#if defined(CATCH_TEST_MACROS_HPP_INCLUDED) && !defined(VLOG)
#error "include this before Catch2: torch's logging defines CHECK again, and failures would abort the program"
#endif
#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "policy/policy_config.h"
#include "policy/transformer.h"
#include "rollout/rollout.h"
#include "tests/support/adapters.h"
#include "tests/support/differences.h"
#include "trainer/update/policy_updater.h"

namespace bicrl::testing {

struct OneRank {
  SingleProcessControl control;
  SingleProcessTensors tensors;
};

constexpr int64_t kVocab = 23;  // of which the last three ids are unassigned
constexpr int64_t kAssigned = 20;
constexpr int64_t kEnd = 1;

PolicyConfig tiny_config(int64_t block_size);
Transformer tiny_policy(const PolicyConfig& config, uint64_t seed, at::ScalarType dtype = at::kDouble);
at::Tensor tiny_allowed(const PolicyConfig& config);
LoraConfig tiny_lora();  // of all projections

struct TraceShape {
  int64_t prompt_tokens = 6;
  int64_t response_blocks = 3;    // blocks that hold response tokens
  int64_t end_offset = -1;        // offset of the end token in the last block; -1: cut off by the limit
  int64_t accepted_per_step = 2;  // at most
};

// Random tokens, accepted in random order. Tokens behind the end token carry negative steps.
// Log-probabilities are random where `policy` is null, and otherwise those of a step-by-step decode with
// dense attention.
Experience random_experience(const PolicyConfig& config, const TraceShape& shape, uint64_t key,
                             double advantage, const Transformer* policy = nullptr, double temperature = 1);

// Groups of several prompt lengths (every remainder of the block size), ragged responses, end tokens
// mid-block.
std::vector<Experience> random_experiences(const PolicyConfig& config, uint64_t key,
                                           const Transformer* policy = nullptr, double temperature = 1);

// Log-probabilities [rows, vocab] of the given positions of one block: plain dense forward of context and
// block.
at::Tensor block_log_probs(const Transformer& policy, const std::vector<int64_t>& context,
                           const std::vector<int64_t>& block, double temperature);

// One step over all ranks of `control`, with the exchange that a run does for it.
UpdateStatistics reinforce(PolicyUpdater& updater, const std::vector<Experience>& mine,
                           ControlPlane& control);
UpdateStatistics supervise(PolicyUpdater& updater, const std::vector<SftSample>& mine, ControlPlane& control);
// The same on one rank.
UpdateStatistics reinforce(PolicyUpdater& updater, const std::vector<Experience>& experiences);
UpdateStatistics supervise(PolicyUpdater& updater, const std::vector<SftSample>& samples);

// Of the totals of all ranks of `control`. Collective.
UpdateStatistics over_ranks(const UpdateTotals& mine, ControlPlane& control);

// As a section of a configuration names it: "{objective: coupled}".
std::shared_ptr<const Objective> objective_of(const std::string& yaml);

UpdaterSettings still_settings();  // learning rate 0, no clip: only gradients and statistics

// The gradient of one call, by name.
struct Gradient {
  at::Tensor flat;
  UpdateStatistics statistics;
};
Gradient gradient_of(Transformer& policy, const std::vector<Experience>& experiences,
                     const UpdaterSettings& settings, const Transformer* reference = nullptr);

// All parameters one after the other in the order of Transformer::parameters(), without what lies between.
at::Tensor flat_values(const Transformer& policy);  // in their type
at::Tensor flat_adapters(const Transformer& policy);
at::Tensor flat_part(const ParameterStore& store, ParameterPart part);  // of a whole part
at::Tensor flat(const std::vector<at::Tensor>& by_parameter);
void set_flat_gradient(ParameterStore& store, const at::Tensor& flat);
void copy_parameters(const Transformer& from, Transformer& to);

// The parameters' gradients of a scalar built by `loss`, flattened likewise.
at::Tensor flat_gradient(Transformer& policy, const std::function<at::Tensor()>& loss);

}  // namespace bicrl::testing
