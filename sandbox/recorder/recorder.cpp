#include "sandbox/recorder/recorder.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "common/files/files.h"
#include "common/files/last_lines.h"

namespace bicrl {
namespace {

// What a process that runs candidate code may say of itself. "infrastructure" is not among it: a candidate
// must not be able to have itself retried and masked.
constexpr std::array kClaimableOfRecorder = {
    FaultClass::kExtract,     FaultClass::kCompile, FaultClass::kUnsupported,
    FaultClass::kLibraryCall, FaultClass::kRecord,  FaultClass::kFrameworkFallback,
    FaultClass::kDeadKernel,  FaultClass::kLaunch,  FaultClass::kIllegalAccess,
    FaultClass::kTimeout,     FaultClass::kMemory,  FaultClass::kProcess,
    FaultClass::kOutputLimit, FaultClass::kHostRead};

void set_fault(RecordResult& result, FaultClass fault_class, const std::string& reason) {
  result.fault = Fault::of_program(fault_class, reason);
}

void set_end(const ChildResult& end, RecordResult& result) {
  switch (end.end) {
    case ChildEnd::kTimeout:
      return set_fault(result, FaultClass::kTimeout, "the host part did not finish in time");
    case ChildEnd::kMemory:
      return set_fault(result, FaultClass::kMemory, "the host part needs more memory than its limit");
    case ChildEnd::kOutputLimit:
      return set_fault(result, FaultClass::kOutputLimit, "the host part prints too much");
    case ChildEnd::kBadFrame:
      return set_fault(result, FaultClass::kProtocol, "wrote to the verifier's channel: " + end.reason);
    case ChildEnd::kSignalled:
      if (end.code == SIGSYS)
        return set_fault(result, FaultClass::kProcess, "the host part starts processes");
      if (end.code == SIGXFSZ)
        return set_fault(result, FaultClass::kOutputLimit, "wrote a file larger than its limit");
      if (end.code == SIGKILL)
        return set_fault(result, FaultClass::kProtocol, "closed the verifier's channel");
      return set_fault(result, FaultClass::kIllegalAccess,
                       concat("the host part crashed (", strsignal(end.code), ") ", last_lines(end.output)));
    case ChildEnd::kExited:
      // The recorder never ends its process by itself before its last frame.
      if (end.code == 0)
        return set_fault(result, FaultClass::kProtocol, "ended its process before the end of the recording");
      return set_fault(result, FaultClass::kRecord,
                       concat("ended its process with status ", end.code, " ", last_lines(end.output)));
    case ChildEnd::kCancelled:
    case ChildEnd::kBoxFailed:
      break;
  }
  result.fault =
      Fault::infrastructure(end.end == ChildEnd::kCancelled ? "cancelled" : "record box: " + end.reason);
}

}  // namespace

Recorder::Recorder(BoxHost& host, const PythonInstall& python, CandidateCompiler& compiler,
                   const RecordOptions& options)
    : zygote_(host, python, {"record", "recorder", "run_candidate", {share_folder() / "host"}}),
      compiler_(compiler),
      options_(options) {}

// What has come of a program so far.
struct Recorder::Progress {
  const std::string& architecture;
  RecordResult result{};
  size_t source_bytes = 0;
};

RecordResult Recorder::run(const std::string& program, const OracleSpec& spec, std::stop_token stop,
                           const std::string& architecture) {
  Progress progress{architecture};
  RecordResult& result = progress.result;
  const Stopwatch clock;
  ChildLimits limits;
  limits.wall_s = options_.wall_s;
  limits.cpu_s = static_cast<int>(options_.wall_s) + 1;
  limits.memory_bytes = options_.memory_bytes;
  limits.frames.blob_bytes = options_.trace_bytes;
  auto child = zygote_.fork(limits, stop);
  if (!child) {
    result.fault = Fault::infrastructure(child.reason());
    return result;
  }
  const nlohmann::json request{{"kind", "run"},
                               {"program", program},
                               {"arguments", spec.arguments},
                               {"init_seed", spec.init_seed},
                               {"inputs", spec.inputs},
                               {"parameters", spec.parameters},
                               {"ignores_mode", spec.ignores_mode},
                               {"certain_calls_only", spec.is_recorded_only},
                               {"small_parameter_elements", 1000}};
  const std::vector<std::string_view> argument_bytes(spec.argument_bytes.begin(), spec.argument_bytes.end());
  try {
    if (child.value()->send(request, argument_bytes, stop)) converse(*child.value(), spec, stop, progress);
  } catch (const nlohmann::json::exception& error) {
    set_fault(result, FaultClass::kProtocol, "wrote a malformed message to the verifier's channel");
  }
  const bool answered = result.trace || result.fault;
  if (answered)
    zygote_.dismiss(std::move(child.value()));
  else
    set_end(child.value()->finish(), result);
  result.record_ms = clock.ms() - result.compile_ms;
  return result;
}

void Recorder::converse(ZygoteChild& child, const OracleSpec& spec, std::stop_token stop,
                        Progress& progress) {
  RecordResult& result = progress.result;
  while (auto frame = child.receive(stop)) {
    const std::string kind = frame->header.value("kind", "");
    if (kind == "compile") {
      if (!compile(child, *frame, stop, progress)) return;
    } else if (kind == "trace") {
      auto trace = Trace::parse(frame->header, std::move(frame->blobs), spec.layout);
      if (!trace)
        return set_fault(result, FaultClass::kProtocol, "the launch trace is not valid: " + trace.reason());
      if (trace.value().modules() > result.modules.size())
        return set_fault(result, FaultClass::kProtocol,
                         "the launch trace names a module that was never compiled");
      if (trace.value().repeats.size() < kCertainRepeats)
        return set_fault(result, FaultClass::kProtocol, "the launch trace has too few calls of forward");
      if (trace.value().uploaded_bytes() > options_.upload_bytes)
        return set_fault(
            result, FaultClass::kMemory,
            concat("the host part uploads ", trace.value().uploaded_bytes() >> 20,
                   " MiB of data of its own, over the limit of ", options_.upload_bytes >> 20, " MiB"));
      result.trace = std::move(trace.value());
      return;
    } else if (kind == "fault") {
      const auto claimed = find_fault_class(frame->header.value("class", ""));
      const bool known =
          claimed && std::ranges::find(kClaimableOfRecorder, *claimed) != kClaimableOfRecorder.end();
      if (claimed == FaultClass::kExtract) result.reached = "extract";
      return set_fault(result, known ? *claimed : FaultClass::kRecord, frame->header.value("message", ""));
    } else {
      return set_fault(result, FaultClass::kProtocol, "wrote an unknown message to the verifier's channel");
    }
  }
}

// False when the verdict is known.
bool Recorder::compile(ZygoteChild& child, const Frame& frame, std::stop_token stop, Progress& progress) {
  RecordResult& result = progress.result;
  const Stopwatch clock;
  const CudaProgram program = read_cuda_program(frame.header);
  result.reached = "compile";
  if (result.modules.size() >= options_.modules) {
    set_fault(result, FaultClass::kUnsupported,
              concat("more than ", options_.modules, " calls of load_inline"));
    return false;
  }
  const CompileResult compiled =
      compiler_.compile(program, stop, progress.source_bytes, progress.architecture);
  progress.source_bytes += source_bytes(program);
  result.compile_ms += clock.ms();
  child.extend(clock.seconds());
  if (compiled.module) {
    result.reached = "record";
    result.modules.push_back({compiled.ptx});
    result.programs.push_back(program);
    return child.send({{"kind", "module"}, {"ok", true}}, {*compiled.module}, stop);
  }
  result.fault = compiled.fault;
  return false;
}

}  // namespace bicrl
