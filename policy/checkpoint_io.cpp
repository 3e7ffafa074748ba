#include "policy/checkpoint_io.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"
#include "policy/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kShardBytes = 5'000'000'000;

// The config with the weights' type, as loaders choose their own by it.
std::string config_text(const Transformer& transformer) {
  auto json = nlohmann::ordered_json::parse(transformer.config().to_json_text());
  switch (transformer.dtype()) {
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
      throw Error(concat("no policy is saved as ", transformer.dtype()));
  }
  return json.dump(2) + "\n";
}

}  // namespace

Transformer load_policy(const fs::path& folder, at::Device device, at::ScalarType dtype) {
  return load_policy(folder, PolicyConfig::from_file(folder / "config.json"), device, dtype);
}

Transformer load_policy(const fs::path& folder, const PolicyConfig& config, at::Device device,
                        at::ScalarType dtype) {
  // Views of the files; the transformer's own memory is the only copy, made tensor by tensor.
  auto tensors = load_safetensors_folder(folder, at::kCPU, dtype);
  try {
    return Transformer::from_tensors(config, std::move(tensors), device, dtype);
  } catch (const InputError& error) {
    throw InputError(concat(folder.string(), ": ", error.what()));
  }
}

void save_policy(const fs::path& folder, const Transformer& transformer, const Tokenizer& tokenizer) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw Error(concat("cannot create ", folder.string(), ": ", failure.message()));
  write_file_atomically(folder / "config.json", config_text(transformer));
  write_file_atomically(folder / "generation_config.json", transformer.config().generation_config_text());
  tokenizer.save(folder);
  write_safetensors_folder(folder, transformer.parameters(), kShardBytes);
}

}  // namespace bicrl
