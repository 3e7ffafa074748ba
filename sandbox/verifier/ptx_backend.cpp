#include "sandbox/verifier/ptx_backend.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/files.h"
#include "sandbox/box/box.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/process/processor_wait.h"
#include "sandbox/interpreter/executor/stream_order.h"
#include "sandbox/verifier/run_report.h"

namespace bicrl {
namespace {

constexpr int kOutputFd = 16, kControlFd = 17;
constexpr uint64_t kMaxControlBytes = 16u << 20;

void lose_run(RunResult& result, const std::string& reason) {
  result.infrastructure = true;
  result.reason = reason;
}

void fail_run(RunResult& result, const std::string& fault_class, const std::string& reason) {
  result.fault_class = fault_class;
  result.reason = reason;
}

// The program runs no code of the candidate: what ends it is a limit, or a defect of ours.
void set_end(const BoxResult& box, RunResult& result) {
  switch (box.end) {
    case BoxEnd::kExited:
      if (box.code == 0) return;
      if (box.code == 4) return fail_run(result, "memory", "the kernels need more memory than their limit");
      return lose_run(result,
                      concat("the executor failed (status ", box.code, ") ", box.output.substr(0, 400)));
    case BoxEnd::kMemory:
      return fail_run(result, "memory", "the kernels need more memory than their limit");
    case BoxEnd::kCancelled:
      return lose_run(result, "cancelled");
    case BoxEnd::kSignalled:
      return lose_run(result, concat("the executor crashed (", strsignal(box.code), ")"));
    case BoxEnd::kTimeout:
    case BoxEnd::kOutputLimit:
    case BoxEnd::kBoxFailed:
      return lose_run(result, "execution box: " + box.reason);
  }
}

}  // namespace

PtxBackend::PtxBackend(BoxHost& host, ScratchFolder& scratch, std::shared_ptr<DrawFiles> draws,
                       const ExecuteOptions& options)
    : host_(host), scratch_(scratch), draws_(std::move(draws)), options_(options) {}

RunResult PtxBackend::run(const RunPlan& plan, std::stop_token stop) {
  RunResult result;
  const uint64_t buffers = plan.trace->buffer_bytes();
  if (buffers > options_.max_buffer_bytes) {
    fail_run(result, "memory",
             concat("allocates ", buffers >> 20, " MiB of device memory, over the limit of ",
                    options_.max_buffer_bytes >> 20, " MiB"));
    return result;
  }
  try {
    execute(plan, stop, result);
  } catch (const nlohmann::json::exception&) {
    lose_run(result, "the executor's report is malformed");
  } catch (const Error& error) {
    lose_run(result, error.what());
  }
  return result;
}

void PtxBackend::execute(const RunPlan& plan, std::stop_token stop, RunResult& result) {
  BoxSpec spec;
  spec.argv = {"/executor/bicrl-execute", "/job/plan"};
  spec.mounts = {{share_folder() / "executor", "/executor"}};
  std::vector<std::shared_ptr<const ScratchFile>> files;  // as long as the box needs them
  const auto show = [&](std::shared_ptr<const ScratchFile> file, const std::string& path) {
    spec.mounts.push_back({file->path(), path});
    files.push_back(std::move(file));
    return path;
  };
  nlohmann::json asked{{"output_fd", kOutputFd},
                       {"control_fd", kControlFd},
                       {"lane_operations", options_.lane_operations},
                       {"max_bytes", options_.max_buffer_bytes},
                       {"ptx", nlohmann::json::array()},
                       {"draws", nlohmann::json::array()},
                       {"runs", nlohmann::json::array()}};
  asked["trace"] = show(scratch_.write(plan.trace->encode()), "/job/trace");
  for (size_t i = 0; i < plan.modules.size(); ++i)
    asked["ptx"].push_back(show(scratch_.write(*plan.modules[i].ptx), concat("/job/ptx", i)));
  for (size_t i = 0; i < plan.draws.size(); ++i) {
    auto file = draws_->file(plan.trace->inputs, plan.draws[i]);
    if (!file) return lose_run(result, file.reason());
    asked["draws"].push_back(show(file.value(), concat("/job/draw", i)));
  }
  for (const RunRequest& run : plan.runs) asked["runs"].push_back(to_json(run));
  show(scratch_.write(asked.dump()), "/job/plan");
  const UniqueFd outputs = make_memfd("outputs"), control = make_memfd("control");
  spec.fds = {{outputs.get(), kOutputFd}, {control.get(), kControlFd}};
  const auto shadowed = static_cast<size_t>(std::ranges::count(plan.runs, true, &RunRequest::shadows));
  const size_t calls = (plan.runs.size() + shadowed * kMaxOrders) * (1 + plan.trace->repeats.size());
  spec.limits.cpu_s = options_.cpu_s;
  spec.limits.wall_s = kBusyMachineFactor * options_.cpu_s;
  spec.limits.memory_bytes = options_.memory_bytes;
  spec.limits.file_bytes =
      std::max<uint64_t>(kMaxControlBytes, 3 * calls * (plan.trace->output_layout().draw_bytes + 4096));
  const BoxResult box = run_box(host_, spec, stop);
  result.run_ms = box.total_ms;
  set_end(box, result);
  if (result.infrastructure || !result.fault_class.empty()) return;
  const auto said = nlohmann::json::parse(read_whole(control.get()));
  if (said.contains("error")) return lose_run(result, said["error"]);
  if (said.contains("unsupported")) return fail_run(result, "unsupported", said["unsupported"]);
  read_runs(said, plan, read_whole(outputs.get()), result);
}

}  // namespace bicrl
