#include "policy/files/checkpoint_manifest.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

void check_file(const fs::path& file, const FileHash& expected) {
  if (!fs::exists(file)) throw InputError(concat(file.string(), ": is missing from the checkpoint"));
  const FileHash found = hash_file(file);
  if (found.bytes != expected.bytes)
    throw InputError(
        concat(file.string(), ": is damaged: ", found.bytes, " bytes, written were ", expected.bytes));
  if (found.hex != expected.hex)
    throw InputError(concat(file.string(), ": is damaged: its bytes are not those that were written"));
}

}  // namespace

CheckpointManifest::CheckpointManifest(const fs::path& folder) : folder_(folder) {
  const fs::path path = folder / kManifestName;
  const auto manifest = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_object())
    throw InputError(concat(path.string(), ": is damaged: no list of files"));
  for (const auto& [name, expected] : manifest["files"].items()) {
    if (!expected.is_object() || !expected.value("bytes", nlohmann::json()).is_number_unsigned() ||
        !expected.value("xxh128", nlohmann::json()).is_string())
      throw InputError(concat(path.string(), ": is damaged: ", name, " has no bytes and xxh128"));
    files_[name] = {expected.value("bytes", uint64_t{0}), expected.value("xxh128", "")};
  }
}

std::optional<CheckpointManifest> CheckpointManifest::of(const fs::path& folder) {
  if (!fs::exists(folder / kManifestName)) return std::nullopt;
  return CheckpointManifest(folder);
}

void CheckpointManifest::check(const std::function<bool(const std::string& name)>& wanted) const {
  for (const auto& [name, expected] : files_)
    if (wanted(name)) check_file(folder_ / name, expected);
}

void CheckpointManifest::check_all() const {
  check([](const std::string&) { return true; });
}

PolicyFilesCheck::PolicyFilesCheck(const fs::path& folder) : manifest_(CheckpointManifest::of(folder)) {
  if (!manifest_) return;
  job_ = std::async(std::launch::async, [this] {
    manifest_->check([](const std::string& name) { return name.find('/') == std::string::npos; });
  });
}

void PolicyFilesCheck::finish() {
  if (job_.valid()) job_.get();
}

}  // namespace bicrl
