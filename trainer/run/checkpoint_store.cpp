#include "trainer/run/checkpoint_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kLatest = "latest";
constexpr const char* kBest = "best";
constexpr const char* kReplaced = "-replaced";  // ends the name of one that is being replaced
// Names that no checkpoint has.
constexpr std::string_view kUnfinished = ".writing-";
constexpr std::string_view kDiscarded = ".removing-";

void sync_path(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int code = errno;
  if (fd >= 0) close(fd);
  if (!synced) throw Error(concat("cannot write ", path.string(), ": ", strerror(code)));
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::rename(from, to, failure);
  if (failure)
    throw Error(concat("cannot rename ", from.string(), " to ", to.string(), ": ", failure.message()));
}

std::map<std::string, fs::path> files_of(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    if (file.is_regular_file()) files[fs::relative(file.path(), folder).string()] = file.path();
  return files;
}

void write_manifest(const fs::path& folder, const std::map<std::string, FileHash>& written) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  const std::map<std::string, fs::path> here = files_of(folder);
  for (const auto& [name, hash] : written) {
    const auto found = here.find(name);
    if (found == here.end() || fs::file_size(found->second) != hash.bytes)
      throw Error(concat("cannot write ", (folder / name).string(),
                         ": another rank wrote it, and it is not seen here; do all hosts share the folder?"));
  }
  for (const auto& [name, path] : here) {
    const auto known = written.find(name);
    const FileHash hash = known == written.end() ? hash_file(path) : known->second;
    files[name] = {{"bytes", hash.bytes}, {"xxh128", hash.hex}};
    if (known == written.end()) sync_path(path);
  }
  write_file_atomically(folder / kManifest, nlohmann::ordered_json({{"files", files}}).dump(2) + "\n");
  sync_path(folder);
}

// Runs `work` on a checkpoint's files.
void with_errors_named(const fs::path& checkpoint, const std::function<void()>& work) {
  try {
    work();
  } catch (const fs::filesystem_error& error) {
    throw Error(concat("cannot write checkpoint ", checkpoint.string(), ": ", error.code().message()));
  }
}

}  // namespace

CheckpointStore::CheckpointStore(const fs::path& folder) : folder_(folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw Error(concat("cannot create ", folder.string(), ": ", failure.message()));
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kUnfinished) || name.starts_with(kDiscarded)) fs::remove_all(entry.path(), failure);
  }
}

void CheckpointStore::save(const std::string& name, const std::function<void(const fs::path&)>& write) {
  try {
    const fs::path writing = begin(name);
    with_errors_named(folder_ / name, [&] { write(writing); });
    commit(name);
  } catch (...) {
    discard(name);
    throw;
  }
}

fs::path CheckpointStore::begin(const std::string& name, uint64_t expected_bytes) {
  const fs::path writing = folder_ / concat(kUnfinished, name);
  with_errors_named(folder_ / name, [&] {
    if (const uint64_t left = fs::space(folder_).available; left < expected_bytes)
      throw Error(concat("cannot write checkpoint ", (folder_ / name).string(), ": it needs ",
                         expected_bytes / 1'000'000, " MB, and the disk has ", left / 1'000'000, " MB left"));
    if (newest_name() == name) keep_under_another_name(name);
    fs::remove_all(writing);
    fs::create_directories(writing);
  });
  return writing;
}

void CheckpointStore::commit(const std::string& name, const std::map<std::string, FileHash>& written) {
  const fs::path writing = folder_ / concat(kUnfinished, name), old = folder_ / concat(kDiscarded, name);
  with_errors_named(folder_ / name, [&] {
    write_manifest(writing, written);
    const fs::path place = folder_ / name;
    // Nothing has the name between two renames, which no reader notices: `latest` names another one.
    if (fs::exists(place)) rename_or_throw(place, old);
    rename_or_throw(writing, place);
    sync_path(folder_);
    write_file_atomically(folder_ / kLatest, name + "\n");
    std::error_code ignored;
    fs::remove_all(old, ignored);
    fs::remove_all(folder_ / (name + kReplaced), ignored);
  });
}

void CheckpointStore::discard(const std::string& name) noexcept {
  std::error_code ignored;
  fs::remove_all(folder_ / concat(kUnfinished, name), ignored);
}

