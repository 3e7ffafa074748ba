#include "policy/files/adapter_io.h"

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfig = "adapter_config.json";
constexpr const char* kWeights = "adapter_model.safetensors";
constexpr const char* kPrefix = "base_model.model.";  // of names in the file
constexpr const char* kBaseChecksum = "base checksum";

std::string described(const LoraConfig& config) {
  std::string text = concat("rank ", config.rank, ", alpha ", config.alpha, ", on");
  for (const std::string& target : config.targets) text += " " + target;
  return text;
}

void check_base(const SafetensorsFile& file, const fs::path& path, const ParameterStore& base) {
  const auto found = file.metadata().find(kBaseChecksum);
  if (found == file.metadata().end()) throw InputError(concat(path.string(), ": has no ", kBaseChecksum));
  if (found->second != base.checksum())
    throw InputError(concat(path.string(),
                            ": these adapters were trained beside other frozen weights than those of this "
                            "policy; have they been changed since?"));
}

}  // namespace

AdapterFiles adapter_files(const Transformer& policy, const std::string& base,
                           const std::string& base_checksum) {
  AdapterFiles adapters{policy.lora()->to_json_text(base), base_checksum, {}};
  for (const auto& [name, value] : policy.trained().values())
    adapters.tensors.emplace_back(kPrefix + name, value);
  return adapters;
}

void save_adapters(const fs::path& folder, const AdapterFiles& adapters, FileOperations& files) {
  make_folders(folder, files);
  write_file_atomically(folder / kConfig, adapters.config, files);
  write_safetensors(folder / kWeights, adapters.tensors,
                    {{"format", "pt"}, {kBaseChecksum, adapters.base_checksum}}, files);
}

void check_adapter_config(const fs::path& folder, const LoraConfig& lora) {
  const fs::path file = folder / kConfig;
  const LoraConfig saved = LoraConfig::from_json_text(read_file(file), file.string());
  if (saved != lora)
    throw InputError(concat(file.string(), ": these adapters have ", described(saved),
                            "; the policy's would have ", described(lora)));
}

void load_adapters(const fs::path& folder, Transformer& policy) {
  BICRL_CHECK(policy.has_adapters());
  check_adapter_config(folder, *policy.lora());
  const fs::path weights = folder / kWeights;
  const SafetensorsFile file(weights);
  check_base(file, weights, policy.store());
  const NamedTensors& values = policy.trained().values();
  for (const auto& [name, value] : values) {
    const std::string key = kPrefix + name;
    if (file.shape(key) != value.sizes().vec() || file.dtype(key) != value.scalar_type())
      throw InputError(
          concat(weights.string(), ": tensor ", key, " has another shape or type than the policy's"));
    value.copy_(file.view(key));
  }
  if (file.names().size() != values.size())
    throw InputError(
        concat(weights.string(), ": has ", file.names().size(), " tensors, expected ", values.size()));
}

}  // namespace bicrl
