#include "sandbox/frontend/host_module.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "sandbox/box/process/processor_wait.h"
#include "sandbox/frontend/compile_failure.h"
#include "sandbox/frontend/warm_compiler.h"

namespace bicrl {
namespace {

constexpr const char* kHostFolder = "/host";
constexpr const char* kModuleFile = "module.so";
constexpr uint64_t kWorkBytes = 256u << 20;

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

std::string include_line(const Prelude& prelude) { return concat("#include \"bicrl/", prelude.file, "\"\n"); }

bool begins_with(const TranslationUnit& unit, const Prelude& prelude) {
  return unit.text.starts_with(include_line(prelude));
}

// What the warm compiler has read is left out.
std::string_view without_prelude(const TranslationUnit& unit) {
  std::string_view text = unit.text;
  for (const Prelude& prelude : kPreludes)
    if (begins_with(unit, prelude)) text.remove_prefix(include_line(prelude).size());
  return text;
}

ZygoteSpec compiler_spec(const Prelude& prelude) {
  const auto folder = share_folder() / "host";
  ZygoteSpec spec;
  spec.name = "compiler";
  spec.mounts = {{folder, kHostFolder}};
  spec.program = {
      warm_compiler_command(prelude, folder, kHostFolder),
      {"PATH=/usr/bin", "LC_ALL=C", "TMPDIR=/scratch", "LD_PRELOAD=/box/libbicrl_compile_server.so"}};
  spec.starts_processes = true;
  return spec;
}

HostModule compiler_lost(const std::string& reason) {
  return {nullptr, Fault::infrastructure("compile box: " + reason)};
}

HostModule failed(FaultClass fault_class, const std::string& reason) {
  return {nullptr, Fault::of_program(fault_class, reason)};
}

const HostModule kCancelled{nullptr, Fault::infrastructure("cancelled")};
const HostModule kCompilerNonsense =
    failed(FaultClass::kCompile, "the compilation of this text gave no sound answer");

HostModule compiler_out_of_memory() {
  return failed(FaultClass::kMemory, "compilation needs more memory than its limit");
}

HostModule too_long(const HostModuleOptions& options) {
  return failed(FaultClass::kTimeout, concat("compilation took longer than ", options.cpu_s, " s"));
}

}  // namespace

HostModules::HostModules(BoxHost& host, const PythonInstall& python, const HostModuleOptions& options)
    : options_(options),
      toolchain_id_(host_toolchain_id(share_folder() / "host")),
      linker_(share_folder() / "host", kHostFolder),
      api_(InstalledApi::find(python)),
      compilers_{Zygote(host, python, compiler_spec(kPreludes[0])),
                 Zygote(host, python, compiler_spec(kPreludes[1])),
                 Zygote(host, python, compiler_spec(kPreludes[2]))},
      cache_(options.cache_bytes) {}

HostModule HostModules::compile(const SplitProgram& program, std::stop_token stop) {
  const std::string key = cache_key(program, toolchain_id_);
  if (auto known = cache_.find(key)) return *known;
  const auto flight = flights_.take(key, stop);
  if (!flight) return kCancelled;
  if (auto known = cache_.find(key)) return *known;  // who had the turn before has made it
  HostModule module = run_compiler(program, stop);
  // A linker that gets no thread aborts: processes of an earlier tenant may still count for a moment.
  // Whatever a text does, it buys another try and no more.
  if (module.linker_aborted) module = run_compiler(program, stop);
  if (!module.fault.is_infrastructure())
    cache_.insert(key, module,
                  key.size() + module.fault.reason.size() + (module.bytes ? module.bytes->size() : 0));
  return module;
}

HostModule HostModules::run_compiler(const SplitProgram& program, std::stop_token stop) {
  size_t last = 0;
  for (const TranslationUnit& unit : program.units)
    for (size_t i = last; i < kPreludes.size(); ++i)
      if (begins_with(unit, kPreludes[i])) last = i;
  Zygote& compiler = compilers_[last];
  ChildLimits limits;
  limits.cpu_s = static_cast<int>(std::ceil(options_.cpu_s));
  limits.wall_s = kBusyMachineFactor * limits.cpu_s;
  limits.memory_bytes = options_.memory_bytes;
  limits.tmp_bytes = limits.file_bytes = kWorkBytes;
  limits.frames.blob_bytes = options_.module_bytes;
  auto child = compiler.fork(limits, stop);
  if (!child) return compiler_lost(child.reason());
  const nlohmann::json request{{"kind", "compile"},
                               {"steps", linker_.commands(program.units.size(), kModuleFile)},
                               {"output", kModuleFile},
                               {"most_bytes", options_.module_bytes}};
  std::vector<std::string_view> texts;
  for (const TranslationUnit& unit : program.units) texts.push_back(without_prelude(unit));
  std::optional<Frame> answer;
  if (child.value()->send(request, texts, stop)) answer = child.value()->receive(stop);
  if (!answer) return read_end(child.value()->finish());
  compiler.dismiss(std::move(child.value()));
  try {
    return read_answer(*answer);
  } catch (const nlohmann::json::exception&) {
    return kCompilerNonsense;
  }
}

// It reads hostile text and may have been taken over by it: nothing it says is infrastructure.
HostModule HostModules::read_answer(Frame& answer) const {
  const nlohmann::json& said = answer.header;
  if (answer.blobs.size() != 1) return kCompilerNonsense;
  std::string& blob = answer.blobs.front();
  if (said.at("ok").get<bool>()) {
    if (blob.empty()) return failed(FaultClass::kCompile, "the compiled module is larger than its limit");
    return {std::make_shared<const std::string>(std::move(blob)), {}};
  }
  const int signal = said.at("signal").get<int>();
  if (signal == SIGXCPU) return too_long(options_);
  if (signal == SIGXFSZ) return failed(FaultClass::kCompile, "the compiled module is larger than its limit");
  if (mentions_exhausted_memory(blob)) return compiler_out_of_memory();
  if (signal == SIGABRT && said.at("program") != "cc1plus")
    return {nullptr, Fault::of_program(FaultClass::kCompile, "the linker aborted"), /*linker_aborted=*/true};
  if (signal != 0) return failed(FaultClass::kCompile, concat("the compiler crashed (signal ", signal, ")"));
  return {nullptr, classify_compile_failure(blob, api_)};
}

HostModule HostModules::read_end(const ChildResult& end) const {
  switch (end.end) {
    case ChildEnd::kMemory:
      return compiler_out_of_memory();
    case ChildEnd::kTimeout:
      // A compiler never sleeps: where it did not use up its CPU time, others did.
      return compiler_lost("the machine is too busy");
    case ChildEnd::kExited:
      if (end.code == box::kKilledStatus) return compiler_lost("something outside killed the compiler");
      if (end.code == box::kNoProcessStatus) return compiler_lost("no process could be started");
      return kCompilerNonsense;
    case ChildEnd::kSignalled:
    case ChildEnd::kBadFrame:
    case ChildEnd::kOutputLimit:
      return kCompilerNonsense;
    case ChildEnd::kCancelled:
      return kCancelled;
    case ChildEnd::kBoxFailed:
      break;
  }
  return compiler_lost(end.reason);
}

}  // namespace bicrl
