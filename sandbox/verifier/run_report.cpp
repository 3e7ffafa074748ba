#include "sandbox/verifier/run_report.h"

#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {

Fault read_fault(const nlohmann::json& fault) {
  const auto fault_class = find_fault_class(fault.at("class").get<std::string>());
  if (!fault_class) throw Error("a report names a class of faults that there is not");
  std::string text;
  const std::string kernel = fault.value("kernel", "");
  if (!kernel.empty()) text = readable_name(kernel) + ": ";
  text += fault.value("message", "");
  if (const int line = fault.value("line", 0); line > 0) text += concat(" (line ", line, " of cuda_sources)");
  return Fault::of_program(*fault_class, std::move(text));
}

nlohmann::json to_json(const RunRequest& run) {
  return {{"test_input", run.test_input},
          {"repeat_inputs", run.repeat_inputs},
          {"seed", run.seed},
          {"warps_apart", run.warps_apart},
          {"shadows", run.shadows},
          {"skip_launches", run.skip_launches},
          {"watch_reads", run.watch_reads},
          {"count", run.count}};
}

void read_sample(const nlohmann::json& said, SampleResult& result) {
  for (const auto& launch : said.at("launches")) {
    SampledLaunch& sampled = result.launches.emplace_back();
    sampled.parameters = launch.at("parameters").get<std::vector<std::pair<uint32_t, uint32_t>>>();
    for (const auto& block : launch.at("blocks"))
      sampled.blocks.push_back({block.at(0), block.at(1), block.at(2), block.at(3), block.at(4)});
  }
  if (said.contains("fault")) result.fault = read_fault(said["fault"]);
  result.ran = true;
}

void read_runs(const nlohmann::json& said, const RunPlan& plan, std::string outputs, RunResult& result) {
  std::string_view left = result.memory.emplace_back(std::move(outputs));
  const auto take = [&left](size_t bytes) {
    if (bytes > left.size()) throw Error("the outputs of runs are cut off");
    const std::string_view part = left.substr(0, bytes);
    left.remove_prefix(bytes);
    return part;
  };
  const auto take_call = [&take](const OutputLayout& layout, bool shadows) {
    CallOutcome call;
    call.outputs = take(layout.total_bytes);
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
    if (!run.copied_leaves.empty()) run.copied = take(layout.total_bytes);
    const auto calls = one.at("calls").get<size_t>();
    run.first_repeat = one.value("first_repeat", size_t{0});
    for (size_t i = 1; i < calls; ++i)
      run.repeats.push_back(take_call(repeats.at(run.first_repeat + i - 1).returned.layout, shadows));
    for (const auto& reordered : one.value("reordered", nlohmann::json::array())) {
      const auto call = reordered.at(0).get<size_t>();
      const OutputLayout& of_call =
          call == 0 ? layout : repeats.at(run.first_repeat + call - 1).returned.layout;
      run.reordered.push_back({call, take(of_call.total_bytes), reordered.at(1)});
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
      run.fault = read_fault(one["fault"]);
      if (calls > 1 && !one["fault"].value("of_all_calls", false))
        run.fault.reason = concat("at call ", run.first_repeat + calls, " of forward: ", run.fault.reason);
    }
    result.runs.push_back(std::move(run));
  }
  const bool failed = !result.runs.empty() && static_cast<bool>(result.runs.back().fault);
  if (!failed && result.runs.size() != plan.runs.size()) throw Error("a report leaves out runs");
}

}  // namespace bicrl
