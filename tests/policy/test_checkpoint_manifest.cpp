// A policy's files against the manifest beside them.
#include "policy/files/checkpoint_manifest.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/checkpoint_io.h"
#include "policy/files/safetensors.h"
#include "tests/policy/tokenizer/tiny_tokenizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_policy_config.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

Tokenizer tokenizer() {
  return Tokenizer::from_files({{"tokenizer.json", testing::tiny_tokenizer_json().dump()}}, "tiny");
}

void write_manifest(const fs::path& folder) {
  nlohmann::json files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const FileHash hash = hash_file(entry.path());
    files[fs::relative(entry.path(), folder).string()] = {{"bytes", hash.bytes}, {"xxh128", hash.hex}};
  }
  std::ofstream(folder / kManifestName) << nlohmann::json{{"files", files}};
}

void flip(const fs::path& path, size_t at) {
  std::string bytes = read_file(path);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("a flipped byte of a policy with a manifest is refused, unless nobody is to look") {
  const testing::TemporaryFolder folder;
  for (const bool sharded : {false, true}) {
    const fs::path where = folder.path() / (sharded ? "sharded" : "single");
    const Transformer policy =
        Transformer::random(testing::tiny_policy_config({}, 4), 3, at::kCPU, at::kFloat);
    save_policy(where, policy, tokenizer());
    if (sharded) write_safetensors_folder(where, policy.parameters(), 4'000);
    fs::create_directory(where / "trainer");
    write_file_atomically(where / "trainer" / "state.json", "{}");
    const std::string weights = sharded ? "model-00002-of" : "model.safetensors";
    fs::path file;
    for (const auto& entry : fs::directory_iterator(where))
      if (entry.path().filename().string().starts_with(weights)) file = entry.path();
    const size_t last = fs::file_size(file) - 1;  // a weight
    flip(file, last);
    CHECK_NOTHROW(load_policy(where, at::kCPU, at::kFloat));  // nothing says what was written
    flip(file, last);
    write_manifest(where);
    CHECK_NOTHROW(load_policy(where, at::kCPU, at::kFloat));
    flip(file, last);
    CHECK_THROWS_WITH(load_policy(where, at::kCPU, at::kFloat),
                      ContainsSubstring(file.filename().string()) && ContainsSubstring("damaged"));
    CHECK_NOTHROW(load_policy(where, at::kCPU, at::kFloat, /*verify=*/false));
    flip(file, last);
    // A header that cannot be read is damage before it is anything else.
    flip(file, 9);
    CHECK_THROWS_WITH(load_policy(where, at::kCPU, at::kFloat), ContainsSubstring("damaged"));
    flip(file, 9);
    flip(where / "tokenizer.json", 5);
    CHECK_THROWS_WITH(load_policy(where, at::kCPU, at::kFloat), ContainsSubstring("tokenizer.json"));
    flip(where / "tokenizer.json", 5);
    // The trainer's files are not read for a policy.
    flip(where / "trainer" / "state.json", 0);
    CHECK_NOTHROW(load_policy(where, at::kCPU, at::kFloat));
    fs::remove(where / "generation_config.json");
    CHECK_THROWS_WITH(load_policy(where, at::kCPU, at::kFloat),
                      ContainsSubstring("is missing from the checkpoint"));
  }
}

}  // namespace
}  // namespace bicrl
