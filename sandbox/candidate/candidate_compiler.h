// From the CUDA text of a candidate to a loadable module, and how this folder works.
//
// The recorder calls CandidateCompiler::compile() with what a program hands to load_inline, while the
// program's Python waits in its box. The splitter (splitter.h; its parts are splitter_tokens, _features,
// _rewrite and _diagnostics) turns the text into C++ for the host backend's headers, or names the class of a
// fault that needs no compiler. host_compiler.h knows the compiler and its arguments; run_box() runs it.
// Nothing of a candidate is executed here.
#pragma once
#include <memory>
#include <stop_token>
#include <string>

#include "common/lru_cache.h"
#include "sandbox/candidate/splitter.h"

namespace bicrl {

class BoxHost;

struct CompileOptions {
  double wall_s = 20;
  uint64_t memory_bytes = 2ull << 30;
  uint64_t module_bytes = 32ull << 20;
  size_t cache_bytes = 256u << 20;
};

struct CompileResult {
  std::shared_ptr<const std::string> module;  // bytes of the shared object; null on failure
  bool infrastructure = false;                // of a failure: the box failed, the text may be good
  std::string fault_class;                    // of a failure that is the candidate's
  std::string reason;
  double compile_ms = 0;  // 0 from the cache
};

// Content-addressed, so that equal texts are compiled once. Thread-safe; owned by the pipeline.
class CandidateCompiler {
 public:
  CandidateCompiler(BoxHost& host, const CompileOptions& options);
  CompileResult compile(const CudaProgram& program, std::stop_token stop = {});
  const std::string& toolchain_id() const { return toolchain_id_; }

 private:
  CompileResult run_compiler(const SplitProgram& program, std::stop_token stop);
  BoxHost& host_;
  CompileOptions options_;
  std::string toolchain_id_;
  LruCache<CompileResult> cache_;
};

}  // namespace bicrl
