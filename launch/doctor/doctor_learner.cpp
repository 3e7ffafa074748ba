#include "launch/doctor/doctor_learner.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "common/clock.h"
#include "common/files/files.h"
#include "launch/learner.h"
#include "reward/client/verifier_client.h"
#include "sandbox/box/process/command.h"

namespace bicrl {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);
constexpr double kReadSeconds = 120;

// This process's environment without what would make a child a rank of somebody's run.
std::vector<std::string> environment_of_own() {
  std::vector<std::string> kept;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string pair = *entry;
    if (!pair.starts_with("OMPI_COMM_") && !pair.starts_with("PMI")) kept.push_back(pair);
  }
  return kept;
}

Check check_verifier(VerifierClientOptions options, const std::string& address) {
  const std::string name = "verifier " + address;
  options.addresses = {address};
  VerifierClient client(options);
  const auto first = client.describe(kPatience).front();
  if (!first)
    return check_missing(name, first.reason(),
                         "start one there (`bicrl verifier`), or correct verifier.addresses");
  const Stopwatch clock;
  const auto second = client.describe(kPatience).front();
  const double round_trip_ms = std::ceil(clock.ms() * 10) / 10;
  if (!second) return check_missing(name, second.reason(), "it answered once, then no more: see its log");
  const VerifierDescription& said = second.value();
  const std::string found = concat(round_trip_ms, " ms, ", said.backend, ", ", said.workers, " workers");
  if (const std::string problem = verifier_problem(said, {}); !problem.empty())
    return check_missing(name, found, problem);
  if (said.missing_features.empty()) return check_ok(name, found);
  std::string missing;
  for (const auto& feature : said.missing_features) missing += (missing.empty() ? "" : "; ") + feature;
  return check_limited(name, found, "its sandbox lacks " + missing);
}

// Why the dry run refused, which is the last that it says: the whole document comes before.
std::string refusal_in(const std::string& output) {
  constexpr std::string_view kBegin = "\nbicrl: ";
  const std::string lines = "\n" + output;
  const size_t last = lines.rfind(kBegin);
  return last == std::string::npos ? output : lines.substr(last + kBegin.size());
}

// By TrainerSettings::placement(): the dry run is one rank, and a split run has several.
bool wants_more_ranks(const std::string& refusal) {
  return refusal.starts_with("trainer.placement: split") &&
         refusal.find("ranks, and the run has 1:") != std::string::npos;
}

}  // namespace

LearnerModule check_learner(DoctorReport& report) {
  constexpr const char* kName = "learner module";
  constexpr const char* kRemedy =
      "build this program anew with the Python environment that it shall use (launch/setup, launch/build)";
  LearnerModule module;
  const auto said = describe_learner();
  const auto json = said ? nlohmann::json::parse(said.value(), nullptr, false) : nlohmann::json();
  if (!json.is_object() || json.contains("error")) {
    const std::string reason = !said              ? said.reason()
                               : json.is_object() ? json.value("error", "")
                                                  : said.value();
    report.add(check_missing(kName, reason, kRemedy));
    return module;
  }
  module.loaded = true;
  module.built_for_cuda = json.value("cuda", false);
  module.gpus = json.value("gpus", 0);
  module.mpi_library = json.value("mpi", "");
  report.add(check_ok(kName, concat("LibTorch ", json.value("libtorch", ""), ", ",
                                    module.mpi_library.substr(0, module.mpi_library.find(',')))));
  return module;
}

void check_gpus(const LearnerModule& module, const std::string& device, DoctorReport& report) {
  const bool wanted = device == "cuda";
  if (!module.loaded || (!module.built_for_cuda && !wanted)) return;
  const auto lacking = [&](const std::string& found, const std::string& remedy) {
    report.add(wanted ? check_missing("GPUs", found, remedy) : check_limited("GPUs", found, remedy));
  };
  if (!module.built_for_cuda)
    return lacking("this program was built for the CPU only",
                   "build with BICRL_PRESET=cuda launch/build, or use policy.device=cpu");
  if (module.gpus == 0)
    return lacking("none is visible",
                   "check the driver (nvidia-smi) and CUDA_VISIBLE_DEVICES, or use policy.device=cpu");
  report.add(check_ok("GPUs", concat(module.gpus, " visible")));
}

Check check_run_configuration(const std::string& path, const std::vector<std::string>& overrides) {
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe"), "train", path,
                                   "--dry-run"};
  command.insert(command.end(), overrides.begin(), overrides.end());
  const CommandResult result = run_command(command, environment_of_own(), kReadSeconds);
  if (result.succeeded) return check_ok("configuration", path);
  const std::string said = refusal_in(result.output);
  if (wants_more_ranks(said))
    return check_limited("configuration", said,
                         "`mpirun -np N bicrl train " + path + " --dry-run` reads it with that many ranks");
  return check_missing("configuration", said.empty() ? path + " cannot be read" : said,
                       "correct it; `bicrl train " + path + " --dry-run` reads it again");
}

void check_verifiers(const VerifierClientOptions& verifiers, DoctorReport& report) {
  for (const auto& address : verifiers.addresses) try {
      report.add(check_verifier(verifiers, address));
    } catch (const InputError& error) {
      report.add(check_missing("verifier " + address, error.what(), "correct verifier.access"));
    }
}

}  // namespace bicrl
