#include "sandbox/candidate/candidate_compiler.h"

#include <algorithm>

#include "common/error.h"
#include "common/files.h"
#include "common/hash.h"
#include "sandbox/box/box.h"
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

bool mentions_exhausted_memory(const std::string& output) {
  for (const char* words :
       {"virtual memory exhausted", "out of memory", "Killed signal terminated program", "bad_alloc"})
    if (output.find(words) != std::string::npos) return true;
  return false;
}

// The compiler's driver tells how a program of its own ended.
bool mentions_exhausted_time(const std::string& output) {
  return output.find("CPU time limit exceeded signal terminated program") != std::string::npos;
}

CompileResult fault(const std::string& fault_class, const std::string& reason) {
  CompileResult result;
  result.fault_class = fault_class;
  result.reason = reason;
  return result;
}

}  // namespace

CandidateCompiler::CandidateCompiler(BoxHost& host, const CompileOptions& options)
    : host_(host),
      options_(options),
      toolchain_id_(host_toolchain_id(share_folder() / "host")),
      cache_(options.cache_bytes) {}

CompileResult CandidateCompiler::compile(const CudaProgram& program, std::stop_token stop) {
  const SplitProgram split = split_cuda_source(program);
  if (!split.issues.empty()) {
    const SplitIssue& issue = split.issues.front();
    return fault(issue.fault_class,
                 issue.line > 0 ? concat("line ", issue.line, ": ", issue.reason) : issue.reason);
  }
  const std::string key = cache_key(split, toolchain_id_);
  if (auto known = cache_.find(key)) {
    known->compile_ms = 0;
    return *known;
  }
  CompileResult result = run_compiler(split, stop);
  if (!result.infrastructure)
    cache_.insert(key, result,
                  key.size() + result.reason.size() + (result.module ? result.module->size() : 0));
  return result;
}

CompileResult CandidateCompiler::run_compiler(const SplitProgram& program, std::stop_token stop) {
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
  const bool absolute = command.output_file.starts_with("/");
  spec.exports = {{absolute ? command.output_file : concat(kWorkFolder, "/", command.output_file),
                   options_.module_bytes}};
  spec.limits.wall_s = options_.wall_s;
  spec.limits.cpu_s = static_cast<int>(options_.wall_s);
  spec.limits.memory_bytes = options_.memory_bytes;
  const BoxResult box = run_box(host_, spec, stop);

  CompileResult result;
  switch (box.end) {
    case BoxEnd::kBoxFailed:
    case BoxEnd::kCancelled:
      result.infrastructure = true;
      result.reason = box.end == BoxEnd::kCancelled ? "cancelled" : "compile box: " + box.reason;
      break;
    case BoxEnd::kTimeout:
      result = fault("timeout", concat("compilation took longer than ", options_.wall_s, " s"));
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
        result.module = std::make_shared<const std::string>(std::move(box.exported.front()));
      } else if (box.succeeded()) {
        result = fault("compile", "the compiled module is larger than its limit");
      } else if (mentions_exhausted_time(box.output)) {
        result = fault("timeout", concat("compilation took longer than ", options_.wall_s, " s"));
      } else if (mentions_exhausted_memory(box.output)) {
        result = fault("memory", "compilation needs more memory than its limit");
      } else {
        const CompileFailure failure = classify_compile_failure(box.output);
        result = fault(failure.fault_class, failure.reason);
      }
  }
  result.compile_ms = box.total_ms;
  return result;
}

}  // namespace bicrl
