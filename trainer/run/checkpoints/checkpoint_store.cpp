#include "trainer/run/checkpoints/checkpoint_store.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "policy/files/checkpoint_manifest.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLatest = "latest";
constexpr const char* kBest = "best";
// Ends the name of the latest one while one of its name replaces it: when a phase that has ended gets more
// steps and ends again, say.
constexpr std::string_view kReplaced = "-replaced";
// Names that no checkpoint has.
constexpr std::string_view kUnfinished = ".writing-";
constexpr std::string_view kDiscarded = ".removing-";

std::map<std::string, fs::path> files_of(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    if (file.is_regular_file()) files[fs::relative(file.path(), folder).string()] = file.path();
  return files;
}

// Syncs every name in the folder, and the files that are not among `written`.
void write_manifest(const fs::path& folder, const std::map<std::string, FileHash>& written,
                    FileOperations& operations) {
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
    if (known == written.end()) sync_path(path, operations);
  }
  write_file_atomically(folder / kManifestName, nlohmann::ordered_json({{"files", files}}).dump(2) + "\n",
                        operations);
  sync_folders(folder, operations);
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

CheckpointStore::CheckpointStore(const fs::path& folder, FileOperations& files)
    : folder_(folder), files_(files) {
  make_folders(folder, files_);
  with_errors_named(folder_, [&] { remove_leftovers(); });
  // What else of the run lies beside the checkpoints is to be there if they are.
  sync_path(fs::absolute(folder_).parent_path(), files_);
}

void CheckpointStore::remove_leftovers() const {
  const std::string newest = newest_name();
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool replaced = name.ends_with(kReplaced) && name != newest;
    if (name.starts_with(kUnfinished) || name.starts_with(kDiscarded) || replaced ||
        name.find(".tmp.") != std::string::npos)
      leftovers.push_back(entry.path());
  }
  for (const fs::path& one : leftovers) remove_tree(one, files_);
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
  if (removals_.valid()) removals_.wait();  // for the room that they make
  with_errors_named(folder_ / name, [&] {
    if (const uint64_t left = fs::space(folder_).available; left < expected_bytes)
      throw Error(concat("cannot write checkpoint ", (folder_ / name).string(), ": it needs ",
                         expected_bytes / 1'000'000, " MB, and the disk has ", left / 1'000'000, " MB left"));
    remove_tree(writing, files_);
    make_folders(writing, files_);
  });
  return writing;
}

void CheckpointStore::commit(const std::string& name, const std::map<std::string, FileHash>& written) {
  const fs::path writing = folder_ / concat(kUnfinished, name), place = folder_ / name;
  with_errors_named(place, [&] {
    write_manifest(writing, written, files_);
    // The one of this name that there is stays the latest, under another name (newest_name() knows it by
    // either), until the new one is in its place.
    const bool replaces = fs::exists(place), replaces_latest = replaces && newest_name() == name;
    const fs::path old = folder_ / (replaces_latest ? concat(name, kReplaced) : concat(kDiscarded, name));
    if (replaces) remove_tree(old, files_);
    if (replaces_latest) point(kLatest, old.filename().string());
    if (replaces) rename_path(place, old, files_);
    rename_path(writing, place, files_);
    sync_path(folder_, files_);
    point(kLatest, name);
    remove_tree(folder_ / concat(kDiscarded, name), files_);
    remove_tree(folder_ / concat(name, kReplaced), files_);
  });
}

void CheckpointStore::discard(const std::string& name) noexcept {
  remove_tree(folder_ / concat(kUnfinished, name), files_);
}

void CheckpointStore::point(const char* file, const std::string& name) const {
  write_file_atomically(folder_ / file, name + "\n", files_);
  sync_path(folder_, files_);
}

std::string CheckpointStore::newest_name() const {
  std::string name = named_by(kLatest);
  // Named so before it was renamed.
  if (name.ends_with(kReplaced) && !fs::exists(folder_ / name)) name.resize(name.size() - kReplaced.size());
  return name;
}

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
    if (name != broken) others.emplace_back(fs::last_write_time(folder_ / name / kManifestName), name);
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
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool in_work = name.starts_with(kUnfinished) || name.starts_with(kDiscarded);
    if (!in_work && entry.is_directory() && fs::exists(entry.path() / kManifestName)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string CheckpointStore::best_name() const { return named_by(kBest); }

void CheckpointStore::mark_best() {
  with_errors_named(folder_ / kBest, [&] { point(kBest, newest_name()); });
}

void CheckpointStore::remove(const std::string& name) {
  const fs::path place = folder_ / name;
  if (newest_name() == name || best_name() == name || !fs::exists(place)) return;
  const fs::path discarded = folder_ / concat(kDiscarded, name);
  remove_tree(discarded, files_);
  rename_path(place, discarded, files_);
  sync_path(folder_, files_);  // else a power cut could leave a part of it under its name
  // Tens of gigabytes in the page cache take seconds to go.
  removals_ = std::async(std::launch::async, [this, discarded, before = std::move(removals_)] {
    if (before.valid()) before.wait();
    remove_tree(discarded, files_);
  });
}

std::string newest_checkpoint(const fs::path& folder) {
  std::ifstream file(folder / kLatest);
  std::string name;
  if (!std::getline(file, name) || name.empty()) return "";
  if (name.ends_with(kReplaced) && !fs::exists(folder / name)) name.resize(name.size() - kReplaced.size());
  return (folder / name).string();
}

void check_manifest(const fs::path& checkpoint) { CheckpointManifest(checkpoint).check_all(); }

}  // namespace bicrl
