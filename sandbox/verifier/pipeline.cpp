#include "sandbox/verifier/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/clock.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/utf8.h"
#include "sandbox/gpu/launch_registers.h"
#include "sandbox/verifier/pipeline_job.h"

namespace bicrl {
namespace {

constexpr size_t kMaxDiagnosticsBytes = 2000;

// No box may take so much that the machine itself runs out: one that does must die of its own limit.
uint64_t within_machine(uint64_t limit_bytes) {
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(limit_bytes, physical / 5 * 3);
}

PipelineOptions within_machine(PipelineOptions options) {
  for (uint64_t* limit : {&options.oracle.memory_bytes, &options.compile.memory_bytes,
                          &options.record.memory_bytes, &options.execute.memory_bytes})
    *limit = within_machine(*limit);
  return options;
}

// Two significant digits, upwards, so that what is over the limit of 1 stays over it.
double rounded(double value) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double scale = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / scale) * scale;
}

std::string bounded(const std::string& text) {
  if (text.size() <= kMaxDiagnosticsBytes) return text;
  return concat(utf8_head(text, kMaxDiagnosticsBytes), " ...");
}

// What a reader of the verdict should know, though it is allowed: nobody looks at inputs afterwards, and at
// an output only before the next call.
std::string remarks(const Trace& trace, const RunResult& result, const OracleAnswers& answers) {
  const std::vector<RunOutcome>& runs = result.runs;
  std::string text = result.note;
  const auto remark = [&text](const auto&... parts) { text += concat(text.empty() ? "" : "; ", parts...); };
  std::set<uint32_t> changed, overwritten;
  for (const RunOutcome& run : runs) {
    for (const uint32_t leaf : run.changed_inputs)
      if (!answers.written_inputs[leaf]) changed.insert(leaf);
    overwritten.insert(run.overwritten_outputs.begin(), run.overwritten_outputs.end());
  }
  for (const uint32_t leaf : changed) remark("writes to input ", leaf);
  for (const uint32_t leaf : overwritten) remark("output ", leaf, " is overwritten by the next call");
  if (std::any_of(runs.begin(), runs.end(), [](const RunOutcome& run) { return run.benign_races; }))
    remark("has races that no output shows");
  if (const uint64_t bytes = trace.uploaded_bytes(); bytes > 0)
    remark("the host part uploads ", bytes, " bytes");
  return text;
}

bool has(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

TaskSize own_size(const VerificationProtocol& protocol) {
  return protocol.size == SizePolicy::kOwn ? TaskSize::kOwn : TaskSize::kGiven;
}

// A repeat of the only trial needs another test input.
int test_inputs_of(const VerificationProtocol& protocol) { return std::max(protocol.trials, 2); }

}  // namespace

Pipeline::Pipeline(const PipelineOptions& options)
    : options_(within_machine(options)),
      host_(std::make_unique<BoxHost>(options.bwrap, options.cores_set_aside)),
      python_(PythonInstall::find(options.python)),
      scratch_(std::make_unique<ScratchFolder>(options.scratch)),
      compiler_(std::make_unique<CandidateCompiler>(*host_, python_, options_.compile)),
      oracle_(std::make_unique<Oracle>(*host_, python_, options_.oracle)),
      recorder_(std::make_unique<Recorder>(*host_, python_, *compiler_, options_.record)),
      backend_(options_.backend({*host_, *scratch_, python_, options_.execute})),
      name_(concat(backend_->features().name, "/torch-", python_.torch_version, "/",
                   hash_hex(compiler_->toolchain_id()).substr(0, 8), "/sizes-", kSizeVariantsVersion)) {
  if (options_.measures_times && backend().clock_device.empty())
    throw Error(concat("the backend ", backend().name, " cannot measure times"), ExitCode::kUnavailable);
  if (options_.sanitizer_share > 0 && !backend().sanitizes)
    throw Error(concat("a share of programs cannot be sanitized (gpu.sanitizer.share=0 does without): ",
                       no_sanitizer()),
                ExitCode::kUnavailable);
}

