#include "policy/files/checkpoint_io.h"

#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/checkpoint_manifest.h"
#include "policy/files/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kShardBytes = 5'000'000'000;

// The config with the weights' type, as loaders choose their own by it.
std::string config_text(const PolicyConfig& config, at::ScalarType dtype) {
  auto json = nlohmann::ordered_json::parse(config.to_json_text());
  switch (dtype) {
    case at::kFloat:
      json["torch_dtype"] = "float32";
      break;
    case at::kBFloat16:
      json["torch_dtype"] = "bfloat16";
      break;
    case at::kHalf:
      json["torch_dtype"] = "float16";
      break;
    case at::kDouble:
      json["torch_dtype"] = "float64";
      break;
    default:
      throw Error(concat("no policy is saved as ", dtype));
  }
  return json.dump(2) + "\n";
}

Transformer read_weights(const fs::path& folder, const PolicyConfig& config, at::Device device,
                         at::ScalarType dtype) {
  const SafetensorsFolder weights(folder);
  try {
    return Transformer::from_source(config, weights, device, dtype);
  } catch (const InputError& error) {
    throw InputError(concat(folder.string(), ": ", error.what()));
  }
}

}  // namespace

Transformer load_policy(const fs::path& folder, at::Device device, at::ScalarType dtype, bool verify) {
  PolicyConfig config = PolicyConfig::from_file(folder / "config.json");
  config.add_code(folder);
  return load_policy(folder, config, device, dtype, verify);
}

Transformer load_policy(const fs::path& folder, const PolicyConfig& config, at::Device device,
                        at::ScalarType dtype, bool verify) {
  std::optional<PolicyFilesCheck> check;
  if (verify) check.emplace(folder);
  try {
    Transformer policy = read_weights(folder, config, device, dtype);
    if (check) check->finish();
    return policy;
  } catch (const InputError&) {
    if (check) check->finish();  // damage says more than what follows from it
    throw;
  }
}

std::string note_on_weight_files(const fs::path& folder) {
  const std::set<std::string> read = SafetensorsFolder(folder).files();
  std::string unread;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool weights = name.ends_with(".safetensors") || name == kSafetensorsIndex;
    const bool index_of_read = name == kSafetensorsIndex && !read.contains(kSingleSafetensors);
    if (weights && !read.contains(name) && !index_of_read) unread += concat(unread.empty() ? "" : ", ", name);
  }
  if (unread.empty()) return "";
  return concat(folder.string(), ": the weights are read from ", *read.begin(),
                read.size() > 1 ? " and others" : "", ", not from ", unread,
                ", which lies beside; remove what is not meant");
}

void save_policy(const fs::path& folder, const Transformer& transformer, const Tokenizer& tokenizer) {
  save_policy(folder, transformer.config(), transformer.parameters(), merging(transformer), tokenizer,
              system_files());
}

WrittenAs merging(const Transformer& transformer) {
  if (!transformer.has_adapters()) return {};
  return [&transformer](const std::string& name, const at::Tensor&) { return transformer.merged(name); };
}

std::map<std::string, FileHash> save_policy(const fs::path& folder, const PolicyConfig& config,
                                            const NamedTensors& weights, const WrittenAs& written_as,
                                            const Tokenizer& tokenizer, FileOperations& files) {
  make_folders(folder, files);
  write_file_atomically(folder / "config.json", config_text(config, weights.front().second.scalar_type()),
                        files);
  write_file_atomically(folder / "generation_config.json", config.generation_config_text(), files);
  for (const auto& [name, text] : config.code) write_file_atomically(folder / name, text, files);
  tokenizer.save(folder, files);
  return write_safetensors_folder(folder, weights, kShardBytes, written_as, files);
}

}  // namespace bicrl
