#include "sandbox/frontend/candidate_compiler.h"

#include <future>

#include "common/clock.h"
#include "common/error.h"
#include "common/hash.h"
#include "sandbox/frontend/device/device_flags.h"

namespace bicrl {
namespace {

CompileResult failure(Fault fault) {
  CompileResult result;
  result.fault = std::move(fault);
  return result;
}

// The boundaries between texts, and between lists, count.
void append(const std::vector<std::string>& texts, std::string& key) {
  key += concat(texts.size(), ";");
  for (const std::string& text : texts) key += concat(text.size(), ":", text);
}

std::string device_key(const CudaProgram& program) {
  std::string all;
  append(program.cuda_sources, all);
  append(program.cuda_cflags, all);
  return hash_hex(all);
}

std::string resources_key(const std::string& device_key, const std::string& architecture) {
  return concat(architecture, ":", device_key);
}

std::string program_key(const CudaProgram& program) {
  std::string all;
  for (const ProgramTexts& part : kProgramTexts) append(program.*part.texts, all);
  return hash_hex(all);
}

size_t cost_of(const CompileResult& result) {
  return sizeof result + result.fault.reason.size() + (result.module ? result.module->size() : 0) +
         (result.ptx ? result.ptx->size() : 0);
}

// Macros stand behind the headers: as options of the compiler they would make its precompiled prelude
// useless.
void define_macros(const CudaProgram& program, SplitProgram& split) {
  const std::string lines = macro_lines(program.cuda_cflags) + macro_lines(program.cflags);
  if (lines.empty()) return;
  for (TranslationUnit& unit : split.units) {
    const size_t at = unit.text.find("#line 1 \"");
    unit.text.insert(at == std::string::npos ? 0 : at, lines);
  }
}

// Of several failures the most telling one: text that no backend can have, then what the host part lacks.
CompileResult join(const HostModule& module, const std::shared_ptr<const FrontendDevice>& device) {
  const Fault& refused = device->fault;
  if (refused.is_infrastructure() || refused.is(FaultClass::kUnsupported)) return failure(refused);
  if (!module.bytes) return failure(module.fault);
  if (refused) return failure(refused);
  CompileResult result;
  result.module = module.bytes;
  result.ptx = {device, &device->ptx};
  result.cut = device->cut;
  return result;
}

}  // namespace

size_t source_bytes(const CudaProgram& program) {
  size_t bytes = 0;
  for (const ProgramTexts& part : kProgramTexts)
    for (const std::string& text : program.*part.texts) bytes += text.size();
  return bytes;
}

CandidateCompiler::CandidateCompiler(BoxHost& host, const PythonInstall& python,
                                     const CompileOptions& options)
    : options_(options),
      modules_(host, python,
               {options.cpu_s, options.memory_bytes, options.module_bytes, options.cache_bytes}),
      toolchain_(DeviceToolchain::find(python)),
      toolchain_id_(hash_hex({modules_.toolchain_id(), toolchain_.id})),
      frontend_(host, python, toolchain_, options.frontend),
      programs_(options.cache_bytes),
      devices_(options.cache_bytes),
      resources_(options.cache_bytes / 16) {}

CompileResult CandidateCompiler::compile(const CudaProgram& program, std::stop_token stop,
                                         size_t earlier_bytes, const std::string& architecture) {
  const size_t bytes = source_bytes(program) + earlier_bytes;
  if (bytes > options_.max_source_bytes)
    return failure(Fault::of_program(
        FaultClass::kExtract, concat("the program compiles ", bytes, " bytes of text, over the limit of ",
                                     options_.max_source_bytes)));
  const std::string key = program_key(program);
  if (auto known = programs_.find(key)) return *known;
  const Stopwatch clock;
  CompileResult result = make(program, architecture, stop);
  if (!result.fault.is_infrastructure()) programs_.insert(key, result, cost_of(result));
  result.compile_ms = clock.ms();
  return result;
}

std::map<std::string, KernelResources> CandidateCompiler::resources(const CudaProgram& program,
                                                                    const std::string& architecture,
                                                                    std::stop_token stop) {
  const std::string key = device_key(program);
  if (auto known = resources_.find(resources_key(key, architecture))) return *known;
  auto job = frontend_.begin(program, /*device_code=*/true, stop, architecture);
  if (!job || job.value().split(stop).fault) return {};
  std::optional<Resources> resources;
  if (!job.value().device(stop).fault) resources = job.value().resources(stop);
  frontend_.dismiss(std::move(job.value()));
  if (!resources) return {};
  keep(key, architecture, *resources);
  return *resources;
}

void CandidateCompiler::keep(const std::string& device_key, const std::string& architecture,
                             const Resources& resources) {
  size_t bytes = sizeof resources;
  for (const auto& [entry, needs] : resources) bytes += entry.size() + sizeof needs;
  resources_.insert(resources_key(device_key, architecture), resources, bytes);
}

std::shared_ptr<const FrontendDevice> CandidateCompiler::make_device(FrontendJob& job,
                                                                     const CudaProgram& program,
                                                                     const std::string& architecture,
                                                                     std::stop_token stop) {
  const std::string key = device_key(program);
  FrontendDevice made = job.device(stop);
  // What is asked besides must cost no program its verdict.
  const bool again = made.ended && !made.fault.is_infrastructure() && !architecture.empty();
  if (again) {
    auto alone = frontend_.begin(program, /*device_code=*/true, stop);
    if (!alone)
      made.fault = Fault::infrastructure(alone.reason());
    else if (const FrontendSplit split = alone.value().split(stop); split.fault)
      made.fault = split.fault;
    else
      made = alone.value().device(stop);
    if (alone) frontend_.dismiss(std::move(alone.value()));
  }
  const auto device = std::make_shared<const FrontendDevice>(std::move(made));
  if (device->fault.is_infrastructure()) return device;
  devices_.insert(key, device, sizeof *device + device->ptx.size() + device->fault.reason.size());
  if (device->fault || architecture.empty() || again) return device;
  if (const auto resources = job.resources(stop)) keep(key, architecture, *resources);
  return device;
}

CompileResult CandidateCompiler::make(const CudaProgram& program, const std::string& architecture,
                                      std::stop_token stop) {
  std::shared_ptr<const FrontendDevice> device;
  if (auto known = devices_.find(device_key(program))) device = *known;
  auto job = frontend_.begin(program, !device, stop, architecture);
  if (!job) return failure(Fault::infrastructure(job.reason()));
  FrontendSplit split = job.value().split(stop);
  if (split.fault) return failure(split.fault);
  if (!split.program.issues.empty()) {
    frontend_.dismiss(std::move(job.value()));
    const SplitIssue& issue = split.program.issues.front();
    return failure(Fault::of_program(
        issue.fault_class, issue.line > 0 ? concat("line ", issue.line, ": ", issue.reason) : issue.reason));
  }
  define_macros(program, split.program);
  // The thread outlives its box: the future is waited for.
  auto host_part =
      std::async(std::launch::async, [this, &split, stop] { return modules_.compile(split.program, stop); });
  if (!device) device = make_device(job.value(), program, architecture, stop);
  frontend_.dismiss(std::move(job.value()));
  return join(host_part.get(), device);
}

}  // namespace bicrl
