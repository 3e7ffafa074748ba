// Source of a policy: a checkpoint that is loaded, or a shape whose weights are drawn. Plain values and
// functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "policy/lora_config.h"
#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"
#include "policy/transformer.h"

namespace bicrl {

// Where the policy comes from: a Hugging Face folder, or fresh weights of a given shape.
struct PolicySource {
  std::filesystem::path checkpoint;   // empty: random weights
  std::filesystem::path config_file;  // shape of a random policy
  std::filesystem::path tokenizer;    // folder; empty: the checkpoint's own
  std::string device = "cpu";
  std::string dtype = "float32";
  bool verify = true;              // a checkpoint against its manifest, if it has one
  bool moments = false;            // take AdamW's moments from the checkpoint, too, which is then a run's
  std::optional<LoraConfig> lora;  // adapters to train; none: all parameters are trained
  // Tokens by their text or id at which responses end; empty: those that the policy's own files name.
  std::vector<std::string> end_tokens;

  static PolicySource from_config(const ConfigSection& section, const std::filesystem::path& config_folder);
  // Rejects what only training has a use for.
  void refuse_training(const ConfigSection& section) const;
};

// The device and type that a policy source names; `local_rank` chooses among GPUs. Throws Error
// (kUnavailable) if the device is not there.
at::Device policy_device(const PolicySource& source, int local_rank);
// Throws InputError if the source names another tokenizer beside a checkpoint than the checkpoint's own.
Tokenizer load_tokenizer(const PolicySource& source);
// The shape of the policy, with its end tokens. Throws InputError if tokenizer and policy do not fit
// together, the tokenizer has no such end token, or the policy has no room for such adapters.
PolicyConfig policy_config(const PolicySource& source, const Tokenizer& tokenizer);
// Key of the fresh weights of a run.
uint64_t weights_key(uint64_t run_seed);
// Throws InputError as well. With adapters, if there are to be any, that change nothing yet. Whatever threads
// a rank uses later, the host's cores draw or read the policy, divided among its ranks; values do not depend
// on their number.
Transformer make_policy(const PolicySource& source, const Tokenizer& tokenizer, uint64_t seed, int local_rank,
                        int ranks_on_host = 1);

}  // namespace bicrl
