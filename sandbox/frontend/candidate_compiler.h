// From the CUDA text of a candidate to a loadable host module and PTX, and how this folder works.
//
// The recorder calls CandidateCompiler::compile() with what a program hands to load_inline, while the
// program's Python waits in its box. The CUDA front end (frontend_process.h) runs the splitter (splitter.h;
// its parts are splitter_features, _rewrite and _diagnostics), which turns the text into C++ for the host
// part's headers or names the class of a fault that needs no compiler, and then NVRTC
// (sandbox/frontend/device), whose files device_toolchain.h finds. Meanwhile host_module.h has the host units
// compiled in a fork of a warm compiler, with the arguments of host_compiler.h. Nothing of a candidate is
// executed here.
#pragma once
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "common/lru_cache.h"
#include "sandbox/frontend/device_toolchain.h"
#include "sandbox/frontend/frontend_process.h"
#include "sandbox/frontend/host_module.h"
#include "sandbox/frontend/split/splitter.h"
#include "verdict/fault/fault.h"

namespace bicrl {

struct CompileOptions {
  double cpu_s = 20;                   // of the host compiler
  uint64_t memory_bytes = 2ull << 30;  // of the host compiler
  uint64_t module_bytes = 32ull << 20;
  size_t cache_bytes = 256u << 20;              // of each cache
  size_t max_source_bytes = size_t{256} << 10;  // of all load_inline calls of a program together
  FrontendOptions frontend;
};

struct CompileResult {
  std::shared_ptr<const std::string> module;  // bytes of the shared object; null on failure
  std::shared_ptr<const std::string> ptx;     // null on failure
  bool cut = false;                           // the PTX is of the text without its host functions
  Fault fault;                                // infrastructure: a box failed, the text may be good
  double compile_ms = 0;                      // 0 if all of it was known
};

// What counts toward max_source_bytes.
size_t source_bytes(const CudaProgram& program);

// Content-addressed, so that equal texts, and equal halves of different ones, are compiled once. Thread-safe;
// owned by the pipeline.
class CandidateCompiler {
 public:
  // Throws Error(kUnavailable), with the remedy, if a compiler or its headers are missing.
  CandidateCompiler(BoxHost& host, const PythonInstall& python, const CompileOptions& options);
  // `earlier_bytes`: source_bytes() of the program's load_inline calls before this one. `architecture`: for
  // which resources() will be asked, or "". They cost less together.
  CompileResult compile(const CudaProgram& program, std::stop_token stop = {}, size_t earlier_bytes = 0,
                        const std::string& architecture = "");
  // What the kernels of a program that compiles need on an architecture such as "sm_90", by entry; empty if
  // that cannot be known.
  std::map<std::string, KernelResources> resources(const CudaProgram& program,
                                                   const std::string& architecture,
                                                   std::stop_token stop = {});
  const std::string& toolchain_id() const { return toolchain_id_; }
  const Zygote& frontend_zygote() const { return frontend_.zygote(); }

 private:
  using Resources = std::map<std::string, KernelResources>;
  CompileResult make(const CudaProgram& program, const std::string& architecture, std::stop_token stop);
  std::shared_ptr<const FrontendDevice> make_device(FrontendJob& job, const CudaProgram& program,
                                                    const std::string& architecture, std::stop_token stop);
  void keep(const std::string& device_key, const std::string& architecture, const Resources& resources);
  CompileOptions options_;
  HostModules modules_;
  DeviceToolchain toolchain_;
  std::string toolchain_id_;
  FrontendProcess frontend_;
  LruCache<CompileResult> programs_;
  LruCache<std::shared_ptr<const FrontendDevice>> devices_;
  LruCache<Resources> resources_;
};

}  // namespace bicrl