Pipeline::~Pipeline() = default;

const SandboxFeatures& Pipeline::features() const { return host_->features(); }
std::string Pipeline::device() const {
  return options_.measures_times ? backend().clock_device
                                 : concat(options_.cost_device, ", tables ", kDeviceTablesVersion);
}
const Zygote& Pipeline::record_zygote() const { return recorder_->zygote(); }
const Zygote& Pipeline::oracle_zygote() const { return oracle_->zygote(); }

Verdict Pipeline::verify(const VerificationRequest& request, std::stop_token stop) {
  // Without a trial everything would be right.
  BICRL_CHECK(request.protocol.trials > 0, "the protocol of ", request.request_id, " leaves trials open");
  const Stopwatch clock;
  Verdict verdict;
  for (int round = 0;; ++round) {
    try {
      verdict = attempt(request, stop);
    } catch (const std::exception& error) {
      verdict = {};
      verdict.diagnostics = concat("internal error: ", error.what());
    }
    if (verdict.outcome != Outcome::kInfrastructure || round >= options_.infrastructure_retries ||
        stop.stop_requested())
      break;
    log_warning("verification of a candidate for task ", request.task_id,
                " failed by infrastructure, trying again: ", verdict.diagnostics);
  }
  // Coarse on purpose: exact figures, verdict after verdict, would let a policy fit the secret answers.
  verdict.max_error_ratio = rounded(verdict.max_error_ratio);
  verdict.lane_operations = static_cast<int64_t>(rounded(static_cast<double>(verdict.lane_operations)));
  verdict.request_id = request.request_id;
  verdict.backend = name_;
  verdict.tolerance = to_string(request.protocol.tolerance);
  verdict.diagnostics = bounded(verdict.diagnostics);
  verdict.total_ms = clock.ms();
  return verdict;
}

std::shared_ptr<const void> Pipeline::prepare(const VerificationRequest& request, std::stop_token stop) {
  if (request.protocol.size == SizePolicy::kReduced) return nullptr;
  return oracle_->open(request.pytorch_code, test_inputs_of(request.protocol), own_size(request.protocol),
                       std::move(stop));
}

Verdict Pipeline::attempt(const VerificationRequest& request, std::stop_token stop) {
  Job job{request, stop, {}};
  job.verdict.reached = "extract";
  job.verdict.trials = request.protocol.trials;
  if (request.protocol.measure_time) {
    job.verdict.clock = options_.clock();
    job.verdict.device = device();
  }
  if (!check_text(job)) return job.verdict;
  if (request.protocol.size != SizePolicy::kReduced) {
    SizedTask given{request.pytorch_code,
                    oracle_->open(request.pytorch_code, test_inputs_of(request.protocol),
                                  own_size(request.protocol), stop)};
    const auto recorded = record(job, given);
    if (recorded && plan_inputs(job, given, *recorded, test_inputs_of(request.protocol)))
      grade(job, given, *recorded);
    const bool too_large =
        job.verdict.outcome == Outcome::kInvalidTask && given.opened->failure().is_of_size();
    const bool nowhere_else = request.protocol.size == SizePolicy::kOwn && !judges_own_size(job);
    if (!too_large || nowhere_else) return job.verdict;
  }
  grade_reduced(job);
  return job.verdict;
}

bool Pipeline::check_text(Job& job) const {
  const std::string& program = job.request.program;
  const auto reject = [&](const std::string& reason) {
    job.fault("extract", FaultClass::kExtract, reason);
    return false;
  };
  if (program.size() > options_.max_program_bytes)
    return reject(
        concat("the program has ", program.size(), " bytes, over the limit of ", options_.max_program_bytes));
  if (program.find_first_not_of(" \t\r\n") == std::string::npos) return reject("there is no program");
  if (program.find('\0') != std::string::npos) return reject("the program holds a zero byte");
  for (const char* name : {"ModelNew", "load_inline"})
    if (program.find(name) == std::string::npos) return reject(concat("the program has no ", name));
  return true;
}

