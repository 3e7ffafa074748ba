#include "sandbox/candidate/host_module.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"
#include "sandbox/box/box.h"
#include "sandbox/box/processor_wait.h"
#include "sandbox/candidate/host_compiler.h"

namespace bicrl {
namespace {

constexpr const char* kWorkFolder = "/job";
constexpr const char* kHostFolder = "/host";

std::string cache_key(const SplitProgram& program, const std::string& toolchain) {
  std::string joined;
  for (const auto& unit : program.units)
    joined += concat(unit.file_name, "\n", unit.text.size(), "\n", unit.text);
  return hash_hex({toolchain, joined});
}

// In the compiler's own words at the start of a line: texts of a candidate stand behind its file's name.
bool mentions_exhausted_memory(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    for (const char* words :
         {"virtual memory exhausted", "cc1plus: out of memory", "cc1plus: fatal error: out of memory",
          "terminate called after throwing an instance of 'std::bad_alloc'"})
      if (line.starts_with(words)) return true;
  return false;
}

// No limit of a box's own ends the compiler with this signal. The whole line, because a text can put a file's
// name at the start of one.
bool mentions_killer(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (line == "g++: fatal error: Killed signal terminated program cc1plus") return true;
  return false;
}

// Processes of an earlier tenant may still count for a moment; a linker that gets no thread aborts. Whatever
// a text says, it buys another try and no more.
bool mentions_missing_process(const std::string& output) {
  return output.find("fork: Resource temporarily unavailable") != std::string::npos ||
         output.find("fatal error: ld terminated with signal 6 [Aborted]") != std::string::npos;
}

// The compiler's driver tells how a program of its own ended.
bool mentions_exhausted_time(const std::string& output) {
  return output.find("CPU time limit exceeded signal terminated program") != std::string::npos;
}

// A compiler never sleeps: where it did not use up its CPU time, others did.
bool ran_out_of_clock(const BoxResult& box, const BoxLimits& limits) {
  return box.end == BoxEnd::kTimeout && box.total_ms >= limits.wall_s * 1e3;
}

HostModule fault(const std::string& fault_class, const std::string& reason) {
  return {nullptr, false, fault_class, reason};
}

HostModule too_long(const HostModuleOptions& options) {
  return fault("timeout", concat("compilation took longer than ", options.cpu_s, " s"));
}

}  // namespace

HostModules::HostModules(BoxHost& host, const HostModuleOptions& options)
    : host_(host),
      options_(options),
      toolchain_id_(host_toolchain_id(share_folder() / "host")),
      cache_(options.cache_bytes) {}

HostModule HostModules::compile(const SplitProgram& program, std::stop_token stop) {
  const std::string key = cache_key(program, toolchain_id_);
  if (auto known = cache_.find(key)) return *known;
  HostModule module = run_compiler(program, stop);
  if (!module.infrastructure)
    cache_.insert(key, module, key.size() + module.reason.size() + (module.bytes ? module.bytes->size() : 0));
  return module;
}

HostModule HostModules::run_compiler(const SplitProgram& program, std::stop_token stop) {
  const HostCompileCommand command = host_compile_command(program, kWorkFolder, kHostFolder);
  BoxSpec spec;
  spec.argv = command.argv;
  spec.env = {"PATH=/usr/bin", concat("TMPDIR=", kWorkFolder), "LC_ALL=C"};
  spec.root = SystemRoot::kToolchain;
  spec.mounts = {{share_folder() / "host", kHostFolder}};
  spec.work_folder = kWorkFolder;
  spec.work_bytes = 256ull << 20;
  for (const auto& unit : program.units)
    spec.files.emplace_back(concat(kWorkFolder, "/", unit.file_name), unit.text);
  spec.exports = {{concat(kWorkFolder, "/", command.output_file), options_.module_bytes}};
  spec.limits.cpu_s = static_cast<int>(std::ceil(options_.cpu_s));
  spec.limits.wall_s = kBusyMachineFactor * spec.limits.cpu_s;
  spec.limits.memory_bytes = options_.memory_bytes;
  BoxResult box = run_box(host_, spec, stop);
  if (mentions_missing_process(box.output)) box = run_box(host_, spec, stop);

  HostModule result;
  switch (box.end) {
    case BoxEnd::kBoxFailed:
    case BoxEnd::kCancelled:
      result.infrastructure = true;
      result.reason = box.end == BoxEnd::kCancelled ? "cancelled" : "compile box: " + box.reason;
      break;
    case BoxEnd::kTimeout:
      if (ran_out_of_clock(box, spec.limits)) {
        result.infrastructure = true;
        result.reason = "compile box: the machine is too busy";
      } else {
        result = too_long(options_);
      }
      break;
    case BoxEnd::kMemory:
      result = fault("memory", "compilation needs more memory than its limit");
      break;
    case BoxEnd::kSignalled:
      result = fault("compile", concat("the compiler crashed (signal ", box.code, ")"));
      break;
    case BoxEnd::kOutputLimit:
    case BoxEnd::kExited:
      if (box.succeeded() && !box.exported.front().empty()) {
        result.bytes = std::make_shared<const std::string>(std::move(box.exported.front()));
      } else if (box.succeeded()) {
        result = fault("compile", "the compiled module is larger than its limit");
      } else if (mentions_exhausted_time(box.output)) {
        result = too_long(options_);
      } else if (mentions_killer(box.output)) {
        result.infrastructure = true;
        result.reason = "compile box: something outside killed the compiler";
      } else if (mentions_exhausted_memory(box.output)) {
        result = fault("memory", "compilation needs more memory than its limit");
      } else {
        const CompileFailure failure = classify_compile_failure(box.output);
        result = fault(failure.fault_class, failure.reason);
      }
  }
  return result;
}

}  // namespace bicrl