// A phase that has ended and got more steps ends again under its name. Until then its first end is the newest
// checkpoint.
void CheckpointStore::keep_under_another_name(const std::string& name) const {
  const std::string kept = name + kReplaced;
  fs::remove_all(folder_ / kept);
  fs::copy(folder_ / name, folder_ / kept, fs::copy_options::recursive);
  write_file_atomically(folder_ / kLatest, kept + "\n");
}

std::string CheckpointStore::newest_name() const { return named_by(kLatest); }

std::string CheckpointStore::named_by(const char* file) const {
  if (!fs::exists(folder_ / file)) return {};
  std::string name = read_file(folder_ / file);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "(empty)" : name;
}

std::optional<fs::path> CheckpointStore::latest() const {
  std::string name = newest_name();
  if (name.empty()) {
    // A run that is killed between its first checkpoint and the file that names it has one checkpoint, and
    // that is whole.
    const std::vector<std::string> all = names();
    if (all.empty()) return std::nullopt;
    if (all.size() > 1) {
      std::string list;
      for (const std::string& one : all) list += (list.empty() ? "" : ", ") + one;
      throw InputError(concat((folder_ / kLatest).string(), ": is missing, and there are checkpoints (", list,
                              "); write the name of one of them into it"));
    }
    name = all.front();
  }
  const fs::path place = folder_ / name;
  if (name.find('/') != std::string::npos || !fs::is_directory(place))
    throw InputError(
        concat((folder_ / kLatest).string(), " names checkpoint '", name, "', which is not there"));
  try {
    check_manifest(place);
  } catch (const InputError& error) {
    throw InputError(concat(error.what(), ". ", whole_ones_but(name)));
  }
  return place;
}

std::string CheckpointStore::whole_ones_but(const std::string& broken) const {
  std::vector<std::pair<fs::file_time_type, std::string>> others;
  for (const std::string& name : names())
    if (name != broken) others.emplace_back(fs::last_write_time(folder_ / name / kManifest), name);
  std::sort(others.rbegin(), others.rend());
  for (const auto& [time, name] : others) {
    try {
      check_manifest(folder_ / name);
    } catch (const InputError&) {
      continue;
    }
    return concat("The newest one that is whole is '", name, "': to go on from it, write its name into ",
                  (folder_ / kLatest).string());
  }
  return "No other checkpoint is whole";
}

std::vector<std::string> CheckpointStore::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.is_directory() && fs::exists(entry.path() / kManifest))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string CheckpointStore::best_name() const { return named_by(kBest); }

void CheckpointStore::mark_best() {
  with_errors_named(folder_ / kBest, [&] { write_file_atomically(folder_ / kBest, newest_name() + "\n"); });
}

void CheckpointStore::remove(const std::string& name) {
  const fs::path place = folder_ / name;
  if (newest_name() == name || best_name() == name || !fs::exists(place)) return;
  rename_or_throw(place, folder_ / concat(kDiscarded, name));
  std::error_code ignored;
  fs::remove_all(folder_ / concat(kDiscarded, name), ignored);
}

void check_manifest(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kManifest;
  const auto manifest = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_object())
    throw InputError(concat(path.string(), ": is damaged: no list of files"));
  for (const auto& [name, expected] : manifest["files"].items()) {
    if (!expected.is_object() || !expected.value("bytes", nlohmann::json()).is_number_unsigned() ||
        !expected.value("xxh128", nlohmann::json()).is_string())
      throw InputError(concat(path.string(), ": is damaged: ", name, " has no bytes and xxh128"));
    const fs::path file = checkpoint / name;
    if (!fs::exists(file)) throw InputError(concat(file.string(), ": is missing from the checkpoint"));
    const FileHash found = hash_file(file);
    const auto wanted = expected.value("bytes", uint64_t{0});
    if (found.bytes != wanted)
      throw InputError(concat(file.string(), ": is damaged: ", found.bytes, " bytes, written were ", wanted));
    if (found.hex != expected.value("xxh128", ""))
      throw InputError(concat(file.string(), ": is damaged: its bytes are not those that were written"));
  }
}

}  // namespace bicrl
