// One verification from program to verdict. Thread-safe; blocks.
//
// The oracle runs the task's reference on secret inputs. The recorder runs the program's Python on tensors
// without data, has its CUDA text compiled on the way, and gets a trace of its launches. A backend runs the
// trace with the device code on the secret inputs, and grading.h compares what comes out with the reference.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/box/box_host.h"
#include "sandbox/cost/device_table.h"
#include "sandbox/frontend/candidate_compiler.h"
#include "sandbox/oracle/oracle.h"
#include "sandbox/recorder/recorder.h"
#include "sandbox/verifier/backend_factory.h"
#include "sandbox/verifier/reduced/extrapolation.h"
#include "verdict/verdict.h"
#include "verdict/verification_request.h"

namespace bicrl {

struct PipelineOptions {
  std::string python;             // interpreter with torch; empty: see PythonInstall::find
  std::string bwrap;              // empty: on PATH
  std::filesystem::path scratch;  // empty: /dev/shm
  OracleOptions oracle;
  CompileOptions compile;
  RecordOptions record;
  ExecuteOptions execute;
  BackendFactory backend = ptx_backend();
  size_t max_program_bytes = 64u << 10;
  int infrastructure_retries = 2;
  int cores_set_aside = 0;      // for what feeds devices: boxes of candidates and references leave them alone
  bool measures_times = false;  // by the backend's clock; else they are modelled
  double sanitizer_share = 0;   // of correct programs, that the backend's compute-sanitizer looks at
  std::vector<std::string> sanitizer_tools{kSanitizerTools.begin(), kSanitizerTools.end()};
  std::string cost_device = "h100";  // of sandbox/cost/device_table.h: where programs are modelled
  // The clock of times, as verdicts name it.
  std::string clock() const { return measures_times ? kMeasuredClock : kModelClock; }
};

// What a backend is asked of a task that is too large, without a program.
OwnSizePlan own_size_plan(const std::string& task_code, const ReducedSizes& sizes);

class Pipeline {
 public:
  // Throws Error(kUnavailable), with the remedy, if boxes cannot be made, there is no interpreter, or times
  // are to be measured and the backend has no clock.
  explicit Pipeline(const PipelineOptions& options);
  ~Pipeline();

  // The request's protocol leaves nothing open.
  Verdict verify(const VerificationRequest& request, std::stop_token stop = {});
  // Starts the reference of a request that will be verified soon, unless it is known. Returns at once.
  // Whoever lets go of what this returns when `stop` was asked for ends it, unless somebody else needs it.
  std::shared_ptr<const void> prepare(const VerificationRequest& request, std::stop_token stop = {});

  const SandboxFeatures& features() const;
  const CoreShare& cores() const { return host_->cores(); }
  // Names what verdicts depend on: the backend, torch, and the compilers with their flags and headers.
  const std::string& name() const { return name_; }
  const BackendFeatures& backend() const { return backend_->features(); }
  std::vector<BackendDevice> devices() const { return backend_->devices(); }
  // Of the times, as verdicts have it.
  std::string device() const;
  const Zygote& record_zygote() const;
  const Zygote& oracle_zygote() const;

 private:
  struct Job;
  struct SizedTask;
  // Whatever fails is in the job's verdict.
  Verdict attempt(const VerificationRequest& request, std::stop_token stop);
  bool check_text(Job& job) const;
  std::optional<RecordResult> record(Job& job, SizedTask& task);
  // Does nothing run of it, the task's `spec` is known.
  bool plan_inputs(Job& job, SizedTask& task, const RecordResult& recorded, int test_inputs);
  std::optional<RunResult> run(Job& job, const SizedTask& task);
  std::optional<RunResult> run_and_compare(Job& job, const SizedTask& task);
  // The trials of a verification. Null: the job's verdict has a fault.
  std::optional<RunResult> run_trials(Job& job, SizedTask& task, const RecordResult& recorded);
  void grade(Job& job, SizedTask& task, const RecordResult& recorded);
  void remark(Job& job, const SizedTask& task, const RecordResult& recorded, const RunResult& result);
  // At reduced sizes of the task (pipeline_reduced.cpp).
  void grade_reduced(Job& job);
  std::optional<RecordResult> record_own(Job& job, const ReducedSizes& sizes);
  // Of a variant that a program is right at: its trace, and what its launches do if times are modelled.
  struct GradedVariant;
  std::optional<bool> grade_variant(Job& job, const SizeVariant& variant, bool counts,
                                    std::vector<GradedVariant>& graded);
  std::optional<std::vector<LaunchCounters>> count_launches(Job& job, const SizedTask& task);
  void cost_reduced(Job& job, const ReducedSizes& sizes, const RecordResult& own,
                    std::vector<GradedVariant>& graded);
  Result<std::string> compare_sample(Job& job, const RecordResult& own,
                                     const std::vector<CountedSize>& counted);
  void model_reduced_times(Job& job, const ReducedSizes& sizes, const RecordResult& own,
                           std::vector<CountedSize> counted);
  // At the task's own size (pipeline_own_size.cpp), of a program that is right at variants, or refuses them.
  bool judges_own_size(const Job& job) const;
  std::optional<std::vector<bool>> trivial_outputs(Job& job, const ReducedSizes& sizes);
  void judge_own_size(Job& job, const ReducedSizes& sizes, const RecordResult& own);
  bool reads_what_decides(Job& job, const SizedTask& task, const RunResult& result);
  bool has_registers(Job& job, const RecordResult& recorded);
  // Of a correct program: its time, and the reference's.
  void cost(Job& job, const SizedTask& given, const RecordResult& recorded);
  void cost_on_larger_inputs(Job& job, const Trace& given);
  void measure_times(Job& job, const SizedTask& task, const RecordResult& recorded);
  void model_times(Job& job, const SizedTask& task, const RecordResult& recorded, const Trace& given,
                   std::vector<LaunchCounters>& launches);
  // Of a correct program: what to report of a tool's findings.
  std::string sanitized(Job& job, const SizedTask& task);
  static bool structure_matches(Job& job, const Returned& returned, const nlohmann::json& expected,
                                size_t call);
  void oracle_failure(Job& job, const SizedTask& task);
  static bool refuse_vacuous(Job& job, const SizedTask& task);

  PipelineOptions options_;
  std::unique_ptr<BoxHost> host_;
  PythonInstall python_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<CandidateCompiler> compiler_;
  std::unique_ptr<Oracle> oracle_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Backend> backend_;
  std::string name_;
};

}  // namespace bicrl
