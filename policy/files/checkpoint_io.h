// A policy as a Hugging Face directory: config.json, safetensors, tokenizer files, generation_config.json.
// Free functions without state; two writers of one folder must not run at once.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"

namespace bicrl {

// Takes the memory of the parameters, and on the host that of one piece more (policy/files/tensor_source.h).
// Throws InputError naming the file and the field or tensor that is wrong. If the folder has a manifest
// (policy/files/checkpoint_manifest.h), its files are hashed meanwhile, and damage is an InputError as well,
// unless `verify` is false.
Transformer load_policy(const std::filesystem::path& folder, at::Device device, at::ScalarType dtype,
                        bool verify = true);
// The same with a config of the caller's (PolicyConfig::from_file) in which other tokens end a response.
Transformer load_policy(const std::filesystem::path& folder, const PolicyConfig& config, at::Device device,
                        at::ScalarType dtype, bool verify = true);

// Weights in the folder that load_policy() does not read, as others lie beside them, for a person; empty:
// none.
std::string note_on_weight_files(const std::filesystem::path& folder);

// Creates the folder. Each file is replaced atomically, weights last; a folder that is saved into again is
// consistent only when this has returned (checkpoints write to a fresh folder and rename it). Adapters are
// merged into the weights, one at a time; adapter_io.h saves them as such.
void save_policy(const std::filesystem::path& folder, const Transformer& transformer,
                 const Tokenizer& tokenizer);
// The same of weights that may be copies, in the names and the order of Transformer::parameters(). Returns
// the weights' files by name.
std::map<std::string, FileHash> save_policy(const std::filesystem::path& folder, const PolicyConfig& config,
                                            const NamedTensors& weights, const WrittenAs& written_as,
                                            const Tokenizer& tokenizer, FileOperations& files);
// Weights with their adapters, one at a time; empty if the policy has none. Refers to the policy.
WrittenAs merging(const Transformer& transformer);

}  // namespace bicrl
