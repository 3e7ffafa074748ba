#include "trainer/inputs/policy_source.h"

#include <ATen/Context.h>

#include "policy/checkpoint_io.h"
#include "policy/policy_config.h"
#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace fs = std::filesystem;

PolicySource PolicySource::from_config(const ConfigSection& section, const fs::path& config_folder) {
  PolicySource source;
  const std::string checkpoint = section.text("checkpoint", "");
  const std::string config_file = section.text("config", "");
  const std::string tokenizer = section.text("tokenizer", "");
  if (checkpoint.empty() == config_file.empty())
    section.reject(
        checkpoint.empty() ? "config" : "checkpoint",
        "a policy needs either a checkpoint (a Hugging Face folder) or a config (the shape of a fresh one)");
  if (checkpoint.empty() && tokenizer.empty())
    section.reject("tokenizer", "a fresh policy needs a tokenizer folder");
  if (!checkpoint.empty())
    source.checkpoint = existing_path(section, "checkpoint", checkpoint, config_folder);
  if (!config_file.empty()) source.config_file = existing_path(section, "config", config_file, config_folder);
  if (!tokenizer.empty()) source.tokenizer = existing_path(section, "tokenizer", tokenizer, config_folder);
  source.device = section.choice("device", "cpu", {"cpu", "cuda"});
  source.moments = section.boolean("moments", false);
  if (source.moments && checkpoint.empty())
    section.reject("moments", "only the checkpoint of a run has moments to take");
  source.dtype = section.choice("dtype", "float32", {"float32", "bfloat16"});
  return source;
}

at::Device policy_device(const PolicySource& source, int local_rank) {
  if (source.device == "cpu") return at::kCPU;
  if (!at::hasCUDA())
    throw Error(
        "policy.device=cuda: this program was built for the CPU only, or no GPU is visible; build with "
        "BICRL_CUDA=ON or use policy.device=cpu",
        ExitCode::kUnavailable);
  const int gpus = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(local_rank % gpus));
}

Tokenizer load_tokenizer(const PolicySource& source) {
  return Tokenizer::from_folder(source.tokenizer.empty() ? source.checkpoint : source.tokenizer);
}

Transformer make_policy(const PolicySource& source, const Tokenizer& tokenizer, uint64_t seed,
                        int local_rank) {
  const at::Device device = policy_device(source, local_rank);
  const at::ScalarType dtype = source.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  Transformer policy =
      source.checkpoint.empty()
          ? Transformer::random(PolicyConfig::from_file(source.config_file), seed, device, dtype)
          : load_policy(source.checkpoint, device, dtype);
  const PolicyConfig& config = policy.config();
  if (tokenizer.size() > config.vocab_size)
    throw InputError(concat("the tokenizer has ids up to ", tokenizer.size() - 1,
                            ", the policy's vocabulary only ", config.vocab_size, " rows"));
  return policy;
}

}  // namespace bicrl
