// Floating-point operations that an update needs, and what a device can do at best: together the model FLOPs
// utilisation (MFU) of Chowdhery et al., "PaLM" (2022), appendix B. Pure functions; thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "policy/lora_config.h"
#include "policy/policy_config.h"

namespace bicrl {

// Of forward and backward over so many rows, of which `scored_rows` go through the head, with so many pairs
// of a query and a key that attention's masks let through:
//   rows and scored_rows: 6 per row and value of a matrix (2 forward, 4 backward), 4 if the matrices are
//   frozen, as they need no gradient of their own;
//   pairs: 4 per pair, layer, head and dimension forward (scores, and the mean of values), and twice that
//   backward.
// What is computed again and scoring without a gradient are not counted.
double training_flops(const PolicyConfig& config, bool frozen, double rows, double scored_rows, double pairs);

// Peak of dense bf16 products by the name that the driver gives a GPU, as published in NVIDIA's data sheets;
// none for others.
std::optional<double> peak_bf16_flops(const std::string& gpu);
// Name of this host's GPUs as the driver reports it; empty if there are none or of several kinds.
std::string gpu_name();

}  // namespace bicrl
