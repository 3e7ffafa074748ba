#include "sandbox/ptx_backend.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/files.h"
#include "sandbox/box/box.h"
#include "sandbox/box/processor_wait.h"
#include "sandbox/box/unique_fd.h"
#include "sandbox/device/entry_names.h"
#include "sandbox/executor/stream_order.h"

namespace bicrl {
namespace {

constexpr int kOutputFd = 16, kControlFd = 17;
constexpr uint64_t kMaxControlBytes = 16u << 20;

void infrastructure(RunResult& result, const std::string& reason) {
  result.infrastructure = true;
  result.reason = reason;
}

void fault(RunResult& result, const std::string& fault_class, const std::string& reason) {
  result.fault_class = fault_class;
  result.reason = reason;
}

// The program runs no code of the candidate: what ends it is a limit, or a defect of ours.
void set_end(const BoxResult& box, RunResult& result) {
  switch (box.end) {
    case BoxEnd::kExited:
      if (box.code == 0) return;
      if (box.code == 4) return fault(result, "memory", "the kernels need more memory than their limit");
      return infrastructure(
          result, concat("the executor failed (status ", box.code, ") ", box.output.substr(0, 400)));
    case BoxEnd::kMemory:
      return fault(result, "memory", "the kernels need more memory than their limit");
    case BoxEnd::kCancelled:
      return infrastructure(result, "cancelled");
    case BoxEnd::kSignalled:
      return infrastructure(result, concat("the executor crashed (", strsignal(box.code), ")"));
    case BoxEnd::kTimeout:
    case BoxEnd::kOutputLimit:
    case BoxEnd::kBoxFailed:
      return infrastructure(result, "execution box: " + box.reason);
  }
}

std::string message_of(const nlohmann::json& fault) {
  std::string text;
  const std::string kernel = fault.value("kernel", "");
  if (!kernel.empty()) text = readable_name(kernel) + ": ";
  text += fault.value("message", "");
  if (const int line = fault.value("line", 0); line > 0) text += concat(" (line ", line, " of cuda_sources)");
  return text;
}

// The outputs lie one behind the other, as far as there are runs.
void read_runs(const nlohmann::json& said, const RunPlan& plan, RunResult& result) {
  std::string_view left = result.memory;
  const auto take = [&left](size_t bytes) {
    if (bytes > left.size()) throw Error("the executor's outputs are cut off");
    const std::string_view part = left.substr(0, bytes);
    left.remove_prefix(bytes);
    return part;
  };
  const auto take_call = [&take](const OutputLayout& layout, bool shadows) {
    CallOutcome call;
    call.outputs = take(layout.draw_bytes);
    if (shadows) call.writers = take(layout.numel());
    return call;
  };
  const auto& repeats = plan.trace->repeats;
  for (const auto& one : said.at("runs")) {
    RunOutcome run;
    const bool shadows = plan.runs.at(result.runs.size()).shadows;
    const OutputLayout& layout = plan.trace->output_layout();
    run.first = take_call(layout, shadows);
    run.copied_leaves = one.value("copied", std::vector<uint32_t>{});
    if (!run.copied_leaves.empty()) run.copied = take(layout.draw_bytes);
    const auto calls = one.at("calls").get<size_t>();
    run.first_repeat = one.value("first_repeat", size_t{0});
    for (size_t i = 1; i < calls; ++i)
      run.repeats.push_back(take_call(repeats.at(run.first_repeat + i - 1).returned.layout, shadows));
    for (const auto& reordered : one.value("reordered", nlohmann::json::array())) {
      const auto call = reordered.at(0).get<size_t>();
      const OutputLayout& of_call =
          call == 0 ? layout : repeats.at(run.first_repeat + call - 1).returned.layout;
      run.reordered.push_back({call, take(of_call.draw_bytes), reordered.at(1)});
    }
    run.lane_operations = one.at("lane_operations");
    run.changed_inputs = one.at("changed_inputs").get<std::vector<uint32_t>>();
    run.overwritten_outputs = one.value("overwritten_outputs", std::vector<uint32_t>{});
    for (const auto& bytes : one.value("unread", nlohmann::json::array()))
      run.unread.push_back({bytes.at(0), bytes.at(1), bytes.at(2)});
    run.benign_races = one.value("benign_races", false);
    if (one.contains("counters"))
      for (const auto& launch : one["counters"]) run.counters.push_back(launch_counters_from_json(launch));
    if (one.contains("fault")) {
      run.fault_class = one["fault"].at("class");
      run.message = message_of(one["fault"]);
      if (calls > 1 && !one["fault"].value("of_all_calls", false))
        run.message = concat("at call ", run.first_repeat + calls, " of forward: ", run.message);
    }
    result.runs.push_back(std::move(run));
  }
  const bool failed = !result.runs.empty() && !result.runs.back().fault_class.empty();
  if (!failed && result.runs.size() != plan.runs.size()) throw Error("the executor left out runs");
}

}  // namespace

PtxBackend::PtxBackend(BoxHost& host, ScratchFolder& scratch, const ExecuteOptions& options)
    : host_(host), scratch_(scratch), options_(options), inputs_(options.input_cache_bytes) {}

Result<std::shared_ptr<const ScratchFile>> PtxBackend::inputs(const InputLayout& layout,
                                                              const DrawInputs& draw) {
  using Reply = Result<std::shared_ptr<const ScratchFile>>;
  if (auto known = inputs_.find(draw.key)) return Reply(std::move(*known));
  const auto encoded = encode_inputs(layout, {*draw.leaves});
  if (!encoded) return Reply::failure(encoded.reason());
  std::shared_ptr<const ScratchFile> file = scratch_.write(encoded.value());
  inputs_.insert(draw.key, file, encoded.value().size());
  return Reply(std::move(file));
}

RunResult PtxBackend::run(const RunPlan& plan, std::stop_token stop) {
  RunResult result;
  const uint64_t buffers = plan.trace->buffer_bytes();
  if (buffers > options_.max_buffer_bytes) {
    fault(result, "memory",
          concat("allocates ", buffers >> 20, " MiB of device memory, over the limit of ",
                 options_.max_buffer_bytes >> 20, " MiB"));
    return result;
  }
  try {
    execute(plan, stop, result);
  } catch (const nlohmann::json::exception&) {
    infrastructure(result, "the executor's report is malformed");
  } catch (const Error& error) {
    infrastructure(result, error.what());
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
    auto file = inputs(plan.trace->inputs, plan.draws[i]);
    if (!file) return infrastructure(result, file.reason());
    asked["draws"].push_back(show(file.value(), concat("/job/draw", i)));
  }
  for (const RunRequest& run : plan.runs)
    asked["runs"].push_back({{"draw", run.draw},
                             {"repeat_draws", run.repeat_draws},
                             {"seed", run.seed},
                             {"warps_apart", run.warps_apart},
                             {"shadows", run.shadows},
                             {"skip_launches", run.skip_launches},
                             {"watch_reads", run.watch_reads},
                             {"count", run.count}});
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
  if (said.contains("error")) return infrastructure(result, said["error"]);
  if (said.contains("unsupported")) return fault(result, "unsupported", said["unsupported"]);
  result.memory = read_whole(outputs.get());
  read_runs(said, plan, result);
}

}  // namespace bicrl
