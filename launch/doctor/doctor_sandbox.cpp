#include "launch/doctor/doctor_sandbox.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "common/clock.h"
#include "common/error.h"
#include "common/files/files.h"
#include "launch/doctor/doctor_machine.h"
#include "sandbox/box/process/command.h"
#include "sandbox/frontend/host_compiler.h"
#include "sandbox/service/canary.h"

namespace bicrl {
namespace {

constexpr uint64_t kMiB = 1u << 20;
// The scratch folder holds a module and the inputs of a few tasks: kilobytes for synthetic tasks, up to half
// a gibibyte for published ones.
constexpr uint64_t kLeastScratch_bytes = 48 * kMiB, kEnoughScratch_bytes = 512 * kMiB;

// What the probe says is missing about `feature`; empty if it says nothing.
std::string missing_text(const SandboxFeatures& features, const std::string& feature) {
  for (const auto& text : features.missing)
    if (text.starts_with(feature + ": ")) return text.substr(feature.size() + 2);
  return "";
}

bool has(const SandboxFeatures& features, const std::string& feature) {
  return std::find(features.present.begin(), features.present.end(), feature) != features.present.end();
}

Check check_bubblewrap(const SandboxFeatures& features) {
  if (features.bwrap.empty())
    return check_missing("bubblewrap", "not found",
                         "`apt-get install bubblewrap`, or name it with the key `bwrap`");
  const CommandResult result = run_command({features.bwrap, "--version"});
  if (!result.succeeded)
    return check_missing("bubblewrap", concat(features.bwrap, " does not run: ", result.output),
                         "`apt-get install --reinstall bubblewrap`");
  return check_ok("bubblewrap", concat(features.bwrap, ", ", result.output));
}

Check check_feature(const SandboxFeatures& features, const std::string& feature, const std::string& name,
                    const std::string& present) {
  if (has(features, feature)) return check_ok(name, present);
  const std::string reason = missing_text(features, feature);
  return check_missing(name, reason.empty() ? "not known, as no box can be made" : "not usable",
                       reason.empty() ? "see above" : reason);
}

// A verifier works without: boxes then have rlimits only, or share a uid.
Check check_uid(const SandboxFeatures& features) {
  if (features.as_root) return check_ok("uid per box", "each box has an unprivileged uid of its own");
  return check_limited("uid per box", "boxes run under this user's uid",
                       "start the verifier as root, and every box gets a uid of its own");
}

Check check_cgroups() {
  const CgroupTree tree;
  const std::string handed_down =
      concat(tree.has_memory() ? "memory" : "", tree.has_memory() && tree.has_pids() ? ", " : "",
             tree.has_pids() ? "processes" : "");
  const std::string found =
      tree.version() == 0 ? std::string("none") : concat("version ", tree.version(), " with ", handed_down);
  if (tree.missing().empty()) return check_ok("control groups", found);
  return check_limited("control groups", found, tree.missing());
}

Check check_compiler() {
  try {
    const HostCompiler& compiler = host_compiler();
    if (compiler.version.empty() || !isdigit(static_cast<unsigned char>(compiler.version.front())))
      return check_missing("box compiler", concat(compiler.path, " does not run: ", compiler.version),
                           "`apt-get install --reinstall g++`");
    return check_ok("box compiler", concat(compiler.path, " ", compiler.version));
  } catch (const Error& error) {
    return check_missing("box compiler", error.what(), "install g++ in /usr/bin");
  }
}

Check check_preludes() {
  const auto unusable = unusable_preludes(share_folder() / "host");
  if (unusable.empty()) return check_ok("compiled preludes", "the box compiler uses both");
  std::string names;
  for (const auto& name : unusable) names += (names.empty() ? "" : ", ") + name;
  return check_limited("compiled preludes", concat("the box compiler does not use the precompiled ", names),
                       "candidates take several times as long to compile: build this program anew");
}

Check check_python(const PipelineOptions& options) {
  try {
    const PythonInstall python = PythonInstall::find(options.python);
    return check_ok("Python of boxes", concat(python.interpreter, ", torch ", python.torch_version));
  } catch (const Error& error) {
    const std::string text = error.what();
    const size_t stop = text.find(". ");
    return check_missing("Python of boxes", text.substr(0, stop),
                         stop == std::string::npos ? "launch/setup makes one" : text.substr(stop + 2));
  }
}

Check check_backend(const BackendFeatures& backend) {
  std::string found = backend.name, missing;
  for (const auto& text : backend.present) found += "; " + text;
  for (const auto& text : backend.missing) missing += (missing.empty() ? "" : "; ") + text;
  if (missing.empty()) return check_ok("run backend", found);
  return check_limited("run backend", found, missing);
}

// `backend`: what is said of it, if there is one.
Check check_verification(const PipelineOptions& options, std::optional<Check>& backend) {
  constexpr const char* kName = "verification";
  try {
    const Stopwatch start;
    Pipeline pipeline(options);
    backend = check_backend(pipeline.backend());
    const CanaryTimes times = run_canaries(pipeline);
    const double start_s = start.seconds() - times.incorrect_ms * 1e-3;
    return check_ok(
        kName, concat("a correct program after ", std::round(start_s * 10) / 10,
                      " s with the start, an incorrect one in ", std::lround(times.incorrect_ms), " ms"));
  } catch (const Error& error) {
    const std::string text = error.what();
    const size_t last_line = text.rfind('\n');
    return check_missing(kName, text.substr(0, last_line),
                         last_line == std::string::npos ? "see above" : text.substr(last_line + 1));
  }
}

}  // namespace

void check_sandbox(const PipelineOptions& options, bool required, DoctorReport& report) {
  bool complete = true;
  const auto add = [&](Check check) {
    complete = complete && check.status != CheckStatus::kMissing;
    if (check.status == CheckStatus::kMissing && !required) check.status = CheckStatus::kLimited;
    report.add(std::move(check));
  };
  const SandboxFeatures features = SandboxFeatures::probe(options.bwrap);
  add(check_bubblewrap(features));
  add(check_feature(features, "namespaces", "namespaces", "boxes can be made"));
  add(check_feature(features, "seccomp", "seccomp", "system calls can be filtered"));
  add(check_uid(features));
  add(check_cgroups());
  const Check compiler = check_compiler();
  const bool compiles = compiler.status == CheckStatus::kOk;
  add(compiler);
  if (compiles) add(check_preludes());
  add(check_python(options));
  const auto scratch = options.scratch.empty() ? ScratchFolder::default_parent() : options.scratch;
  add(check_folder("scratch folder", scratch,
                   {kLeastScratch_bytes, kEnoughScratch_bytes,
                    "large tasks need half a GiB: name another folder with the verifier's key `scratch`, or "
                    "give a container more shared memory (docker: --shm-size=1g)"}));
  if (complete) {
    std::optional<Check> backend;
    const Check verification = check_verification(options, backend);
    if (backend) add(*backend);
    add(verification);
  } else {
    add(check_missing("verification", "not tried", "first what is missing above"));
  }
}

}  // namespace bicrl
