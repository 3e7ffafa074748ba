#include "sandbox/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "common/clock.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/utf8.h"
#include "sandbox/cost/cost_model.h"
#include "sandbox/cost_summary.h"
#include "sandbox/grading.h"

namespace bicrl {
namespace {

constexpr size_t kMaxDiagnosticsBytes = 2000;
constexpr uint64_t kCountedSeed = 1;  // of addresses, on which counters do not depend

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

// Three digits, upwards: a kernel whose work depends on values of its inputs has a time that depends on
// secret ones in the sixth digit or so, which nobody shall learn from.
double coarse(double ms) {
  double unit = 1e-9;
  while (ms / unit > 1000) unit *= 10;
  return std::ceil(ms / unit) * unit;
}

std::string bounded(const std::string& text) {
  if (text.size() <= kMaxDiagnosticsBytes) return text;
  return concat(utf8_head(text, kMaxDiagnosticsBytes), " ...");
}

// What a reader of the verdict should know, though it is allowed: nobody looks at inputs afterwards.
std::string remarks(const Trace& trace, const std::vector<RunOutcome>& runs, const OracleAnswers& answers) {
  std::string text;
  std::set<uint32_t> changed;
  for (const RunOutcome& run : runs)
    for (const uint32_t leaf : run.changed_inputs)
      if (!answers.written_inputs[leaf]) changed.insert(leaf);
  for (const uint32_t leaf : changed) text += concat(text.empty() ? "" : "; ", "writes to input ", leaf);
  if (std::any_of(runs.begin(), runs.end(), [](const RunOutcome& run) { return run.benign_races; }))
    text += concat(text.empty() ? "" : "; ", "has races that no output shows");
  if (const uint64_t bytes = trace.uploaded_bytes(); bytes > 0)
    text += concat(text.empty() ? "" : "; ", "the host part uploads ", bytes, " bytes");
  return text;
}

// A repeat of the only trial needs another draw.
int draws_of(const VerificationProtocol& protocol) { return std::max(protocol.trials, 2); }

}  // namespace

// One attempt's state.
struct Pipeline::Job {
  const VerificationRequest& request;
  std::stop_token stop;
  Verdict verdict;
  std::string task_key;
  std::shared_ptr<OracleTask> task;
  std::shared_ptr<const OracleSpec> spec;

  void fault(const std::string& reached, const std::string& fault_class, const std::string& reason) {
    verdict.outcome = Outcome::kCandidateFault;
    verdict.reached = reached;
    verdict.fault_class = fault_class;
    verdict.diagnostics = reason;
  }

  void infrastructure(const std::string& reached, const std::string& reason) {
    verdict.outcome = Outcome::kInfrastructure;
    verdict.reached = reached;
    verdict.fault_class.clear();
    verdict.diagnostics = reason;
  }

