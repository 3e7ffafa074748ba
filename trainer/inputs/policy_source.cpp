#include "trainer/inputs/policy_source.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <sched.h>

#include <algorithm>

#include "common/log.h"
#include "common/rng.h"
#include "policy/files/checkpoint_io.h"
#include "policy/files/checkpoint_manifest.h"
#include "policy/policy_config.h"
#include "policy/token_agreement.h"
#include "policy/tokenizer/tokenizer_files.h"
#include "rollout/decoding/engine_budget.h"
#include "trainer/inputs/existing_path.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEndTokensKey = "policy.end_tokens";

// A token by its text, or by its id: digits alone are an id.
int64_t end_token_id(const std::string& token, const Tokenizer& tokenizer) {
  const bool is_id = !token.empty() && token.find_first_not_of("0123456789") == token.npos;
  // 18 digits fit into 64 bits.
  const int64_t id = is_id ? token.size() <= 18 ? std::stoll(token) : -1 : tokenizer.id_of(token);
  if (id >= 0 && id < tokenizer.size()) return id;
  throw InputError(concat(kEndTokensKey, ": '", token, "' is ",
                          is_id ? concat("no id of the tokenizer, whose highest is ", tokenizer.size() - 1)
                                : "no token of the tokenizer; name one by its whole text or by its id"));
}

// What depends on the policy's shape is checked when that is known.
LoraConfig lora_from(const ConfigSection& section) {
  LoraConfig lora;
  lora.rank = section.integer("rank", lora.rank, 1);
  lora.alpha = section.real("alpha", lora.alpha, 0);
  lora.targets = section.texts("targets", lora.targets);
  return lora;
}

class StartingThreads {
 public:
  explicit StartingThreads(int ranks_on_host) : before_(at::get_num_threads()) {
    cpu_set_t cores;
    const int usable = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    at::set_num_threads(std::max(before_, usable / ranks_on_host));
  }
  ~StartingThreads() { at::set_num_threads(before_); }
  StartingThreads(const StartingThreads&) = delete;
  StartingThreads& operator=(const StartingThreads&) = delete;

 private:
  int before_;
};

void replace_end_tokens(const std::vector<std::string>& tokens, const Tokenizer& tokenizer,
                        PolicyConfig& config) {
  if (tokens.empty()) return;
  config.end_token_ids.clear();
  for (const std::string& token : tokens) {
    const int64_t id = end_token_id(token, tokenizer);
    if (id == config.mask_token_id)
      throw InputError(
          concat(kEndTokensKey, ": '", token, "' is the policy's MASK, which is never generated"));
    if (std::find(config.end_token_ids.begin(), config.end_token_ids.end(), id) != config.end_token_ids.end())
      throw InputError(concat(kEndTokensKey, ": '", token, "' is named twice"));
    config.end_token_ids.push_back(id);
  }
}

// A checkpoint whose tokenizer gives tokens other ids would be asked in a language that it never saw.
// `files` are those of `tokenizer`: equal ones need not be parsed again, which takes a second for 150,000
// tokens.
void require_tokenizer_of_checkpoint(const PolicySource& source, const TokenizerFiles& files,
                                     const Tokenizer& tokenizer) {
  if (source.checkpoint.empty() || source.tokenizer.empty()) return;
  TokenizerFiles own_files = load_tokenizer_files(source.checkpoint);
  if (own_files == files) return;
  if (!own_files.contains("tokenizer.json") && !own_files.contains("vocab.json")) return;
  const Tokenizer own = Tokenizer::from_files(std::move(own_files), source.checkpoint);
  for (int64_t id = 0; id < std::min(own.size(), tokenizer.size()); ++id)
    if (own.has(id) && tokenizer.has(id) && own.bytes(id) != tokenizer.bytes(id))
      throw InputError(concat("policy.tokenizer: token ", id, " of ", source.tokenizer.string(),
                              " is another one in the checkpoint's own tokenizer, in ",
                              source.checkpoint.string(), ", which policy.tokenizer=~ takes"));
}

}  // namespace

