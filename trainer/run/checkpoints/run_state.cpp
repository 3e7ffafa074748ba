#include "trainer/run/checkpoints/run_state.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/adapter_io.h"
#include "policy/files/checkpoint_manifest.h"
#include "policy/files/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

fs::path state_file(const fs::path& checkpoint) { return checkpoint / "trainer" / "state.json"; }

constexpr const char* kWholeFile = "optimizer.safetensors";
// Metadata of a piece: its name after this, and the number of elements before it.
constexpr const char* kBegins = "begin of ";

std::string shard_file(int rank, int ranks) {
  char name[64];
  std::snprintf(name, sizeof name, "optimizer-%05d-of-%05d.safetensors", rank + 1, ranks);
  return name;
}

std::vector<fs::path> optimizer_files(const fs::path& checkpoint) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(checkpoint / "trainer", none)) {
    const std::string name = entry.path().filename().string();
    if (name == kWholeFile || (name.starts_with("optimizer-") && name.ends_with(".safetensors")))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

fs::path adapter_folder(const fs::path& checkpoint) { return checkpoint / "adapter"; }

void check_adapters_of(const fs::path& checkpoint, const std::optional<LoraConfig>& lora) {
  const bool has_adapters = fs::is_directory(adapter_folder(checkpoint));
  if (has_adapters && lora) check_adapter_config(adapter_folder(checkpoint), *lora);
  if (has_adapters == lora.has_value()) return;
  throw InputError(concat(checkpoint.string(),
                          has_adapters
                              ? ": is of a run that trains adapters (policy.lora), and cannot go on "
                                "without them"
                              : ": is of a run that trains all weights, and policy.lora cannot go on "
                                "with it",
                          "; a new run can start from its weights as policy.checkpoint"));
}

void write_run_state(const fs::path& checkpoint, const RunState& s, FileOperations& files) {
  make_folders(checkpoint / "trainer", files);
  nlohmann::json json = {{"phase", s.phase},
                         {"step", s.step},
                         {"policy_version", s.policy_version},
                         {"skipped_updates", s.skipped_updates},
                         {"ledger_round", s.ledger_round},
                         {"phase_state", s.phase_state},
                         {"curation", s.curation},
                         {"evaluations", nlohmann::json::array()},
                         {"phase_seconds", s.phase_seconds},
                         {"seconds_in_phase", s.seconds_in_phase},
                         {"log_bytes", s.log_bytes},
                         {"ranks", s.ranks}};
  if (s.placement)
    json["placement"] = {{"ranks", s.placement->ranks}, {"generators", s.placement->generators}};
  for (const EvaluationResult& result : s.evaluations) {
    nlohmann::json entry = to_json(result);
    entry["phase"] = result.phase;
    json["evaluations"].push_back(entry);
  }
  write_file_atomically(state_file(checkpoint), json.dump(2) + "\n", files);
}

std::optional<UpdaterFile> updater_file(const PolicyUpdater& updater, int rank, int ranks) {
  const bool divided = updater.state_is_divided();
  if (!divided && rank > 0) return std::nullopt;
  UpdaterFile file{.name = concat("trainer/", divided ? shard_file(rank, ranks) : kWholeFile),
                   .tensors = {},
                   .metadata = kPytorchFormat};
  const SavedState state = updater.export_state();
  for (const auto& [name, pieces] : state.tensors())
    for (const SavedState::Piece& piece : pieces) {
      file.tensors.emplace_back(name, piece.values);
      if (piece.begin > 0) file.metadata[kBegins + name] = std::to_string(piece.begin);
    }
  return file;
}

FileHash write_updater(const fs::path& checkpoint, const UpdaterFile& file, FileOperations& files) {
  make_folders((checkpoint / file.name).parent_path(), files);
  return write_safetensors(checkpoint / file.name, file.tensors, file.metadata, files);
}

RunState read_run_state(const fs::path& checkpoint) {
  const fs::path file = state_file(checkpoint);
  try {
    const auto json = nlohmann::json::parse(read_file(file));
    RunState s;
    s.phase = json.at("phase").get<int64_t>();
    s.step = json.at("step").get<int64_t>();
    s.policy_version = json.at("policy_version").get<int64_t>();
    s.skipped_updates = json.at("skipped_updates").get<int64_t>();
    s.ledger_round = json.at("ledger_round").get<int64_t>();
    s.phase_state = json.at("phase_state");
    s.curation = json.at("curation");
    for (const auto& entry : json.at("evaluations")) {
      s.evaluations.push_back(evaluation_from_json(entry));
      s.evaluations.back().phase = entry.at("phase").get<std::string>();
    }
    s.phase_seconds = json.at("phase_seconds").get<std::vector<std::pair<std::string, double>>>();
    s.seconds_in_phase = json.at("seconds_in_phase").get<double>();
    s.log_bytes = json.at("log_bytes").get<std::map<std::string, int64_t>>();
    s.ranks = json.at("ranks").get<int>();
    if (const auto placement = json.find("placement"); placement != json.end())
      s.placement = {.ranks = placement->at("ranks").get<int>(),
                     .generators = placement->at("generators").get<int>()};
    return s;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat(file.string(), ": ", error.what()));
  }
}

namespace {

int64_t begin_of(const SafetensorsFile& file, const std::string& name, const fs::path& path) {
  const auto found = file.metadata().find(kBegins + name);
  if (found == file.metadata().end()) return 0;
  const std::string& text = found->second;
  const bool number = !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == text.npos;
  if (!number) throw InputError(concat(path.string(), ": the begin of ", name, " is '", text, "'"));
  return std::stoll(text);
}

void read_optimizer(const fs::path& checkpoint, const std::function<void(SavedState)>& import) {
  std::vector<fs::path> files = optimizer_files(checkpoint);
  if (files.empty()) files = {checkpoint / "trainer" / kWholeFile};  // opening it says that it is missing
  SavedState state;
  for (const fs::path& path : files) {
    const auto opened = std::make_shared<const SafetensorsFile>(path);
    const SafetensorsFile& file = *opened;
    for (const std::string& name : file.names()) {
      // Counters are the same on all ranks.
      const bool counter = file.dtype(name) == at::kLong;
      if (counter && state.tensors().contains(name)) continue;
      state.add(name, file.view(name), begin_of(file, name, path),
                [opened](const at::Tensor& part) { opened->forget(part); });
    }
  }
  try {
    import(std::move(state));
  } catch (const InputError& error) {
    throw InputError(
        concat(files.front().string(), files.size() > 1 ? " and others" : "", ": ", error.what()));
  }
}

}  // namespace

void restore_updater(const fs::path& checkpoint, PolicyUpdater& updater) {
  read_optimizer(checkpoint, [&](SavedState state) { updater.import_state(std::move(state)); });
}

void check_updater_files(const fs::path& checkpoint) {
  if (const auto manifest = CheckpointManifest::of(checkpoint))
    manifest->check([](const std::string& name) { return name.starts_with("trainer/"); });
}

void adopt_moments(const fs::path& checkpoint, PolicyUpdater& updater) {
  if (optimizer_files(checkpoint).empty())
    throw InputError(concat("policy.moments: ", checkpoint.string(),
                            " is no checkpoint of a run: it has no trainer/optimizer.safetensors"));
  try {
    read_optimizer(checkpoint, [&](SavedState state) { updater.import_moments(std::move(state)); });
  } catch (const InputError& error) {
    throw InputError(concat("policy.moments: ", error.what(),
                            "; the run that left them must have had the same shape and policy.dtype"));
  }
}

}  // namespace bicrl
