#include "sandbox/frontend/device/device_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "sandbox/frontend/device/device_text.h"

namespace bicrl {
namespace {

// NVRTC asks for its tables by their bare name when it compiles first, and the linker does not know their
// folder. What is loaded already it takes.
void load_tables_beside(const std::filesystem::path& library) {
  std::error_code failure;
  for (const auto& file : std::filesystem::directory_iterator(library.parent_path(), failure)) {
    const std::string name = file.path().filename();
    if (name.starts_with("libnvrtc-builtins.so") && name.find(".alt.") == std::string::npos)
      dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

}  // namespace

Result<DeviceCompiler> DeviceCompiler::load(const DeviceCompilerOptions& options) {
  DeviceCompiler compiler;
  compiler.options_ = options;
  load_tables_beside(options.library);
  void* library = dlopen(options.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return Result<DeviceCompiler>::failure(dlerror());
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    void* address = dlsym(library, name);
    if (!address) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  Interface& n = compiler.nvrtc_;
  find(n.create, "nvrtcCreateProgram");
  find(n.compile, "nvrtcCompileProgram");
  find(n.log_size, "nvrtcGetProgramLogSize");
  find(n.log, "nvrtcGetProgramLog");
  find(n.ptx_size, "nvrtcGetPTXSize");
  find(n.ptx, "nvrtcGetPTX");
  find(n.cubin_size, "nvrtcGetCUBINSize");
  find(n.cubin, "nvrtcGetCUBIN");
  find(n.destroy, "nvrtcDestroyProgram");
  find(n.error_text, "nvrtcGetErrorString");
  if (!missing.empty()) return Result<DeviceCompiler>::failure(options.library + " lacks " + missing);
  return compiler;
}

std::string DeviceCompiler::precompile(const std::string& includes, const std::vector<std::string>& flags,
                                       const std::string& folder, const std::string& architecture) {
  const std::string& target = architecture.empty() ? options_.architecture : architecture;
  const std::string file = "headers" + std::to_string(precompiled_.size()) + ".pch";
  const DeviceCode code = run(includes, target, flags, {"--pch-dir=" + folder, "--create-pch=" + file});
  if (!code.ok) return code.log;
  precompiled_.push_back({includes, flags, folder, file, target});
  return "";
}

// The longest that fits.
const DeviceCompiler::Precompiled* DeviceCompiler::find_precompiled(const std::string& text,
                                                                    const std::vector<std::string>& flags,
                                                                    const std::string& architecture) const {
  const Precompiled* found = nullptr;
  for (const Precompiled& one : precompiled_)
    if (one.architecture == architecture && one.flags == flags &&
        text.compare(0, one.includes.size(), one.includes) == 0 &&
        (!found || found->includes.size() < one.includes.size()))
      found = &one;
  return found;
}

DeviceCode DeviceCompiler::compile(const std::string& text, const std::vector<std::string>& flags) const {
  return compile(text, flags, options_.architecture);
}

DeviceCode DeviceCompiler::compile(const std::string& text, const std::vector<std::string>& flags,
                                   const std::string& architecture) const {
  const Precompiled* ready = find_precompiled(text, flags, architecture);
  if (!ready) return run(text, architecture, flags, {});
  return run(text, architecture, flags, {"--pch-dir=" + ready->folder, "--use-pch=" + ready->file});
}

std::string DeviceCompiler::retargeted(const std::string& ptx) const {
  // Behind comments and the version; a candidate's text comes later.
  constexpr std::string_view kDirective = "\n.target ";
  const size_t at = ptx.find(kDirective);
  const size_t begin = at == std::string::npos ? ptx.size() : at + kDirective.size();
  const size_t end = ptx.find('\n', begin);
  if (end == std::string::npos) return ptx;
  const std::string target = "sm_" + options_.architecture.substr(options_.architecture.find('_') + 1);
  return ptx.substr(0, begin) + target + ptx.substr(end);
}

int DeviceCompiler::start(const std::string& text, const std::string& architecture,
                          const std::vector<std::string>& flags, const std::vector<std::string>& more,
                          Program& program) const {
  // -w: a log shall hold errors alone. -lineinfo: faults and counters name lines of the text.
  std::vector<std::string> words = {
      "-arch=" + architecture, "-default-device", "--device-int128", "-lineinfo", "-w",
      "--pch-messages=false"};
  for (const std::string& folder : options_.include_folders) words.push_back("-I" + folder);
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), more.begin(), more.end());
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  if (const int status = nvrtc_.create(&program, text.c_str(), "cuda_sources", 0, nullptr, nullptr))
    return status;
  return nvrtc_.compile(program, static_cast<int>(pointers.size()), pointers.data());
}

DeviceCode DeviceCompiler::run(const std::string& text, const std::string& architecture,
                               const std::vector<std::string>& flags,
                               const std::vector<std::string>& more) const {
  Program program = nullptr;
  const int status = start(text, architecture, flags, more, program);
  if (!program) return {false, "", nvrtc_.error_text(status), ""};
  DeviceCode code = collect(program, status, architecture.starts_with("sm_"));
  nvrtc_.destroy(&program);
  return code;
}

std::string DeviceCompiler::log_of(Program program) const {
  std::string log;
  size_t bytes = 0;
  // Sizes count the zero at the end.
  if (nvrtc_.log_size(program, &bytes) || bytes <= 1) return log;
  log.resize(bytes);
  if (nvrtc_.log(program, log.data())) log.clear();
  log.resize(std::min(log.size() - !log.empty(), options_.max_log_bytes));
  return log;
}

DeviceCode DeviceCompiler::collect(Program program, int status, bool with_machine_code) const {
  DeviceCode code;
  size_t bytes = 0;
  code.log = log_of(program);
  if (status) {
    if (code.log.empty()) code.log = nvrtc_.error_text(status);
    return code;
  }
  if (nvrtc_.ptx_size(program, &bytes) || bytes == 0) {
    code.log += "there is no PTX";
    return code;
  }
  if (bytes > options_.max_ptx_bytes) {
    code.log = "the device code is too large: " + std::to_string(bytes) + " bytes of PTX";
    return code;
  }
  code.ptx.resize(bytes);
  code.ok = nvrtc_.ptx(program, code.ptx.data()) == 0;
  code.ptx.resize(code.ok ? bytes - 1 : 0);
  if (!with_machine_code || !code.ok) return code;
  code.ok = !nvrtc_.cubin_size(program, &bytes) && bytes > 0 && bytes <= options_.max_ptx_bytes;
  code.machine_code.resize(code.ok ? bytes : 0);
  code.ok = code.ok && !nvrtc_.cubin(program, code.machine_code.data());
  if (!code.ok) code.log = "there is no machine code, or too much";
  return code;
}

CompiledText compile_device_program(const DeviceCompiler& compiler, const std::string& cuda_source,
                                    const DeviceFlags& flags) {
  CompiledText program{{}, false, whole_device_text(cuda_source, flags.macros)};
  program.code = compiler.compile(program.text, flags.options);
  if (program.code.ok) return program;
  program.text = cut_device_text(cuda_source, flags.macros);
  program.code = compiler.compile(program.text, flags.options);
  program.cut = true;
  return program;
}

}  // namespace bicrl
