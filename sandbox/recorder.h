// Runs a candidate's Python in a fork of the warm interpreter, on tensors without data (or with, in the
// direct tier), compiles what it hands to load_inline, and takes its launch trace. Thread-safe.
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/box/zygote.h"
#include "sandbox/candidate/candidate_compiler.h"
#include "sandbox/oracle.h"
#include "sandbox/trace.h"

namespace bicrl {

struct RecordOptions {
  double wall_s = 10;  // without the time that compilation takes
  uint64_t memory_bytes = 1ull << 30;
  size_t trace_bytes = 512u << 20;  // the frame with its parameters
};

struct RecordResult {
  bool infrastructure = false;
  std::string fault_class;  // empty: one of trace and direct is set. "needs_data" asks for the direct tier
  std::string reached = "record";
  std::string reason;
  bool compiled = false;
  std::shared_ptr<const std::string> module;
  std::optional<Trace> trace;
  std::optional<DirectResult> direct;
  double compile_ms = 0, record_ms = 0;
};

class Recorder {
 public:
  Recorder(BoxHost& host, const PythonInstall& python, CandidateCompiler& compiler,
           const RecordOptions& options);

  // `draw`: null records a trace; else the direct tier on that draw's inputs.
  RecordResult run(const std::string& program, const std::string& task_code, const OracleSpec& spec,
                   const OracleDraw* draw, std::stop_token stop = {});
  const Zygote& zygote() const { return zygote_; }

 private:
  void converse(ZygoteChild& child, const OracleSpec& spec, std::stop_token stop, RecordResult& result);
  bool compile(ZygoteChild& child, const Frame& frame, std::stop_token stop, RecordResult& result);
  Zygote zygote_;
  CandidateCompiler& compiler_;
  RecordOptions options_;
};

}  // namespace bicrl
