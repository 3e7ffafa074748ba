#include "sandbox/pipeline.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "common/clock.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/log.h"
#include "sandbox/judge.h"

namespace bicrl {
namespace {

constexpr size_t kMaxDiagnosticsBytes = 2000;
constexpr const char* kBackend = "host";

// What fresh memory is filled with: bytes that read as NaN or as huge numbers in every floating-point format,
// and as neither 0 nor 1 elsewhere, so that what was never written is not mistaken for an answer.
uint8_t random_poison(uint8_t highest) {
  uint8_t byte = 0;
  BICRL_CHECK(getrandom(&byte, 1, 0) == 1, "getrandom");
  return static_cast<uint8_t>(highest - byte % 5);
}
constexpr uint8_t kNegativePoison = 0xFE, kPositivePoison = 0x7F;

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// No box may take so much that the machine itself runs out: one that does must die of its own limit.
uint64_t within_machine(uint64_t limit_bytes) {
  const uint64_t physical =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(limit_bytes, physical / 5 * 3);
}

PipelineOptions within_machine(PipelineOptions options) {
  for (uint64_t* limit : {&options.oracle.memory_bytes, &options.compile.memory_bytes,
                          &options.record.memory_bytes, &options.replay.memory_bytes})
    *limit = within_machine(*limit);
  return options;
}

// Two significant digits, upwards, so that what is over the limit of 1 stays over it.
double rounded(double value) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double scale = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::ceil(value / scale) * scale;
}

std::string bounded(std::string text) {
  if (text.size() > kMaxDiagnosticsBytes) {
    size_t end = kMaxDiagnosticsBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      --end;  // not within a UTF-8 character
    text = text.substr(0, end) + " ...";
  }
  return text;
}

}  // namespace

// One attempt's state.
struct Pipeline::Job {
  const VerificationRequest& request;
  std::stop_token stop;
  Verdict verdict;
  std::string task_key;
  std::shared_ptr<OracleTask> task;
  std::shared_ptr<const OracleSpec> spec;
  bool retryable = true;  // of an infrastructure outcome

  Tolerance tolerance() const { return {request.protocol.atol, request.protocol.rtol}; }

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

  // Ran and was compared; correct if `fault_class` is empty.
  void graded(const std::string& fault_class, const std::string& reason) {
    verdict.outcome = Outcome::kGraded;
    verdict.reached = "compare";
    verdict.fault_class = fault_class;
    verdict.correct = fault_class.empty();
    verdict.diagnostics = reason;
  }
};

Pipeline::Pipeline(const PipelineOptions& options)
    : options_(within_machine(options)),
      host_(std::make_unique<BoxHost>(options.bwrap)),
      python_(PythonInstall::find(options.python)),
      scratch_(std::make_unique<ScratchFolder>(options.scratch)),
      compiler_(std::make_unique<CandidateCompiler>(*host_, options_.compile)),
      oracle_(std::make_unique<Oracle>(*host_, python_, options_.oracle)),
      recorder_(std::make_unique<Recorder>(*host_, python_, *compiler_, options_.record)),
      replayer_(std::make_unique<Replayer>(*host_, *scratch_, options_.replay)),
      backend_(concat(kBackend, "/torch-", python_.torch_version, "/",
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
    bool again = true;
    try {
      verdict = attempt(request, stop, again);
    } catch (const std::exception& error) {
      verdict = {};
      verdict.diagnostics = concat("internal error: ", error.what());
    }
    if (verdict.outcome != Outcome::kInfrastructure || !again || round >= options_.infrastructure_retries ||
        stop.stop_requested())
      break;
    log_warning("verification of a candidate for task ", request.task_id,
                " failed by infrastructure, trying again: ", verdict.diagnostics);
  }
  // Coarse on purpose: the exact error, verdict after verdict, would let a policy fit the secret answers.
  verdict.max_error_ratio = rounded(verdict.max_error_ratio);
  verdict.request_id = request.request_id;
  verdict.backend = backend_;
  verdict.clock = "cpu";
  verdict.diagnostics = bounded(verdict.diagnostics);
  verdict.total_ms = clock.ms();
  return verdict;
}

