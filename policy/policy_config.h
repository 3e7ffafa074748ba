// Shape of an SDAR policy: the fields of config.json.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace bicrl {

struct PolicyConfig {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t intermediate_size = 0;
  double rms_norm_eps = 1e-6;
  double rope_theta = 1e6;
  double initializer_range = 0.02;
  int64_t max_position = 32768;
  bool tie_word_embeddings = false;
  int64_t block_size = 4;
  int64_t mask_token_id = -1;
  int64_t eos_token_id = -1;

  // Reads config.json; refuses what this architecture does not have (rope scaling, sliding window, biases,
  // other activations) by name. Throws InputError.
  static PolicyConfig from_file(const std::filesystem::path& config_json);
  static PolicyConfig from_json_text(const std::string& json, const std::string& name);
  std::string to_json_text() const;  // a config.json that transformers and from_file read
  int64_t parameter_count() const;
  void validate() const;  // throws InputError with the field and the value
  bool operator==(const PolicyConfig&) const = default;
};

}  // namespace bicrl
