// Loading or drawing the policy that a configuration names.
#include <ATen/Context.h>

#include "policy/checkpoint_io.h"
#include "policy/policy_config.h"
#include "trainer/training_run.h"

namespace bicrl {

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
