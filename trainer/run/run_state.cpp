#include "trainer/run/run_state.h"

#include <functional>

#include "common/error.h"
#include "common/files.h"
#include "policy/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

fs::path state_file(const fs::path& checkpoint) { return checkpoint / "trainer" / "state.json"; }
fs::path optimizer_file(const fs::path& checkpoint) {
  return checkpoint / "trainer" / "optimizer.safetensors";
}

}  // namespace

void write_run_state(const fs::path& checkpoint, const RunState& s, const PolicyUpdater& updater) {
  fs::create_directories(checkpoint / "trainer");
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
  for (const EvaluationResult& result : s.evaluations) {
    nlohmann::json entry = to_json(result);
    entry["phase"] = result.phase;
    json["evaluations"].push_back(entry);
  }
  write_file_atomically(state_file(checkpoint), json.dump(2) + "\n");
  NamedTensors tensors;
  for (const auto& [name, tensor] : updater.export_state()) tensors.emplace_back(name, tensor);
  write_safetensors(optimizer_file(checkpoint), tensors);
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
    return s;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat(file.string(), ": ", error.what()));
  }
}

namespace {

void read_optimizer(const fs::path& checkpoint,
                    const std::function<void(std::map<std::string, at::Tensor>)>& import) {
  const SafetensorsFile file(optimizer_file(checkpoint));
  std::map<std::string, at::Tensor> state;
  for (const std::string& name : file.names()) state[name] = file.view(name);
  try {
    import(std::move(state));
  } catch (const InputError& error) {
    throw InputError(concat(optimizer_file(checkpoint).string(), ": ", error.what()));
  }
}

}  // namespace

void restore_updater(const fs::path& checkpoint, PolicyUpdater& updater) {
  read_optimizer(checkpoint, [&](auto state) { updater.import_state(std::move(state)); });
}

void adopt_moments(const fs::path& checkpoint, PolicyUpdater& updater) {
  if (!fs::exists(optimizer_file(checkpoint)))
    throw InputError(concat("policy.moments: ", checkpoint.string(),
                            " is no checkpoint of a run: it has no trainer/optimizer.safetensors"));
  try {
    read_optimizer(checkpoint, [&](auto state) { updater.import_moments(std::move(state)); });
  } catch (const InputError& error) {
    throw InputError(concat("policy.moments: ", error.what(),
                            "; the run that left them must have had the same shape and policy.dtype"));
  }
}

}  // namespace bicrl