Verdict Pipeline::attempt(const VerificationRequest& request, std::stop_token stop, bool& retryable) {
  Job job{request, stop, {}, hash_hex(request.pytorch_code), nullptr, nullptr};
  job.verdict.reached = "extract";
  job.verdict.trials = request.protocol.trials;
  if (!check_text(job)) return job.verdict;
  job.task = oracle_->open(request.pytorch_code, request.protocol.trials);
  job.spec = job.task->spec(stop);
  if (job.spec)
    record_and_grade(job);
  else
    oracle_failure(job);
  retryable = job.retryable;
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
  const RecordResult recorded =
      recorder_->run(job.request.program, job.request.pytorch_code, *job.spec, nullptr, job.stop);
  job.verdict.compiled = recorded.compiled;
  job.verdict.compile_ms = recorded.compile_ms;
  job.verdict.record_ms = recorded.record_ms;
  job.verdict.legality = "native";
  if (recorded.infrastructure) return job.infrastructure(recorded.reached, recorded.reason);
  if (recorded.fault_class == "needs_data") return grade_direct(job);
  if (!recorded.fault_class.empty())
    return job.fault(recorded.reached, recorded.fault_class, recorded.reason);
  if (!recorded.trace || !recorded.module)
    return job.fault("record", "dead_kernel", "the program never compiled the kernels that it claims to run");
  job.verdict.tier = "replay";
  grade_trace(job, recorded);
}

std::shared_ptr<const OracleAnswers> Pipeline::answers(Job& job) {
  auto answers = job.task->answers(job.stop);
  if (!answers) oracle_failure(job);
  return answers;
}

void Pipeline::oracle_failure(Job& job) {
  const OracleFailure failure = job.task->failure();
  job.infrastructure(job.verdict.reached, concat("task ", job.request.task_id, ": ", failure.reason));
  job.retryable = !failure.task_fault;
  if (!failure.task_fault && !job.stop.stop_requested()) oracle_->forget(job.request.pytorch_code);
}

bool Pipeline::structure_matches(Job& job, const Returned& returned) const {
  const auto known = job.task->answers(job.stop);
  if (!known) return true;  // reported by whoever needs the answers
  const std::string difference = structure_difference(returned.structure, known->returned);
  if (difference.empty()) return true;
  job.graded("wrong_shape", difference);
  return false;
}

void Pipeline::grade_trace(Job& job, const RecordResult& recorded) {
  const Trace& trace = *recorded.trace;
  job.verdict.reached = "record";
  const auto known = answers(job);
  if (!known) return;
  if (!structure_matches(job, trace.returned)) return;
  const ProducerCheck producers = trace.check_producers();
  if (!producers.fault_class.empty()) return job.fault("record", producers.fault_class, producers.reason);

  const int trials = job.request.protocol.trials;
  const size_t first = job.task->next_rotation() % known->draws.size();
  const auto inputs = replayer_->inputs(job.task_key, *job.spec, *known, first, trials);
  if (!inputs)
    return job.infrastructure("replay", concat("task ", job.request.task_id, ": ", inputs.reason()));
  ReplayPlan plan;
  plan.module = *recorded.module;
  plan.trace = &trace;
  plan.inputs = inputs.value();
  plan.trials = trials;
  plan.repeat = job.request.protocol.measure_time ? options_.timed_runs : 1;
  plan.poison = random_poison(kNegativePoison);
  plan.confirm_poison = random_poison(kPositivePoison);
  const ReplayResult replayed = replayer_->run(plan, job.stop);
  job.verdict.replay_ms = replayed.replay_ms;
  if (replayed.infrastructure) return job.infrastructure("replay", replayed.reason);
  if (!replayed.fault_class.empty()) return job.fault("replay", replayed.fault_class, replayed.reason);

  std::string worst_class;
  std::vector<double> times;
  for (int d = 0; d < trials; ++d) {
    const ReplayTrial& trial = replayed.trials[static_cast<size_t>(d)];
    if (trial.fault_class == "nondeterministic") return job.graded(trial.fault_class, trial.message);
    if (!trial.fault_class.empty()) return job.fault("replay", trial.fault_class, trial.message);
    const auto& expected = known->draws[(first + static_cast<size_t>(d)) % known->draws.size()].expected;
    const auto bytes = trace.output_layout().draw_bytes;
    const Comparison compared =
        compare_outputs(trace.output_layout(),
                        std::string_view(replayed.outputs).substr(static_cast<size_t>(d) * bytes, bytes),
                        expected, job.tolerance());
    job.verdict.max_error_ratio = std::max(job.verdict.max_error_ratio, compared.max_error_ratio);
    if (compared.fault_class.empty())
      ++job.verdict.trials_passed;
    else if (worst_class != "non_finite")
      worst_class = compared.fault_class;
    times.insert(times.end(), trial.run_ms.begin(), trial.run_ms.end());
  }
  job.verdict.coverage = trace.launches() > 0 ? 1 : 0;
  if (!worst_class.empty())
    return job.graded(worst_class, concat(job.verdict.trials_passed, " of ", trials, " trials are right"));
  if (!confirm(job, trace.output_layout(), replayed, known->draws[first].expected)) return;
  job.graded("", "");
  if (!job.request.protocol.measure_time || times.empty()) return;
  std::sort(times.begin(), times.end());
  job.verdict.candidate_ms = quantile(times, 0.5);
  job.verdict.candidate_spread_ms = quantile(times, 0.75) - quantile(times, 0.25);
  job.verdict.eager_ms = known->eager_ms;
  job.verdict.eager_spread_ms = known->eager_spread_ms;
}

