// Compiles a program's host units to a module, in a box, and keeps what it made.
#pragma once
#include <memory>
#include <stop_token>
#include <string>

#include "common/lru_cache.h"
#include "sandbox/box/box_host.h"
#include "sandbox/candidate/splitter.h"

namespace bicrl {

struct HostModuleOptions {
  double cpu_s = 20;
  uint64_t memory_bytes = 2ull << 30;
  uint64_t module_bytes = 32ull << 20;
  size_t cache_bytes = 256u << 20;
};

struct HostModule {
  std::shared_ptr<const std::string> bytes;  // of the shared object; null on failure
  bool infrastructure = false;
  std::string fault_class, reason;
};

// Thread-safe.
class HostModules {
 public:
  HostModules(BoxHost& host, const HostModuleOptions& options);
  HostModule compile(const SplitProgram& program, std::stop_token stop = {});
  const std::string& toolchain_id() const { return toolchain_id_; }

 private:
  HostModule run_compiler(const SplitProgram& program, std::stop_token stop);
  BoxHost& host_;
  HostModuleOptions options_;
  std::string toolchain_id_;
  LruCache<HostModule> cache_;
};

}  // namespace bicrl