PolicySource PolicySource::from_config(const ConfigSection& section, const fs::path& config_folder) {
  PolicySource source;
  section.prefer_overridden({"checkpoint", "config"});
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
  source.end_tokens = section.texts("end_tokens");
  if (section.has("lora")) source.lora = lora_from(section.section("lora"));
  if (source.moments && source.lora)
    section.reject("moments", "adapters that are new, as with `lora`, have no moments to take");
  return source;
}

void PolicySource::refuse_training(const ConfigSection& section) const {
  for (const auto& [key, present] : {std::pair{"moments", moments}, std::pair{"lora", lora.has_value()}})
    if (present) section.reject(key, "has no effect: nothing is trained here");
}

at::Device policy_device(const PolicySource& source, int local_rank) {
  if (source.device == "cpu") return at::kCPU;
  if (!at::hasCUDA())
    throw Error(
        "policy.device=cuda: no GPU is visible (nvidia-smi, CUDA_VISIBLE_DEVICES), or this program was built "
        "for the CPU only: build with `BICRL_PRESET=cuda launch/build`, or use policy.device=cpu",
        ExitCode::kUnavailable);
  const int gpus = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(local_rank % gpus));
}

Tokenizer load_tokenizer(const PolicySource& source) {
  const fs::path& folder = source.tokenizer.empty() ? source.checkpoint : source.tokenizer;
  // Beside weights, which are checked when they are read.
  if (const auto manifest = source.verify ? CheckpointManifest::of(folder) : std::nullopt)
    manifest->check([](const std::string& name) {
      return name.find('/') == std::string::npos && !name.ends_with(".safetensors");
    });
  const TokenizerFiles files = load_tokenizer_files(folder);
  Tokenizer tokenizer = Tokenizer::from_files(files, folder);
  require_tokenizer_of_checkpoint(source, files, tokenizer);
  return tokenizer;
}

PolicyConfig policy_config(const PolicySource& source, const Tokenizer& tokenizer) {
  const fs::path file = source.checkpoint.empty() ? source.config_file : source.checkpoint / "config.json";
  PolicyConfig config = PolicyConfig::from_file(file);
  if (!source.checkpoint.empty()) config.add_code(source.checkpoint);
  if (tokenizer.size() > config.vocab_size)
    throw InputError(concat("the tokenizer has ids up to ", tokenizer.size() - 1,
                            ", the policy's vocabulary only ", config.vocab_size, " rows"));
  const std::string disagreement = token_disagreement(config, tokenizer, source.end_tokens.empty());
  if (!disagreement.empty())
    throw InputError(concat(file.string(), ": ", disagreement, ". Is the tokenizer in ",
                            (source.tokenizer.empty() ? source.checkpoint : source.tokenizer).string(),
                            " this policy's?"));
  replace_end_tokens(source.end_tokens, tokenizer, config);
  try {
    if (source.lora) source.lora->validate(config);
  } catch (const InputError& error) {
    throw InputError(concat("policy.", error.what()));
  }
  return config;
}

uint64_t weights_key(uint64_t run_seed) { return mix_key(run_seed, "weights"); }

Transformer make_policy(const PolicySource& source, const Tokenizer& tokenizer, uint64_t seed, int local_rank,
                        int ranks_on_host) {
  const at::Device device = policy_device(source, local_rank);
  const at::ScalarType dtype = source.dtype == "bfloat16" ? at::kBFloat16 : at::kFloat;
  const PolicyConfig config = policy_config(source, tokenizer);
  check_weights_fit(config, dtype, unused_device_bytes(device));
  if (!source.checkpoint.empty() && local_rank == 0)
    if (const std::string note = note_on_weight_files(source.checkpoint); !note.empty()) log_warning(note);
  const StartingThreads threads(ranks_on_host);
  Transformer policy = source.checkpoint.empty()
                           ? Transformer::random(config, seed, device, dtype)
                           : load_policy(source.checkpoint, config, device, dtype, source.verify);
  if (source.lora) policy.add_adapters(*source.lora, seed);
  return policy;
}

}  // namespace bicrl
