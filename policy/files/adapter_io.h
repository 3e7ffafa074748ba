// The adapters of a policy as a folder that the PEFT library reads: adapter_config.json and
// adapter_model.safetensors. They mean something beside the frozen parameters that they were trained with
// alone, whose checksum the weights' metadata hold. Free functions without state; two writers of one folder
// must not run at once.
#pragma once
#include <filesystem>
#include <string>

#include "policy/transformer.h"

namespace bicrl {

// What such a folder holds. The tensors are live, or copies of them.
struct AdapterFiles {
  std::string config;
  std::string base_checksum;  // ParameterStore::checksum() of the frozen parameters
  NamedTensors tensors;
};

// Of a policy that has adapters. `base`: LoraConfig::to_json_text().
AdapterFiles adapter_files(const Transformer& policy, const std::string& base,
                           const std::string& base_checksum);

// Creates the folder; each file is replaced atomically.
void save_adapters(const std::filesystem::path& folder, const AdapterFiles& adapters,
                   FileOperations& files = system_files());

// Throws InputError, with both, if what lies there has another config.
void check_adapter_config(const std::filesystem::path& folder, const LoraConfig& lora);

// Into a policy that has adapters of the same config. Throws InputError naming the file and the field or
// tensor if what lies there has another config, is not whole, or belongs to other frozen parameters.
void load_adapters(const std::filesystem::path& folder, Transformer& policy);

}  // namespace bicrl