// A right answer is checked twice more on its first draw: it must stay the same under another filling of
// fresh memory and another order of threads, and it must not come out if no kernel runs.
bool Pipeline::confirm(Job& job, const OutputLayout& layout, const ReplayResult& replayed,
                       const std::vector<std::string>& expected) const {
  BICRL_CHECK(replayed.confirm.size() == 2, "confirming runs");
  const std::string_view all = replayed.outputs;
  const auto slot = [&](size_t index) { return all.substr(index * layout.draw_bytes, layout.draw_bytes); };
  const size_t reversed = replayed.trials.size(), without_kernels = reversed + 1;
  if (!replayed.confirm[0].fault_class.empty()) {
    job.graded("nondeterministic", "fails with another order of threads: " + replayed.confirm[0].message);
    return false;
  }
  if (!compare_outputs(layout, slot(reversed), expected, job.tolerance()).fault_class.empty() ||
      !outputs_agree(layout, slot(reversed), slot(0), job.tolerance())) {
    job.graded("nondeterministic",
               "another order of threads or other contents of fresh memory give another answer");
    return false;
  }
  if (replayed.confirm[1].fault_class.empty() &&
      compare_outputs(layout, slot(without_kernels), expected, job.tolerance()).fault_class.empty()) {
    job.fault("compare", "dead_kernel", "the answer is the same if no kernel runs");
    return false;
  }
  return true;
}

// The host part reads device data: each trial runs in a fork of its own, on real inputs.
void Pipeline::grade_direct(Job& job) {
  job.verdict.tier = "direct";
  job.verdict.reached = "record";
  const auto known = answers(job);
  if (!known) return;
  const size_t first = job.task->next_rotation();
  std::string worst_class;
  for (int d = 0; d < job.request.protocol.trials; ++d) {
    const OracleDraw& draw = known->draws[(first + static_cast<size_t>(d)) % known->draws.size()];
    const RecordResult ran =
        recorder_->run(job.request.program, job.request.pytorch_code, *job.spec, &draw, job.stop);
    job.verdict.compile_ms += ran.compile_ms;
    job.verdict.replay_ms += ran.record_ms;
    job.verdict.compiled = job.verdict.compiled || ran.compiled;
    if (ran.infrastructure) return job.infrastructure(ran.reached, ran.reason);
    if (ran.fault_class == "needs_data") return job.fault("record", "unsupported", ran.reason);
    if (!ran.fault_class.empty()) return job.fault(ran.reached, ran.fault_class, ran.reason);
    if (!ran.direct || !ran.module)
      return job.fault("record", "dead_kernel", "the program never compiled its kernels");
    if (!structure_matches(job, ran.direct->returned)) return;
    const ProducerCheck producers = ran.direct->check_producers();
    if (!producers.fault_class.empty()) return job.fault("record", producers.fault_class, producers.reason);
    const Comparison compared =
        compare_outputs(ran.direct->returned.layout, ran.direct->bytes, draw.expected, job.tolerance());
    job.verdict.max_error_ratio = std::max(job.verdict.max_error_ratio, compared.max_error_ratio);
    if (compared.fault_class.empty())
      ++job.verdict.trials_passed;
    else if (worst_class != "non_finite")
      worst_class = compared.fault_class;
  }
  job.verdict.coverage = 1;
  job.graded(worst_class, worst_class.empty() ? ""
                                              : concat(job.verdict.trials_passed, " of ", job.verdict.trials,
                                                       " trials are right"));
}

}  // namespace bicrl
