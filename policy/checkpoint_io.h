// A policy as a Hugging Face directory: config.json, safetensors, tokenizer files, generation_config.json.
// Free functions without state; two writers of one folder must not run at once.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>

#include "policy/tokenizer.h"
#include "policy/transformer.h"

namespace bicrl {

// Throws InputError naming the file and the field or tensor that is wrong.
Transformer load_policy(const std::filesystem::path& folder, at::Device device, at::ScalarType dtype);
// The same with a config of the caller's (PolicyConfig::from_file) in which other tokens end a response.
Transformer load_policy(const std::filesystem::path& folder, const PolicyConfig& config, at::Device device,
                        at::ScalarType dtype);

// Creates the folder. Each file is replaced atomically, weights last; a folder that is saved into again is
// consistent only when this has returned (checkpoints write to a fresh folder and rename it).
void save_policy(const std::filesystem::path& folder, const Transformer& transformer,
                 const Tokenizer& tokenizer);

}  // namespace bicrl
