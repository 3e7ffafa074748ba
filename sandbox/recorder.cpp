#include "sandbox/recorder.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "common/files.h"

namespace bicrl {
namespace {

// What a process that runs candidate code may say of itself. "infrastructure" is not among it: a candidate
// must not be able to have itself retried and masked.
constexpr std::array kClaimable = {
    "extract",      "compile",  "unsupported",    "library_call", "record", "framework_fallback",
    "dead_kernel",  "launch",   "illegal_access", "timeout",      "memory", "process",
    "output_limit", "cheating", "needs_data"};

std::string last_lines(const std::string& output) {
  constexpr size_t kKeep = 400;
  return output.size() > kKeep ? "..." + output.substr(output.size() - kKeep) : output;
}

void set_fault(RecordResult& result, const std::string& fault_class, const std::string& reason) {
  result.fault_class = fault_class;
  result.reason = reason;
}

void set_end(const ChildResult& end, RecordResult& result) {
  switch (end.end) {
    case ChildEnd::kTimeout:
      return set_fault(result, "timeout", "the host part did not finish in time");
    case ChildEnd::kMemory:
      return set_fault(result, "memory", "the host part needs more memory than its limit");
    case ChildEnd::kOutputLimit:
      return set_fault(result, "output_limit", "the host part prints too much");
    case ChildEnd::kBadFrame:
      return set_fault(result, "cheating", "wrote to the verifier's channel: " + end.reason);
    case ChildEnd::kSignalled:
      if (end.code == SIGSYS) return set_fault(result, "process", "the host part starts processes");
      if (end.code == SIGXFSZ) return set_fault(result, "output_limit", "wrote a file larger than its limit");
      if (end.code == SIGKILL) return set_fault(result, "cheating", "closed the verifier's channel");
      return set_fault(result, "illegal_access",
                       concat("the host part crashed (", strsignal(end.code), ") ", last_lines(end.output)));
    case ChildEnd::kExited:
      // The recorder never ends its process by itself before its last frame.
      if (end.code == 0)
        return set_fault(result, "cheating", "ended its process before the end of the recording");
      return set_fault(result, "record",
                       concat("ended its process with status ", end.code, " ", last_lines(end.output)));
    case ChildEnd::kCancelled:
    case ChildEnd::kBoxFailed:
      break;
  }
  result.infrastructure = true;
  result.reason = end.end == ChildEnd::kCancelled ? "cancelled" : "record box: " + end.reason;
}

std::vector<std::string> texts(const nlohmann::json& header, const char* key) {
  const auto found = header.find(key);
  if (found == header.end() || found->is_null()) return {};
  return found->get<std::vector<std::string>>();
}

}  // namespace

Recorder::Recorder(BoxHost& host, const PythonInstall& python, CandidateCompiler& compiler,
                   const RecordOptions& options)
    : zygote_(host, python, {"record", "recorder", "run_candidate", {share_folder() / "host"}}),
      compiler_(compiler),
      options_(options) {}

RecordResult Recorder::run(const std::string& program, const std::string& task_code, const OracleSpec& spec,
                           const OracleDraw* draw, std::stop_token stop) {
  RecordResult result;
  const Stopwatch clock;
  ChildLimits limits;
  limits.wall_s = options_.wall_s;
  limits.cpu_s = static_cast<int>(options_.wall_s) + 1;
  limits.memory_bytes = options_.memory_bytes;
  limits.frames.blob_bytes = options_.trace_bytes;
  auto child = zygote_.fork(limits, stop);
  if (!child) {
    result.infrastructure = true;
    result.reason = child.reason();
    return result;
  }
  const nlohmann::json request{{"kind", "run"},
                               {"mode", draw ? "direct" : "record"},
                               {"program", program},
                               {"task_code", task_code},
                               {"init_seed", spec.init_seed},
                               {"inputs", spec.inputs},
                               {"small_parameter_elements", 1000}};
  std::vector<std::string_view> blobs;
  if (draw) blobs.assign(draw->inputs.begin(), draw->inputs.end());
  try {
    if (child.value()->send(request, blobs, stop)) converse(*child.value(), spec, stop, result);
  } catch (const nlohmann::json::exception& error) {
    set_fault(result, "cheating", "wrote a malformed message to the verifier's channel");
  }
  const bool answered = result.trace || result.direct || result.infrastructure || !result.fault_class.empty();
  if (answered)
    zygote_.dismiss(std::move(child.value()));
  else
    set_end(child.value()->finish(), result);
  result.record_ms = clock.ms() - result.compile_ms;
  return result;
}

void Recorder::converse(ZygoteChild& child, const OracleSpec& spec, std::stop_token stop,
                        RecordResult& result) {
  while (auto frame = child.receive(stop)) {
    const std::string kind = frame->header.value("kind", "");
    if (kind == "compile") {
      if (!compile(child, *frame, stop, result)) return;
    } else if (kind == "trace") {
      auto trace = Trace::parse(frame->header, std::move(frame->blobs), spec.layout);
      if (trace)
        result.trace = std::move(trace.value());
      else
        set_fault(result, "cheating", "the launch trace is not valid: " + trace.reason());
      return;
    } else if (kind == "result") {
      auto direct = parse_direct_result(frame->header, std::move(frame->blobs));
      if (direct)
        result.direct = std::move(direct.value());
      else
        set_fault(result, "cheating", "the result is not valid: " + direct.reason());
      return;
    } else if (kind == "fault") {
      const std::string claimed = frame->header.value("class", "");
      const bool known = std::find(kClaimable.begin(), kClaimable.end(), claimed) != kClaimable.end();
      if (claimed == "extract") result.reached = "extract";
      return set_fault(result, known ? claimed : "record", frame->header.value("message", ""));
    } else {
      return set_fault(result, "cheating", "wrote an unknown message to the verifier's channel");
    }
  }
}

// False when the verdict is known.
bool Recorder::compile(ZygoteChild& child, const Frame& frame, std::stop_token stop, RecordResult& result) {
  const Stopwatch clock;
  CompileResult compiled;
  if (result.module) {
    compiled.fault_class = "unsupported";
    compiled.reason = "more than one load_inline in a program";
  } else {
    const CudaProgram program{texts(frame.header, "cuda_sources"), texts(frame.header, "cpp_sources"),
                              texts(frame.header, "functions")};
    compiled = compiler_.compile(program, stop);
    result.compile_ms += clock.ms();
    child.extend(clock.seconds());
  }
  if (compiled.module) {
    result.compiled = true;
    result.module = compiled.module;
    return child.send({{"kind", "module"}, {"ok", true}}, {*compiled.module}, stop);
  }
  result.infrastructure = compiled.infrastructure;
  result.reached = "compile";
  if (compiled.infrastructure)
    result.reason = compiled.reason;
  else
    set_fault(result, compiled.fault_class, compiled.reason);
  return false;
}

}  // namespace bicrl
