// The ids that a position which stayed masked cannot have drawn, as they would have been accepted, and the
// mass of all others. Compares what the sampler compared: confidences in fp32, of equal ones the position.
// Pure functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "rollout/decoding/acceptance.h"

namespace bicrl {

// Log of the mass that `mass` leaves of a distribution, as log1p: precise where little is taken. Not below
// -13.9, so that a mass which rounds to 1 leaves a finite number.
double log_complement(double mass);
at::Tensor log_complement(const at::Tensor& mass);  // differentiable; the gradient is 0 at the bound

// Where acceptance ended in a block: the threshold, or the last candidate that a quota took.
struct AcceptanceCut {
  float confidence = 0;
  int64_t offset = 0;  // of that candidate; 0 for a threshold, which no position is left of

  bool is_ahead(float other, int64_t other_offset) const {
    return other > confidence || (other == confidence && other_offset < offset);
  }
};

// Of each row the mass of the ids that were drawn among. log_probs: [rows, vocab] fp32; kept: the same, bool.
// Returns [rows] fp64.
at::Tensor kept_mass(const at::Tensor& log_probs, const at::Tensor& kept);

// Whether acceptance says anything about candidates: by lots, positions or entropies it does not.
bool accepts_by_confidence(AcceptanceStrategy strategy);

// Of a block in which candidates were accepted, at least one, and others were not. confidence, accepted:
// [block_size].
AcceptanceCut acceptance_cut(const AcceptanceSettings& settings, std::span<const float> confidence,
                             std::span<const char> accepted);

// Of positions, in their order.
struct RejectedMass {
  std::vector<std::vector<int64_t>> ids;  // that are ahead of the cut, ascending
  std::vector<float> log_masses;          // of all others; 0 if there are no such ids
};

// log_probs: [positions, vocab] fp32, whose exp() are the confidences. cuts, offsets: of each position its
// block's cut, and its offset there. kept: [positions, vocab] bool, the ids that were drawn among, of whose
// mass the masses are shares; undefined: all.
RejectedMass rejected_mass(const at::Tensor& log_probs, const std::vector<AcceptanceCut>& cuts,
                           const std::vector<int64_t>& offsets, const at::Tensor& kept = {});

}  // namespace bicrl