std::optional<RecordResult> Pipeline::record(Job& job, SizedTask& task) {
  if (!task.spec) task.spec = task.opened->spec(job.stop);
  if (!task.spec) {
    oracle_failure(job, task);
    return std::nullopt;
  }
  const bool modelled = job.request.protocol.measure_time && !options_.measures_times;
  RecordResult recorded =
      recorder_->run(job.request.program, *task.spec, job.stop,
                     modelled ? std::string(find_device_table(options_.cost_device)->architecture) : "");
  job.verdict.compiled = !recorded.modules.empty();
  job.verdict.compile_ms += recorded.compile_ms;
  job.verdict.record_ms += recorded.record_ms;
  if (recorded.fault) {
    job.fault(recorded.reached, recorded.fault);
    return std::nullopt;
  }
  job.verdict.reached = "record";
  // What has no elements is computed by no kernel.
  if (recorded.trace->launches() > 0 || recorded.trace->output_layout().numel() == 0) return recorded;
  job.fault("record", FaultClass::kDeadKernel, "no kernel was launched");
  return std::nullopt;
}

void Pipeline::oracle_failure(Job& job, const SizedTask& task) {
  const OracleFailure failure = task.opened->failure();
  job.infrastructure(job.verdict.reached, concat("task ", job.request.task_id, ": ", failure.reason));
  if (failure.invalid_task) job.verdict.outcome = Outcome::kInvalidTask;
  if (!failure.invalid_task && !job.stop.stop_requested()) oracle_->forget(*task.opened);
}

// By the published comparison programs for such tasks count, as they do where it comes from.
bool Pipeline::refuse_vacuous(Job& job, const SizedTask& task) {
  const auto& faults = task.known->faults;
  const auto fault = std::ranges::find_if(faults, &InvalidTask::is_vacuous);
  if (fault == faults.end() || job.request.protocol.tolerance == TolerancePolicy::kPublished) return false;
  job.infrastructure(job.verdict.reached, concat("task ", job.request.task_id, ": ", fault->message));
  job.verdict.outcome = Outcome::kInvalidTask;
  return true;
}

bool Pipeline::structure_matches(Job& job, const Returned& returned, const nlohmann::json& expected,
                                 size_t call) {
  const std::string difference = structure_difference(returned.structure, expected);
  if (difference.empty()) return true;
  Grade grade;
  grade.graded = true;
  grade.fault = Fault::of_program(
      FaultClass::kWrongShape, call > 1 ? concat("at call ", call, " of forward: ", difference) : difference);
  job.take(grade);
  return false;
}

bool Pipeline::plan_inputs(Job& job, SizedTask& task, const RecordResult& recorded, int test_inputs) {
  const Trace& trace = *recorded.trace;
  task.known = task.opened->answers(job.stop);
  if (!task.known) {
    oracle_failure(job, task);
    return false;
  }
  if (refuse_vacuous(job, task)) return false;
  if (!structure_matches(job, trace.returned, task.known->returned, 1)) return false;
  for (size_t k = 0; k < trace.repeats.size(); ++k)
    if (!structure_matches(job, trace.repeats[k].returned, task.known->returned, k + 2)) return false;
  task.plan.trace = &trace;
  task.plan.modules = recorded.modules;
  const std::string task_id = hash_hex(task.code);
  for (const size_t index : task.opened->choose(test_inputs)) {
    task.test_inputs.push_back(&task.known->test_inputs[index]);
    // The seed tells one oracle run of a task from the next, and another size of its inputs.
    task.plan.test_inputs.push_back(
        {hash_hex({task_id, std::to_string(task.spec->init_seed), std::to_string(index)}),
         &task.test_inputs.back()->inputs});
  }
  return true;
}

std::optional<RunResult> Pipeline::run(Job& job, const SizedTask& task) {
  RunResult result = backend_->run(task.plan, job.stop);
  job.verdict.run_ms += result.run_ms;
  if (result.fault) {
    job.fault("run", result.fault);
    return std::nullopt;
  }
  return result;
}

