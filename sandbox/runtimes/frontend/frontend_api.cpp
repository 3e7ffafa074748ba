#include "sandbox/runtimes/frontend/frontend_api.h"

#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sandbox/frontend/device/cubin_resources.h"
#include "sandbox/frontend/device/device_compiler.h"
#include "sandbox/frontend/device/device_flags.h"
#include "sandbox/frontend/device/device_headers.h"
#include "sandbox/frontend/device/device_log.h"
#include "sandbox/frontend/device/device_text.h"
#include "sandbox/frontend/device/host_calls.h"
#include "sandbox/frontend/split/splitter.h"

namespace bicrl {
namespace {

using nlohmann::json;

// Headers under flags.
struct Set {
  CommonIncludes includes;
  std::vector<std::string> flags;
  bool done = false;
};

// What is cheap has a set under the other usual flags, too.
std::vector<Set> all_sets() {
  const auto usual = read_device_flags({}).options;
  const auto fast = read_device_flags({"--use_fast_math"}).options;
  const auto operators =
      read_device_flags({"-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__",
                         "-U__CUDA_NO_HALF2_OPERATORS__", "-U__CUDA_NO_BFLOAT16_CONVERSIONS__"})
          .options;
  std::vector<Set> sets;
  for (const CommonIncludes& includes : common_includes()) {
    sets.push_back({includes, usual});
    if (!includes.word.empty()) continue;
    sets.push_back({includes, fast});
    sets.push_back({includes, operators});
  }
  return sets;
}

struct Frontend {
  std::optional<DeviceCompiler> compiler;
  std::string pch_folder;
  std::vector<Set> sets = all_sets();
  std::string said, header, blob;
  CompiledText compiled;  // the last one, whose PTX is the blob,
  DeviceFlags flags;      // and its flags
};

Frontend& frontend() {
  static Frontend one;
  return one;
}

void answer_with(const json& header, std::string blob, FrontendAnswer* answer) {
  Frontend& f = frontend();
  f.header = header.dump(-1, ' ', false, json::error_handler_t::replace);
  f.blob = std::move(blob);
  *answer = {f.header.data(), f.header.size(), f.blob.data(), f.blob.size()};
}

CudaProgram read_program(const char* program, size_t bytes) {
  return read_cuda_program(json::parse(program, program + bytes));
}

json split(const CudaProgram& program) {
  const SplitProgram split = split_cuda_source(program);
  json header{{"kind", "split"}, {"issues", json::array()}, {"units", json::array()}};
  for (const SplitIssue& issue : split.issues)
    header["issues"].push_back(
        {{"class", to_string(issue.fault_class)}, {"reason", issue.reason}, {"line", issue.line}});
  for (const TranslationUnit& unit : split.units)
    header["units"].push_back({{"file_name", unit.file_name}, {"text", unit.text}});
  return header;
}

json refusal(FaultClass fault_class, const std::string& reason) {
  return {{"kind", "device"}, {"ok", false}, {"class", to_string(fault_class)}, {"reason", reason}};
}

json refused_by_compiler(const std::string& log) {
  for (const char* words : {"out of memory", "OUT_OF_MEMORY", "memory allocation fail", "bad_alloc"})
    if (log.find(words) != std::string::npos)
      return refusal(FaultClass::kMemory, "the device code needs more memory to compile than its limit");
  return refusal(FaultClass::kCompile, readable_device_log(log, frontend().compiler->include_folders()));
}

// One pass of NVRTC for PTX and machine code of another architecture, where the PTX is the same for both.
// What speaks against it is found and reported without it.
bool compile_together(const std::string& text, const DeviceFlags& flags, const std::string& architecture) {
  Frontend& f = frontend();
  if (architecture.empty() || flags.options != read_device_flags({}).options ||
      may_ask_for_architecture(text))
    return false;
  f.compiled = {f.compiler->compile(text, flags.options, architecture), false, text};
  f.compiled.code.ptx = f.compiler->retargeted(f.compiled.code.ptx);
  return f.compiled.code.ok;
}

// {entry: [registers, bytes of stack]}. Machine code is made to look at; where it cannot be, nothing is
// known.
json resources(const std::string& architecture) {
  Frontend& f = frontend();
  std::string& cubin = f.compiled.code.machine_code;
  if (cubin.empty()) cubin = f.compiler->compile(f.compiled.text, f.flags.options, architecture).machine_code;
  json known = json::object();
  const auto kernels = read_cubin_resources(cubin);
  if (!kernels) return known;
  for (const auto& [entry, kernel] : kernels.value()) known[entry] = {kernel.registers, kernel.stack_bytes};
  return known;
}

// NVRTC copies inline assembly to its PTX unread. The PTX interpreter takes more of it than a device's
// assembler, which refuses vectors that no load has and registers of the wrong type. The architecture has all
// instructions; what the interpreter lacks of them is for it to say.
constexpr const char* kAssembler = "sm_90a";

bool has_assembly(const std::string& source) {
  const TokenText text(source);
  for (size_t i = 0; i < text.size(); ++i)
    if (text.is_identifier(i) && (text.is(i, "asm") || text.is(i, "__asm__") || text.is(i, "__asm")))
      return true;
  return false;
}

json device(const CudaProgram& program, const std::string& architecture, std::string& ptx) {
  const std::string source = join_cuda_sources(program.cuda_sources);
  if (const std::string feature = unsupported_device_feature(source); !feature.empty())
    return refusal(FaultClass::kUnsupported, feature);
  const DeviceFlags& flags = frontend().flags = read_device_flags(program.cuda_cflags);
  if (!flags.refused.empty()) return refusal(FaultClass::kUnsupported, "extra_cuda_cflags: " + flags.refused);
  if (const std::string call = host_call_in_device_code(source); !call.empty())
    return refusal(FaultClass::kCompile, call);
  CompiledText& compiled = frontend().compiled;
  if (!compile_together(whole_device_text(source, flags.macros), flags, architecture))
    compiled = compile_device_program(*frontend().compiler, source, flags);
  if (!compiled.code.ok) return refused_by_compiler(compiled.code.log);
  if (has_assembly(source)) {
    const DeviceCode made = frontend().compiler->compile(compiled.text, flags.options, kAssembler);
    if (!made.ok) return refused_by_compiler(made.log);
  }
  ptx = std::move(compiled.code.ptx);
  return {{"kind", "device"}, {"ok", true}, {"cut", compiled.cut}};
}

}  // namespace
}  // namespace bicrl

