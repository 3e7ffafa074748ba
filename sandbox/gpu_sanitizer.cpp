// A program that is right once more under compute-sanitizer: one process for each tool, with a context of its
// own, as a tool is there from a process's start or not at all.
#include "common/clock.h"
#include "common/log.h"
#include "sandbox/gpu_backend.h"
#include "sandbox/gpu_seat.h"
#include "sandbox/run_report.h"

namespace bicrl {
namespace {

constexpr double kWatchedStart_s = 3 * kGpuStart_s;
constexpr double kReportEnd_s = 30;

}  // namespace

void GpuBackend::find_tools() {
  sanitizer_ = find_sanitizer();
  features_.sanitizes = !sanitizer_.empty();
  if (features_.sanitizes) features_.present.push_back("sanitizer: " + sanitizer_.string());
}

SanitizerResult GpuBackend::sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                                     std::stop_token stop) {
  const Stopwatch clock;
  SanitizerResult result;
  BICRL_CHECK(features_.sanitizes, "this host has no compute-sanitizer");
  ++sanitized_;
  try {
    const Assembled assembled = assemble(plan.modules, stop);
    if (!assembled.done) {
      result.problem = assembled.failed.reason;
      return result;
    }
    for (const std::string& tool : tools) {
      auto found = watch(plan, assembled, tool, stop);
      if (!found) {
        result.problem = found.reason();
        break;
      }
      result.findings.insert(result.findings.end(), found.value().begin(), found.value().end());
    }
  } catch (const Error& error) {
    result.problem = error.what();
  }
  if (!result.findings.empty()) ++sanitizer_findings_;
  result.run_ms = clock.ms();
  result.device_lost = !result.problem.empty() && !stop.stop_requested() && is_lost(stop);
  return result;
}

Result<std::vector<SanitizerFinding>> GpuBackend::watch(const RunPlan& plan, const Assembled& assembled,
                                                        const std::string& tool, std::stop_token stop) {
  using Reply = Result<std::vector<SanitizerFinding>>;
  const auto failure = [&](const std::string& why) {
    return Reply::failure(concat("compute-sanitizer ", tool, ": ", why));
  };
  JobFiles files;
  nlohmann::json asked = describe_program(*plan.trace, plan.modules, assembled, files);
  asked["watched"] = true;
  asked["limit_s"] = options_.sanitizer_s;
  RunRequest run;
  run.draw = plan.runs.empty() ? 0 : plan.runs.front().draw;
  auto draw = draws_->file(plan.trace->inputs, plan.draws.at(run.draw));
  if (!draw) return failure(draw.reason());
  run.draw = 0;
  asked["draws"].push_back(files.add(std::move(draw.value())));
  asked["runs"] = {to_json(run)};
  asked["output_file"] = files.add(make_memfd("outputs"));
  asked["control_file"] = files.add(make_memfd("control"));
  const size_t number = files.add(std::string_view(asked.dump()));

  DeviceLease::Hold hold = lease_->share(stop);
  if (!hold) return failure("cancelled");
  GpuProcess process(host_, options_.device, options_.process_memory_bytes, sanitizer_, tool);
  if (const auto hello = process.hello(kWatchedStart_s, stop); !hello) {
    const auto told = read_sanitizer_report(tool, process.finish(0, stop));
    return failure(concat(hello.reason(), told ? "" : concat("; ", told.reason())));
  }
  const auto reply = process.ask(files.numbers(), number, options_.sanitizer_s + kGpuGrace_s, stop);
  if (reply.kind == GpuProcess::Reply::Kind::kCancelled) return failure("cancelled");
  if (reply.kind == GpuProcess::Reply::Kind::kSilent)
    return failure(concat("has not ended after ", options_.sanitizer_s, " s"));
  // A process whose kernels are at fault has gone, or is about to: the report is what is asked for.
  return read_sanitizer_report(tool, process.finish(kReportEnd_s, stop));
}

}  // namespace bicrl
