// Compiles a program's host units to a module, and keeps what it made. A warm compiler for each prelude,
// which has read it, is forked into a box for each program (sandbox/runtimes/compiler/). Candidates of one
// group come together, and often with one host part: it is compiled once, and the others wait for it.
#pragma once
#include <array>
#include <memory>
#include <stop_token>
#include <string>

#include "common/lru_cache.h"
#include "common/single_flight.h"
#include "sandbox/box/zygote.h"
#include "sandbox/frontend/host_compiler.h"
#include "sandbox/frontend/installed_api.h"
#include "sandbox/frontend/split/splitter.h"
#include "verdict/fault/fault.h"

namespace bicrl {

struct HostModuleOptions {
  double cpu_s = 20;
  uint64_t memory_bytes = 2ull << 30;
  uint64_t module_bytes = 32ull << 20;
  size_t cache_bytes = 256u << 20;
};

struct HostModule {
  std::shared_ptr<const std::string> bytes;  // of the shared object; null on failure
  Fault fault;
  bool linker_aborted = false;  // for want of a thread, it may be: worth another try
};

// Thread-safe.
class HostModules {
 public:
  // Throws Error(kUnavailable) if there is no compiler.
  HostModules(BoxHost& host, const PythonInstall& python, const HostModuleOptions& options);
  HostModule compile(const SplitProgram& program, std::stop_token stop = {});
  const std::string& toolchain_id() const { return toolchain_id_; }

 private:
  HostModule run_compiler(const SplitProgram& program, std::stop_token stop);
  HostModule read_answer(Frame& answer) const;
  HostModule read_end(const ChildResult& end) const;
  HostModuleOptions options_;
  std::string toolchain_id_;
  ModuleLinker linker_;
  InstalledApi api_;
  std::array<Zygote, kPreludes.size()> compilers_;
  LruCache<HostModule> cache_;
  SingleFlight flights_;
};

}  // namespace bicrl