extern "C" {

const char* bicrl_frontend_load(const char* options) {
  using namespace bicrl;
  Frontend& f = frontend();
  const json read = json::parse(options);
  DeviceCompilerOptions compiler;
  compiler.library = read.at("library");
  compiler.include_folders = read.at("include_folders").get<std::vector<std::string>>();
  compiler.max_ptx_bytes = read.at("max_ptx_bytes");
  f.pch_folder = read.at("pch_folder");
  auto loaded = DeviceCompiler::load(compiler);
  f.said = loaded ? "" : loaded.reason();
  if (loaded) f.compiler = std::move(loaded.value());
  return f.said.c_str();
}

const char* bicrl_frontend_precompile(const char* word) {
  using namespace bicrl;
  Frontend& f = frontend();
  f.said.clear();
  if (const std::string architecture = word; architecture.starts_with("sm_")) {
    const auto usual = read_device_flags({}).options;
    for (const CommonIncludes& includes : common_includes())
      if (includes.word.empty() && f.said.empty())
        f.said = f.compiler->precompile(includes.lines, usual, f.pch_folder, architecture);
    return f.said.c_str();
  }
  for (Set& set : f.sets) {
    if (set.done || set.includes.word != word || !f.said.empty()) continue;
    f.said = f.compiler->precompile(set.includes.lines, set.flags, f.pch_folder);
    set.done = true;
  }
  return f.said.c_str();
}

void bicrl_frontend_split(const char* program, size_t bytes, FrontendAnswer* answer) {
  using namespace bicrl;
  answer_with(split(read_program(program, bytes)), "", answer);
}

void bicrl_frontend_device(const char* program, size_t bytes, FrontendAnswer* answer) {
  using namespace bicrl;
  std::string ptx;
  json header;
  try {
    const json request = json::parse(program, program + bytes);
    header = device(read_cuda_program(request), request.at("architecture"), ptx);
  } catch (const std::bad_alloc&) {
    header = refused_by_compiler("out of memory");
  }
  answer_with(header, std::move(ptx), answer);
}

void bicrl_frontend_resources(const char* architecture, FrontendAnswer* answer) {
  using namespace bicrl;
  json known = json::object();
  try {
    known = resources(architecture);
  } catch (const std::bad_alloc&) {
  }
  answer_with({{"kind", "resources"}, {"resources", std::move(known)}}, "", answer);
}
}