std::optional<RunResult> Pipeline::run_and_compare(Job& job, const SizedTask& task) {
  auto result = run(job, task);
  if (!result) return std::nullopt;
  for (const RunOutcome& outcome : result->runs) job.verdict.lane_operations += outcome.lane_operations;
  job.take(grade_runs(*task.plan.trace, task.plan.runs, result->runs, task.test_inputs, *task.known,
                      job.request.protocol.tolerance));
  return result;
}

// What a program has not read could be anything, and it would answer the same.
bool Pipeline::reads_what_decides(Job& job, const SizedTask& task, const RunResult& result) {
  for (size_t trial = 0; trial < result.runs.size(); ++trial) {
    std::vector<InputBytes> unread = result.runs[trial].unread;
    std::erase_if(unread, [&](const InputBytes& run) { return !task.known->long_inputs[run.leaf]; });
    if (unread.empty()) continue;
    const TestInput& test_input = *task.test_inputs[task.plan.runs[trial].test_input];
    const auto decides = oracle_->decides(task.code, *task.spec, test_input, unread, job.stop);
    if (!decides) {
      job.infrastructure("compare", decides.reason());
      return false;
    }
    if (!decides.value()) continue;
    Grade grade;
    grade.graded = true;
    grade.fault =
        Fault::of_program(FaultClass::kWrongValue,
                          concat("elements of input ", unread.front().leaf,
                                 " are never read, and with other values there the answer would be wrong"));
    grade.trials_passed = job.verdict.trials_passed - 1;
    job.take(grade);
    return false;
  }
  return true;
}

// The PTX interpreter has as many registers as are asked for; a device has not.
bool Pipeline::has_registers(Job& job, const RecordResult& recorded) {
  const DeviceTable& device = *find_device_table(options_.cost_device);
  if (!registers_may_run_out(*recorded.trace, device)) return true;
  std::map<std::string, KernelResources> resources;
  for (const CudaProgram& program : recorded.programs)
    resources.merge(compiler_->resources(program, std::string(device.architecture), job.stop));
  const std::string problem = register_problem(*recorded.trace, resources, device);
  if (problem.empty()) return true;
  job.fault("run", FaultClass::kLaunch, problem);
  return false;
}

std::optional<RunResult> Pipeline::run_trials(Job& job, SizedTask& task, const RecordResult& recorded) {
  task.plan.runs = plan_runs(static_cast<size_t>(job.request.protocol.trials), task.test_inputs.size(),
                             recorded.trace->repeats.size(), /*watch_reads=*/has(task.known->long_inputs));
  auto result = run_and_compare(job, task);
  if (!result || job.verdict.outcome != Outcome::kGraded) return std::nullopt;
  if (job.verdict.correct && !reads_what_decides(job, task, *result)) return std::nullopt;
  if (job.verdict.correct && !has_registers(job, recorded)) return std::nullopt;
  return result;
}

void Pipeline::grade(Job& job, SizedTask& task, const RecordResult& recorded) {
  job.verdict.graded_at = kOwnSize;
  const auto result = run_trials(job, task, recorded);
  if (!result) return;
  if (job.verdict.correct && job.request.protocol.measure_time) {
    cost(job, task, recorded);
    if (!job.verdict.correct) return;
    if (job.verdict.candidate_ms > 0) job.verdict.costed_at = kOwnSize;
  }
  remark(job, task, recorded, *result);
}

void Pipeline::remark(Job& job, const SizedTask& task, const RecordResult& recorded,
                      const RunResult& result) {
  std::string& diagnostics = job.verdict.diagnostics;
  const auto append = [&diagnostics](const std::string& text) {
    if (!text.empty()) diagnostics += concat(diagnostics.empty() ? "" : "; ", text);
  };
  append(remarks(*recorded.trace, result, *task.known));
  if (job.verdict.correct) append(sanitized(job, task));
}

}  // namespace bicrl
