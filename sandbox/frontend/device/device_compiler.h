// NVRTC in this process: CUDA text to PTX. It needs no GPU and no driver.
//
// Give it hostile text only inside a box that sees nothing but our headers: the compiler is large, reads any
// file that an #include names, shows lines of it in its log, and no limit of its own bounds its time and
// memory. It depends on nothing else of this project, so that a small boxed process can hold it.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "common/error.h"
#include "sandbox/frontend/device/device_flags.h"

namespace bicrl {

struct DeviceCompilerOptions {
  std::string library;                       // path of libnvrtc.so
  std::vector<std::string> include_folders;  // the shim's first, then the toolkit's
  std::string architecture = "compute_90";
  size_t max_ptx_bytes = size_t{32} << 20;
  size_t max_log_bytes = size_t{64} << 10;
};

// PTX, or why there is none.
struct DeviceCode {
  bool ok = false;
  std::string ptx;
  std::string log;           // errors, with lines of "cuda_sources"; cut at the limit
  std::string machine_code;  // a cubin, if the architecture is a real one
};

// Loaded once and then good for any number of compilations, by one thread at a time. The library stays
// loaded: it cannot be unloaded safely.
class DeviceCompiler {
 public:
  static Result<DeviceCompiler> load(const DeviceCompilerOptions& options);
  const std::vector<std::string>& include_folders() const { return options_.include_folders; }

  // Reads include lines once, for all texts that begin with them and are compiled under the same flags for
  // the same architecture ("": that of the options): in this process and its forks, which must find the
  // folder's files unchanged. Returns why it failed, or "". The largest headers cost 140 MB each.
  std::string precompile(const std::string& includes, const std::vector<std::string>& flags,
                         const std::string& folder, const std::string& architecture = "");

  // `text` as whole_device_text() and cut_device_text() make it; `flags` as read_device_flags() makes them.
  // For the options' architecture, or another one: of a real one such as "sm_90" there is machine code as
  // well, and the log may be the assembler's, which alone reads what stands in `asm`.
  DeviceCode compile(const std::string& text, const std::vector<std::string>& flags) const;
  DeviceCode compile(const std::string& text, const std::vector<std::string>& flags,
                     const std::string& architecture) const;
  // PTX of another architecture as that of the options'. The same as compile() makes it of a text for which
  // may_ask_for_architecture() is false.
  std::string retargeted(const std::string& ptx) const;

 private:
  using Program = void*;
  struct Interface {
    int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    int (*compile)(Program, int, const char* const*) = nullptr;
    int (*log_size)(Program, size_t*) = nullptr;
    int (*log)(Program, char*) = nullptr;
    int (*ptx_size)(Program, size_t*) = nullptr;
    int (*ptx)(Program, char*) = nullptr;
    int (*cubin_size)(Program, size_t*) = nullptr;
    int (*cubin)(Program, char*) = nullptr;
    int (*destroy)(Program*) = nullptr;
    const char* (*error_text)(int) = nullptr;
  };

  struct Precompiled {
    std::string includes;
    std::vector<std::string> flags;
    std::string folder, file, architecture;
  };

  DeviceCompiler() = default;
  // Throws nothing; destroy() the program whatever the status is, if there is one.
  int start(const std::string& text, const std::string& architecture, const std::vector<std::string>& flags,
            const std::vector<std::string>& more, Program& program) const;
  DeviceCode run(const std::string& text, const std::string& architecture,
                 const std::vector<std::string>& flags, const std::vector<std::string>& more) const;
  const Precompiled* find_precompiled(const std::string& text, const std::vector<std::string>& flags,
                                      const std::string& architecture) const;
  std::string log_of(Program program) const;  // cut at the limit
  DeviceCode collect(Program program, int status, bool with_machine_code) const;

  DeviceCompilerOptions options_;
  Interface nvrtc_;
  std::vector<Precompiled> precompiled_;
};

// The whole text, and if NVRTC refuses it, what remains of it without its host functions.
struct CompiledText {
  DeviceCode code;
  bool cut = false;  // the code is of the text without host functions
  std::string text;  // that was compiled
};
CompiledText compile_device_program(const DeviceCompiler& compiler, const std::string& cuda_source,
                                    const DeviceFlags& flags);

}  // namespace bicrl
