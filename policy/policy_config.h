// Shape of an SDAR policy and the tokens that end its responses: the fields of config.json and
// generation_config.json.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

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
  int64_t bos_token_id = -1;  // of other programs: kept when saving; -1: not named
  // A response ends at any of them; empty: at none. The first one is the policy's own: it fills what is left
  // of a sample's last block, and ends an answer whose prompt names no other.
  std::vector<int64_t> end_token_ids;
  // What generation_config.json holds beside them, as the text of a JSON object: kept for other programs.
  std::string generation_settings = R"({"do_sample":true})";

  // Python files that describe the architecture to transformers, by name, and `auto_map`, which names their
  // classes (the text of a JSON object, or empty): kept as the source has them. An entry without its file is
  // left out, as a folder with it could not be opened.
  std::map<std::string, std::string> code;
  std::string auto_map;

  // Reads config.json, and generation_config.json if it lies beside it: a response ends at the end tokens of
  // both. What auto_map names is read as well. Refuses what this architecture does not have (rope scaling,
  // sliding window, biases, other activations) by name. Throws InputError.
  static PolicyConfig from_file(const std::filesystem::path& config_json);
  static PolicyConfig from_json_text(const std::string& json, const std::string& name);
  void add_generation_config(const std::string& json, const std::string& name);
  // Every Python file of a policy's folder. Without an auto_map, SDAR's own files get the usual one.
  void add_code(const std::filesystem::path& folder);
  std::string to_json_text() const;            // a config.json that transformers and from_file read
  std::string generation_config_text() const;  // a generation_config.json, what was read and the end tokens

  int64_t first_end_token() const;  // throws InputError if there is none
  int64_t parameter_count() const;
  void validate() const;  // throws InputError with the field and the value
  bool operator==(const PolicyConfig&) const = default;
};

}  // namespace bicrl
