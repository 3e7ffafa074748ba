// A program that is right once more under compute-sanitizer: one process for each tool, with a context of its
// own, as a tool is there from a process's start or not at all.
#include <chrono>
#include <iterator>
#include <mutex>

#include "common/files/files.h"
#include "sandbox/gpu/gpu_backend.h"
#include "sandbox/gpu/process_lease.h"
#include "sandbox/verifier/run_report.h"

namespace bicrl {
namespace {

constexpr double kWatchedStart_s = 3 * kGpuStart_s;
constexpr double kReportEnd_s = 10;
constexpr auto kSanitizerLook = std::chrono::milliseconds(100);

// Why the program was not run to its end; empty: it was.
std::string problem_of(GpuProcess::Reply::Kind kind, const std::string& control) {
  switch (kind) {
    case GpuProcess::Reply::Kind::kCancelled:
      return "cancelled";
    case GpuProcess::Reply::Kind::kSilent:
      return "the GPU's process says nothing within its limit";
    case GpuProcess::Reply::Kind::kGone:
      return "the GPU's process has ended";
    case GpuProcess::Reply::Kind::kDone:
      break;
  }
  const auto said = nlohmann::json::parse(control, nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) return "the report of the GPU's process is malformed";
  for (const char* key : {"error", "unsupported"})
    if (said.contains(key)) return said.value(key, "");
  const auto& runs = said.value("runs", nlohmann::json::array());
  if (runs.size() != 1) return "the report of the GPU's process is malformed";
  return runs[0].contains("fault") ? read_fault(runs[0]["fault"]).reason : "";
}

}  // namespace

void GpuBackend::find_tools() {
  sanitizer_ = find_sanitizer();
  features_.sanitizes = !sanitizer_.empty();
  if (features_.sanitizes) features_.present.push_back("sanitizer: " + sanitizer_.string());
}

SanitizerReport GpuBackend::sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                                     std::stop_token stop) {
  BICRL_CHECK(features_.sanitizes, "this host has no compute-sanitizer");
  SanitizerReport result;
  const auto add_problem = [&result](const std::string& text) {
    result.problem += concat(result.problem.empty() ? "" : "; ", text);
  };
  try {
    const Assembled assembled = assemble(plan.modules, stop);
    if (!assembled.done) return {.findings = {}, .problem = assembled.failed.fault.reason};
    std::unique_lock alone(watching_, std::defer_lock);
    while (!alone.try_lock_for(kSanitizerLook))
      if (stop.stop_requested()) return {.findings = {}, .problem = "cancelled"};
    for (const std::string& tool : tools) {
      if (stop.stop_requested()) break;
      SanitizerReport report = watch(plan, assembled, tool, stop);
      if (!report.problem.empty()) add_problem(concat("compute-sanitizer ", tool, ": ", report.problem));
      std::ranges::move(report.findings, std::back_inserter(result.findings));
    }
    if (stop.stop_requested()) add_problem("cancelled");
  } catch (const std::exception& error) {  // out of descriptors or threads: nothing that a verdict hangs on
    add_problem(error.what());
  }
  if (result.problem.empty() || !result.findings.empty()) ++sanitized_;
  if (!result.findings.empty()) ++sanitizer_findings_;
  return result;
}

SanitizerReport GpuBackend::watch(const RunPlan& plan, const Assembled& assembled, const std::string& tool,
                                  std::stop_token stop) {
  const auto failure = [](const std::string& why) { return SanitizerReport{.findings = {}, .problem = why}; };
  JobFiles files;
  nlohmann::json asked = describe_program(*plan.trace, plan.modules, assembled, files);
  asked["watched"] = true;
  asked["limit_s"] = options_.sanitizer_s;
  auto test_input = input_files_->file(
      plan.trace->inputs, plan.test_inputs.at(plan.runs.empty() ? 0 : plan.runs.front().test_input));
  if (!test_input) return failure(test_input.reason());
  asked["test_inputs"].push_back(files.add(std::move(test_input.value())));
  asked["runs"] = {to_json(RunRequest{})};
  const size_t control = files.add(make_memfd("control"));
  asked["output_file"] = files.add(make_memfd("outputs"));
  asked["control_file"] = control;
  const size_t number = files.add(std::string_view(asked.dump()));

  // From its start the process works on the device: no window may be open beside it.
  const DeviceLease::Hold hold = lease_->share(stop);
  if (!hold) return failure("cancelled");
  GpuProcess process(host_, options_.device, options_.process_memory_bytes, sanitizer_, tool);
  if (const auto hello = process.hello(kWatchedStart_s, stop); !hello) {
    const std::string problem = read_sanitizer_report(tool, process.finish(0, stop)).problem;
    return failure(concat(hello.reason(), problem.empty() ? "" : "; ", problem));
  }
  const auto reply = process.ask(files.numbers(), number, options_.sanitizer_s + kGpuGrace_s, stop);
  SanitizerReport report = read_sanitizer_report(tool, process.finish(kReportEnd_s, stop));
  // A finding is one whatever became of the rest; that there is none says something of a whole run alone.
  const std::string problem = problem_of(reply.kind, read_whole(files.descriptor(control)));
  if (report.findings.empty() && !problem.empty())
    report.problem = concat(problem, report.problem.empty() ? "" : "; ", report.problem);
  return report;
}

}  // namespace bicrl
