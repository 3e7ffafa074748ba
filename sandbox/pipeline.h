// One verification from program to verdict. Thread-safe; blocks.
//
// The oracle runs the task's reference on secret inputs. The recorder runs the program's Python on tensors
// without data, has its CUDA text compiled on the way, and gets a trace of its launches. The replayer runs
// the trace on the secret inputs, and the judge compares the outputs with the reference's. A program whose
// host part needs data goes the direct way: Python and kernels together, on real inputs.
#pragma once
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "sandbox/box/box_host.h"
#include "sandbox/candidate/candidate_compiler.h"
#include "sandbox/oracle.h"
#include "sandbox/recorder.h"
#include "sandbox/replayer.h"
#include "tasks/verdict.h"
#include "tasks/verification_request.h"

namespace bicrl {

struct PipelineOptions {
  std::string python;             // interpreter with torch; empty: see PythonInstall::find
  std::string bwrap;              // empty: on PATH
  std::filesystem::path scratch;  // empty: /dev/shm
  OracleOptions oracle;
  CompileOptions compile;
  RecordOptions record;
  ReplayOptions replay;
  size_t max_program_bytes = 64u << 10;
  int timed_runs = 5;  // of each trial, if times are asked for
  int infrastructure_retries = 2;
};

class Pipeline {
 public:
  // Throws Error(kUnavailable), with the remedy, if boxes cannot be made or there is no interpreter.
  explicit Pipeline(const PipelineOptions& options);
  ~Pipeline();

  // The request's protocol leaves nothing open.
  Verdict verify(const VerificationRequest& request, std::stop_token stop = {});

  const SandboxFeatures& features() const;
  // Names what runs candidates: the backend, torch, and the compiler with its flags and headers.
  const std::string& backend() const { return backend_; }
  const Zygote& record_zygote() const;
  const Zygote& oracle_zygote() const;

 private:
  struct Job;
  Verdict attempt(const VerificationRequest& request, std::stop_token stop, bool& retryable);
  bool check_text(Job& job) const;
  void record_and_grade(Job& job);
  void grade_trace(Job& job, const RecordResult& recorded);
  bool confirm(Job& job, const OutputLayout& layout, const ReplayResult& replayed,
               const std::vector<std::string>& expected) const;
  void grade_direct(Job& job);
  bool structure_matches(Job& job, const Returned& returned) const;
  std::shared_ptr<const OracleAnswers> answers(Job& job);
  void oracle_failure(Job& job);

  PipelineOptions options_;
  std::unique_ptr<BoxHost> host_;
  PythonInstall python_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<CandidateCompiler> compiler_;
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Replayer> replayer_;
  std::string backend_;
};

}  // namespace bicrl