  void take(const Grade& grade) {
    verdict.reached = grade.graded ? "compare" : "run";
    verdict.outcome = grade.graded ? Outcome::kGraded : Outcome::kCandidateFault;
    verdict.fault_class = grade.fault_class;
    verdict.correct = grade.graded && grade.fault_class.empty();
    verdict.trials_passed = grade.trials_passed;
    verdict.max_error_ratio = grade.max_error_ratio;
    verdict.diagnostics = grade.reason;
  }
};

Pipeline::Pipeline(const PipelineOptions& options)
    : options_(within_machine(options)),
      host_(std::make_unique<BoxHost>(options.bwrap)),
      python_(PythonInstall::find(options.python)),
      scratch_(std::make_unique<ScratchFolder>(options.scratch)),
      compiler_(std::make_unique<CandidateCompiler>(*host_, python_, options_.compile)),
      oracle_(std::make_unique<Oracle>(*host_, python_, options_.oracle)),
      recorder_(std::make_unique<Recorder>(*host_, python_, *compiler_, options_.record)),
      backend_(std::make_unique<PtxBackend>(*host_, *scratch_, options_.execute)),
      name_(concat(backend_->features().name, "/torch-", python_.torch_version, "/",
                   hash_hex(compiler_->toolchain_id()).substr(0, 8))) {}

Pipeline::~Pipeline() = default;

const SandboxFeatures& Pipeline::features() const { return host_->features(); }
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

void Pipeline::prepare(const VerificationRequest& request) {
  oracle_->open(request.pytorch_code, draws_of(request.protocol));
}

Verdict Pipeline::attempt(const VerificationRequest& request, std::stop_token stop) {
  Job job{request, stop, {}, hash_hex(request.pytorch_code), nullptr, nullptr};
  job.verdict.reached = "extract";
  job.verdict.trials = request.protocol.trials;
  if (request.protocol.measure_time) {
    job.verdict.clock = options_.clock();
    job.verdict.device = options_.device();
  }
  if (!check_text(job)) return job.verdict;
  job.task = oracle_->open(request.pytorch_code, draws_of(request.protocol));
  job.spec = job.task->spec(stop);
  if (job.spec)
    record_and_grade(job);
  else
    oracle_failure(job);
  return job.verdict;
}

bool Pipeline::check_text(Job& job) const {
  const std::string& program = job.request.program;
  const auto reject = [&](const std::string& reason) {
    job.fault("extract", "extract", reason);
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

void Pipeline::record_and_grade(Job& job) {
  const RecordResult recorded = recorder_->run(job.request.program, *job.spec, job.stop);
  job.verdict.compiled = !recorded.modules.empty();
  job.verdict.compile_ms = recorded.compile_ms;
  job.verdict.record_ms = recorded.record_ms;
  job.verdict.legality = "native";
  if (recorded.infrastructure) return job.infrastructure(recorded.reached, recorded.reason);
  if (!recorded.fault_class.empty())
    return job.fault(recorded.reached, recorded.fault_class, recorded.reason);
  job.verdict.reached = "record";
  if (recorded.trace->launches() == 0) return job.fault("record", "dead_kernel", "no kernel was launched");
  run_and_grade(job, recorded);
}

void Pipeline::oracle_failure(Job& job) {
  const OracleFailure failure = job.task->failure();
  job.infrastructure(job.verdict.reached, concat("task ", job.request.task_id, ": ", failure.reason));
  if (failure.task_fault) job.verdict.outcome = Outcome::kTaskFault;
  if (!failure.task_fault && !job.stop.stop_requested()) oracle_->forget(job.request.pytorch_code, *job.task);
}

bool Pipeline::structure_matches(Job& job, const Returned& returned, const nlohmann::json& expected,
                                 size_t call) {
  const std::string difference = structure_difference(returned.structure, expected);
  if (difference.empty()) return true;
  Grade grade;
  grade.graded = true;
  grade.fault_class = "wrong_shape";
  grade.reason = call > 1 ? concat("at call ", call, " of forward: ", difference) : difference;
  job.take(grade);
  return false;
}

void Pipeline::run_and_grade(Job& job, const RecordResult& recorded) {
  const Trace& trace = *recorded.trace;
  const auto known = job.task->answers(job.stop);
  if (!known) return oracle_failure(job);
  if (!structure_matches(job, trace.returned, known->returned, 1)) return;
  for (size_t k = 0; k < trace.repeats.size(); ++k)
    if (!structure_matches(job, trace.repeats[k].returned, known->returned, k + 2)) return;
  RunPlan plan;
  plan.trace = &trace;
  plan.modules = recorded.modules;
  std::vector<const OracleDraw*> draws;
  for (const size_t index : job.task->choose(draws_of(job.request.protocol))) {
    draws.push_back(&known->draws[index]);
    // The seed tells one oracle run of a task from the next.
    plan.draws.push_back(
        {hash_hex({job.task_key, std::to_string(job.spec->init_seed), std::to_string(index)}),
         &draws.back()->inputs});
  }
  plan.runs = plan_runs(static_cast<size_t>(job.request.protocol.trials), draws.size(), trace.repeats.size());
  const RunResult result = backend_->run(plan, job.stop);
  job.verdict.run_ms = result.run_ms;
  if (result.infrastructure) return job.infrastructure("run", result.reason);
  if (!result.fault_class.empty()) return job.fault("run", result.fault_class, result.reason);
  for (const RunOutcome& run : result.runs) job.verdict.lane_operations += run.lane_operations;
  job.take(grade_runs(trace.output_layout(), plan.runs, result.runs, draws, *known,
                      job.request.protocol.tolerance));
  if (job.verdict.outcome != Outcome::kGraded) return;
  job.verdict.coverage = 1;
  if (job.verdict.correct && job.request.protocol.measure_time) {
    model_cost(job, recorded, plan, *known);
    if (!job.verdict.correct) return;
  }
  const std::string remarked = remarks(trace, result.runs, *known);
  if (remarked.empty()) return;
  std::string& told = job.verdict.diagnostics;
  told += concat(told.empty() ? "" : "; ", remarked);
}

// One run more, in which the machine counts; then formulas.
void Pipeline::model_cost(Job& job, const RecordResult& recorded, RunPlan plan, const OracleAnswers& known) {
  plan.runs = {{.draw = 0, .repeat_draws = {}, .seed = kCountedSeed, .count = true}};
  RunResult result = backend_->run(plan, job.stop);
  job.verdict.run_ms += result.run_ms;
  const auto no_longer_correct = [&] { job.verdict.correct = false; };
  if (result.infrastructure) {
    no_longer_correct();
    return job.infrastructure("run", result.reason);
  }
  if (const RunOutcome& run = result.runs.front(); !run.fault_class.empty()) {
    no_longer_correct();
    return job.fault("run", run.fault_class, run.message);
  }
  std::vector<LaunchCounters>& launches = result.runs.front().counters;
  const DeviceTable& device = *find_device_table(options_.cost_device);
  for (const CudaProgram& program : recorded.programs)
    add_resources(compiler_->resources(program, std::string(device.architecture), job.stop), launches);
  const double least = least_ms(known.reference.least_bytes, device);
  const auto at_least = [least](double ms) { return std::max(ms, least); };
  job.verdict.candidate_ms = coarse(at_least(model_program(launches, device).modelled_ms));
  job.verdict.eager_ms = at_least(model_program(known.reference.eager, device).modelled_ms);
  job.verdict.torch_compile_ms = at_least(model_program(known.reference.fused, device).modelled_ms);
  job.verdict.roofline_fraction = least / job.verdict.candidate_ms;
  job.verdict.counters = counters_text(launches, device);
}

}  // namespace bicrl
