// Runs a candidate's Python in a fork of the warm interpreter, on tensors without data, compiles what it
// hands to load_inline, and takes its launch trace. Thread-safe.
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/box/zygote.h"
#include "sandbox/frontend/candidate_compiler.h"
#include "sandbox/oracle/oracle.h"
#include "sandbox/recorder/trace/trace.h"
#include "sandbox/verifier/backend.h"
#include "verdict/fault/fault.h"

namespace bicrl {

struct RecordOptions {
  double wall_s = 10;  // without the time that compilation takes, or others have the processors
  uint64_t memory_bytes = 1ull << 30;
  size_t trace_bytes = 512u << 20;    // the frame with its parameters
  size_t modules = 16;                // load_inline calls
  uint64_t upload_bytes = 64u << 20;  // that the host part makes up: tables, coefficients
};

// Whatever fails is the candidate's fault, but for what the verifier's own parts do.
struct RecordResult {
  Fault fault;  // none: there is a trace
  std::string reached = "record";
  std::vector<DeviceModule> modules;  // by number of the load_inline call,
  std::vector<CudaProgram> programs;  // and what they were made of
  std::optional<Trace> trace;
  double compile_ms = 0, record_ms = 0;
};

class Recorder {
 public:
  Recorder(BoxHost& host, const PythonInstall& python, CandidateCompiler& compiler,
           const RecordOptions& options);

  // `spec` is all that the candidate's process gets to know of the task. `architecture`: for which the
  // compiler will be asked what kernels need, or "".
  RecordResult run(const std::string& program, const OracleSpec& spec, std::stop_token stop = {},
                   const std::string& architecture = "");
  const Zygote& zygote() const { return zygote_; }

 private:
  struct Progress;
  void converse(ZygoteChild& child, const OracleSpec& spec, std::stop_token stop, Progress& progress);
  bool compile(ZygoteChild& child, const Frame& frame, std::stop_token stop, Progress& progress);
  Zygote zygote_;
  CandidateCompiler& compiler_;
  RecordOptions options_;
};

}  // namespace bicrl
