// Checkpoint folders cut off at any byte, or with a bit flipped: an InputError that names the file, or, if
// the damage says nothing (a space at the end), exactly what the whole folder holds. Never something else.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/rng.h"
#include "policy/files/checkpoint_io.h"
#include "policy/files/safetensors.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

Tokenizer tiny_tokenizer() {
  nlohmann::json document = testing::tiny_tokenizer_json();
  document["added_tokens"] = {{{"id", 256}, {"content", "<MASK>"}, {"special", true}}};
  return Tokenizer::from_files({{"tokenizer.json", document.dump() + "\n"}}, "tiny");
}

Transformer tiny_policy() {
  PolicyConfig config;
  config.vocab_size = 257;
  config.hidden_size = 8;
  config.layers = 2;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.intermediate_size = 8;
  config.mask_token_id = 256;
  return Transformer::random(config, 5, at::kCPU, at::kFloat);
}

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::ssize(bytes));
}

bool equal(const Transformer& a, const Transformer& b) {
  if (!(a.config() == b.config()) || a.parameters().size() != b.parameters().size()) return false;
  for (size_t i = 0; i < a.parameters().size(); ++i)
    if (a.parameters()[i].first != b.parameters()[i].first ||
        !at::equal(a.parameters()[i].second, b.parameters()[i].second))
      return false;
  return true;
}

// What became of loading: "whole", "changed", or the message of an InputError. Any other exception fails.
std::string load(const fs::path& folder, const Transformer& whole, const Tokenizer* tokenizer) {
  try {
    if (!equal(load_policy(folder, at::kCPU, at::kFloat), whole)) return "changed";
    if (!tokenizer) return "whole";
    const Tokenizer loaded = Tokenizer::from_folder(folder);
    const bool same =
        loaded.size() == tokenizer->size() && loaded.encode("a<MASK>é") == tokenizer->encode("a<MASK>é");
    return same ? "whole" : "changed";
  } catch (const InputError& error) {
    return error.what();
  }
}

class Checkpoint {
 public:
  explicit Checkpoint(bool sharded) {
    save_policy(path(), policy, tokenizer);
    if (sharded) write_safetensors_folder(path(), policy.parameters(), 3'000);
  }
  fs::path path() const { return folder_.path(); }
  std::string load() const { return bicrl::load(path(), policy, &tokenizer); }
  std::string load_weights() const { return bicrl::load(path(), policy, nullptr); }

  Transformer policy = tiny_policy();
  Tokenizer tokenizer = tiny_tokenizer();

 private:
  testing::TemporaryFolder folder_;
};

// Every length for small files; for larger ones those near both ends and random ones between.
std::vector<size_t> lengths_of(size_t size) {
  std::vector<size_t> lengths;
  RandomStream random(mix_key({1, size}));
  const size_t near = size <= 700 ? size : 80;
  for (size_t n = 0; n < near; ++n) lengths.push_back(n);
  if (near < size) {
    for (int i = 0; i < 150; ++i) lengths.push_back(random.below(size));
    for (size_t n = size - near; n < size; ++n) lengths.push_back(n);
  }
  return lengths;
}

bool is_blank(std::string_view bytes) { return bytes.find_first_not_of(" \n") == bytes.npos; }

TEST_CASE("a checkpoint of which one file is cut off at any byte does not load") {
  for (const bool sharded : {false, true}) {
    const Checkpoint checkpoint(sharded);
    REQUIRE(checkpoint.load() == "whole");
    int files = 0;
    for (const auto& entry : fs::directory_iterator(checkpoint.path())) {
      const std::string name = entry.path().filename().string();
      ++files;
      const std::string bytes = read_file(entry.path());
      for (const size_t length : lengths_of(bytes.size())) {
        write(entry.path(), std::string_view(bytes).substr(0, length));
        const std::string answer = checkpoint.load();
        INFO(name << " cut to " << length << " of " << bytes.size() << " bytes: " << answer);
        if (is_blank(std::string_view(bytes).substr(length)))
          REQUIRE(answer == "whole");
        else
          REQUIRE(answer.find(name) != std::string::npos);
      }
      write(entry.path(), bytes);
    }
    CHECK(files >= (sharded ? 7 : 4));
    REQUIRE(checkpoint.load() == "whole");
  }
}

TEST_CASE("a checkpoint of which one file is missing names it") {
  for (const bool sharded : {false, true}) {
    for (const char* name :
         {"config.json", "tokenizer.json", sharded ? "model-00002-of" : "model.safetensors"}) {
      const Checkpoint checkpoint(sharded);
      for (const auto& entry : fs::directory_iterator(checkpoint.path()))
        if (entry.path().filename().string().starts_with(name)) fs::remove(entry.path());
      INFO(name << ": " << checkpoint.load());
      CHECK(checkpoint.load().find(name) != std::string::npos);
    }
  }
}

TEST_CASE("a flipped bit in a weight file's header is never loaded as other weights") {
  const Checkpoint checkpoint(false);
  const fs::path path = checkpoint.path() / "model.safetensors";
  const std::string bytes = read_file(path);
  const size_t header = 8 + static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]);
  REQUIRE(header < bytes.size());
  RandomStream random(3);
  int harmless = 0;
  for (size_t byte = 0; byte < header; ++byte) {
    const uint64_t bit = random.below(8);
    std::string damaged = bytes;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
    write(path, damaged);
    const std::string answer = checkpoint.load_weights();
    INFO("bit " << bit << " of byte " << byte << ": " << answer);
    // Only the free texts of __metadata__ may differ; they say nothing about the weights.
    if (answer == "whole")
      ++harmless;
    else
      REQUIRE(answer.find(checkpoint.path().string()) != std::string::npos);
  }
  CHECK(harmless < 20);
}

TEST_CASE("random damage to any small file is refused or changes only what that file says") {
  const Checkpoint checkpoint(true);
  RandomStream random(11);
  for (const char* name :
       {"config.json", "generation_config.json", "model.safetensors.index.json", "tokenizer.json"}) {
    const std::string bytes = read_file(checkpoint.path() / name);
    for (int round = 0; round < 400; ++round) {
      std::string damaged = bytes;
      const size_t at = random.below(bytes.size());
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
      write(checkpoint.path() / name, damaged);
      const std::string answer = checkpoint.load();
      INFO(name << ", byte " << at << ": " << answer);
      // A digit of config.json (theta, say) or another spelling in the vocabulary is a valid other policy.
      if (answer != "whole" && answer != "changed")
        REQUIRE(answer.find(checkpoint.path().string()) != answer.npos);
      if (std::string_view(name) == "model.safetensors.index.json") REQUIRE(answer != "changed");
    }
    write(checkpoint.path() / name, bytes);
  }
}

}  // namespace
}  // namespace bicrl
