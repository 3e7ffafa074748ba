#include "sandbox/device/device_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "sandbox/device/device_text.h"

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
                                       const std::string& folder) {
  const std::string file = "headers" + std::to_string(precompiled_.size()) + ".pch";
  const DeviceCode code = run(includes, flags, {"--pch-dir=" + folder, "--create-pch=" + file});
  if (!code.ok) return code.log;
  precompiled_.push_back({includes, flags, folder, file});
  return "";
}

// The longest that fits.
const DeviceCompiler::Precompiled* DeviceCompiler::find_precompiled(
    const std::string& text, const std::vector<std::string>& flags) const {
  const Precompiled* found = nullptr;
  for (const Precompiled& one : precompiled_)
    if (one.flags == flags && text.compare(0, one.includes.size(), one.includes) == 0 &&
        (!found || found->includes.size() < one.includes.size()))
      found = &one;
  return found;
}

DeviceCode DeviceCompiler::compile(const std::string& text, const std::vector<std::string>& flags) const {
  const Precompiled* ready = find_precompiled(text, flags);
  if (!ready) return run(text, flags, {});
  return run(text, flags, {"--pch-dir=" + ready->folder, "--use-pch=" + ready->file});
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

DeviceCode DeviceCompiler::run(const std::string& text, const std::vector<std::string>& flags,
                               const std::vector<std::string>& more) const {
  Program program = nullptr;
  const int status = start(text, options_.architecture, flags, more, program);
  if (!program) return {false, "", nvrtc_.error_text(status)};
  DeviceCode code = collect(program, status);
  nvrtc_.destroy(&program);
  return code;
}

// Headers are read anew: those that were precompiled are of another architecture.
Result<std::string> DeviceCompiler::machine_code(const std::string& text,
                                                 const std::vector<std::string>& flags,
                                                 const std::string& architecture) const {
  using Reply = Result<std::string>;
  Program program = nullptr;
  int status = start(text, architecture, flags, {}, program);
  if (!program) return Reply::failure(nvrtc_.error_text(status));
  size_t bytes = 0;
  std::string cubin;
  if (!status) status = nvrtc_.cubin_size(program, &bytes);
  if (!status && bytes <= options_.max_ptx_bytes) {
    cubin.resize(bytes);
    status = nvrtc_.cubin(program, cubin.data());
  }
  const std::string log = status ? log_of(program) : "";
  nvrtc_.destroy(&program);
  if (status) return Reply::failure(log.empty() ? nvrtc_.error_text(status) : log);
  if (cubin.empty()) return Reply::failure(concat("machine code of ", bytes, " bytes"));
  return Reply(std::move(cubin));
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

DeviceCode DeviceCompiler::collect(Program program, int status) const {
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
  return code;
}

DeviceProgram compile_device_program(const DeviceCompiler& compiler, const std::string& cuda_source,
                                     const DeviceFlags& flags) {
  DeviceProgram program{{}, false, whole_device_text(cuda_source, flags.macros)};
  program.code = compiler.compile(program.text, flags.options);
  if (program.code.ok) return program;
  program.text = cut_device_text(cuda_source, flags.macros);
  program.code = compiler.compile(program.text, flags.options);
  program.cut = true;
  return program;
}

}  // namespace bicrl
