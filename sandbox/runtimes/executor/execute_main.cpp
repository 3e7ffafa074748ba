// bicrl-execute: runs a launch trace on secret inputs with the PTX interpreter, in a box that holds this
// program alone, and reports how each run ended. What it reads may be forged; it runs no code of it.
//   bicrl-execute PLAN
// PLAN is JSON: {"trace": path, "ptx": [paths], "test_inputs": [paths], "output_fd", "control_fd",
//   "lane_operations", "max_bytes", "runs": [{"test_input", "repeat_inputs", "seed", "warps_apart",
//   "shadows", "skip_launches", "watch_reads", "count"}]}, or
//   {"trace", "ptx", "control_fd", "launches_only": true}:
// nothing runs, and the report is {} or {"fault"} of the first launch that a device would not begin. Or
// {"trace", "ptx", "control_fd", "lane_operations", "sample": {"seed", "blocks", "beyond": [blocks by
// launch], "inputs": [paths by leaf]}}: of each launch of the first call some blocks run, on pieces of those
// inputs, which are of a smaller size, and the report is {"launches":
// [{"parameters": [[begin, bytes]], "blocks": [[number, executed, load_sectors, store_sectors,
// shared_wavefronts]]}], "fault"}.
// To output_fd, for each call of each run: the outputs as the trace's layout says, then for a run with
// shadows one byte for each element, who wrote it; of the first call, if "copied" names any leaves, then the
// outputs once more as they would be if kernels only copied; and behind all calls of a run those of calls
// that "reordered" names: other ones than in the order of issue. To control_fd: {"runs": [{"calls", "fault",
// "first_repeat", "unread": [[leaf, begin, end]], "copied", "overwritten_outputs", "counters", "reordered":
// [[call, message]], ...}]} or {"error": "..."}.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "sandbox/interpreter/executor/execution.h"
#include "sandbox/interpreter/executor/run_races.h"
#include "sandbox/interpreter/executor/trace_launch.h"
#include "sandbox/trace_run/planned_run.h"
#include "sandbox/trace_run/stream_order.h"

namespace bicrl {
namespace {

using nlohmann::json;

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw InputError("cannot open " + path);
  std::string bytes(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw InputError("cannot read " + path);
  return bytes;
}

void write_all(int fd, const void* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(fd, static_cast<const char*>(bytes) + done, size - done);
    if (n <= 0) throw InputError(concat("descriptor ", fd, ": ", strerror(errno)));
    done += static_cast<size_t>(n);
  }
}

// Up to which repeats beyond the certain ones, and orders beyond the first, are executed: less than a second.
constexpr uint64_t kCheapOperations = uint64_t{1} << 31;
// Addresses that a sample's buffers may take: more than any device has memory.
constexpr uint64_t kReservedBytes = uint64_t{1} << 40;

// A run of the plan: its calls, and what the interpreter alone can say of them.
class Run {
 public:
  Run(DeviceProgram& program, const Trace& trace, const CallSummary& calls, const json& plan,
      const json& asked, bool follow_copies)
      : program_(program),
        trace_(trace),
        calls_(calls),
        plan_(plan),
        asked_(asked),
        options_(options(plan, asked, follow_copies)),
        orders_(options_.shadows && !options_.skip_launches ? other_orders(trace) : 0),
        execution_(program, trace, calls, options_),
        planned_(execution_.trace_run(), trace, asked,
                 {.follow_copies = options_.follow_copies,
                  .has_shadows = options_.shadows,
                  .keep_answers = orders_ > 0,
                  .inputs = [this](size_t number) { return CallInputs(inputs_ = inputs_of(number)); },
                  .write = [this](const void* bytes, size_t size) { write(bytes, size); },
                  .is_cheap = [this] { return execution_.all_lane_operations() <= kCheapOperations; }}) {}

  json execute() {
    json& report = planned_.report();
    planned_.first_call();
    report["lane_operations"] = execution_.lane_operations();
    if (options_.count && !planned_.failed()) {
      report["counters"] = json::array();
      for (const LaunchCounters& launch : execution_.counters())
        report["counters"].push_back(to_json(launch));
    }
    planned_.repeats();
    if (options_.reads && !planned_.failed())
      for (const InputBytes& run : reads_.unread())
        report["unread"].push_back({run.leaf, run.begin, run.end});
    if (races_.any()) judge_races();
    uint64_t reordered = 0;
    for (size_t order = 1; order <= orders_ && !planned_.failed() && fits(order, reordered); ++order)
      reordered += reorder(order);
    return report;
  }

 private:
  ExecutionOptions options(const json& plan, const json& asked, bool follow_copies) {
    ExecutionOptions options;
    options.seed = asked.at("seed").get<uint64_t>();
    options.warps_apart = asked.at("warps_apart").get<bool>();
    options.shadows = asked.at("shadows").get<bool>();
    options.skip_launches = asked.at("skip_launches").get<bool>();
    options.count = asked.at("count").get<bool>();
    options.follow_copies = follow_copies && !options.skip_launches && !options.count;
    options.lane_operations = plan.at("lane_operations").get<uint64_t>();
    options.max_bytes = plan.at("max_bytes").get<uint64_t>();
    if (asked.at("watch_reads").get<bool>()) options.reads = &reads_;
    if (options.shadows && !options.skip_launches) options.observer = races_.observer();
    return options;
  }

  // Whether another order is tried behind those that took so many operations of lanes.
  bool fits(size_t order, uint64_t operations) const {
    return operations <= (order <= kStreamOrders ? options_.lane_operations : kCheapOperations);
  }

  // The same calls in a memory of their own; the fault that one of them ends in, or its outputs.
  std::optional<ptx::KernelFault> run_again(ptx::Observer* observer) {
    ExecutionOptions options = options_;
    options.observer = observer;
    options.follow_copies = false;
    std::string inputs = inputs_of(asked_.at("test_input"));
    Execution again(program_, trace_, calls_, options);
    const auto end_of = [&](const ExecutionReport& call, const OutputLayout& layout) {
      std::vector<std::byte> outputs(layout.total_bytes);
      std::vector<uint8_t> writers(layout.numel());
      return call.fault ? call.fault : again.trace_run().store_outputs(outputs.data(), writers.data());
    };
    auto fault = end_of(again.run(inputs), trace_.output_layout());
    for (size_t i = planned_.repeats_begin(); i < planned_.repeats_end() && !fault; ++i) {
      inputs = inputs_of(asked_.at("repeat_inputs").at(i));
      fault = end_of(again.repeat(i, inputs), trace_.repeats[i].returned.layout);
    }
    return fault;
  }

  void judge_races() {
    const auto again = [this](ptx::Observer* observer) { return run_again(observer); };
    if (planned_.failed()) {
      if (planned_.report()["fault"]["class"] != to_string(ptx::FaultClass::kUninitialised)) return;
      if (const auto fault = races_.behind_uninitialised(execution_, again))
        planned_.report_fault(*fault, /*of_all_calls=*/true);
    } else if (const auto fault = races_.fault(execution_, again)) {
      planned_.report_fault(*fault, /*of_all_calls=*/true);
    } else {
      planned_.report()["benign_races"] = true;
    }
  }

  // What was executed: the first call, and the repeats behind it.
  struct Call {
    std::span<const TraceOp> ops;
    const TraceOrder& end_after;
    const std::vector<TraceView>& outputs;
    const OutputLayout& layout;
  };
  Call executed(size_t number) const {
    if (number == 0)
      return {std::span(trace_.ops).subspan(trace_.construction_ops), trace_.end_after, trace_.outputs,
              trace_.output_layout()};
    const TraceRepeat& repeat = trace_.repeats[planned_.repeats_begin() + number - 1];
    return {repeat.ops, repeat.end_after, repeat.outputs, repeat.returned.layout};
  }

  // The same calls in another order of the work of streams. Gives the operations of lanes.
  uint64_t reorder(size_t order) {
    ExecutionOptions options = options_;
    options.observer = nullptr;
    options.follow_copies = options.shadows = false;
    options.order = order;
    std::string inputs = inputs_of(asked_.at("test_input"));
    Execution again(program_, trace_, calls_, options);
    uint64_t operations = 0;
    for (size_t number = 0; number <= planned_.repeats_end() - planned_.repeats_begin() && !planned_.failed();
         ++number) {
      if (number > 0)
        inputs = inputs_of(asked_.at("repeat_inputs").at(planned_.repeats_begin() + number - 1));
      const ExecutionReport report =
          number == 0 ? again.run(inputs) : again.repeat(planned_.repeats_begin() + number - 1, inputs);
      operations += report.lane_operations + end_reordered(again, number, report, order);
    }
    return operations;
  }

  // Where an answer is another one, it is for the judge whether it is right as well; a fault that the order
  // of issue has not is the order's.
  uint64_t end_reordered(Execution& again, size_t number, const ExecutionReport& report, size_t order) {
    const Call call = executed(number);
    std::vector<std::byte> outputs(call.layout.total_bytes);
    auto fault = report.fault ? report.fault : again.trace_run().store_outputs(outputs.data(), nullptr);
    const ExecutionReport late = fault ? ExecutionReport{} : again.finish();
    const bool differs = !fault && outputs != planned_.answers()[number];
    if (!fault) fault = late.fault;
    if (!fault && !differs) return late.lane_operations;
    const auto orders = other_orders(trace_.buffers, call.ops, call.end_after);
    const std::string message = order <= orders.size()
                                    ? turned_round(trace_, call.ops, call.outputs, orders[order - 1])
                                    : "race between streams in a call before";
    if (differs) {
      write(outputs.data(), outputs.size());
      planned_.report()["reordered"].push_back({number, message});
    }
    if (fault)
      planned_.report_fault({ptx::FaultClass::kRace, concat(message, " (", fault->message, ")"), ""},
                            /*of_all_calls=*/true);
    return late.lane_operations;
  }

  std::string inputs_of(size_t number) const {
    std::string inputs = file_bytes(plan_.at("test_inputs").at(number));
    if (inputs.size() != trace_.inputs.total_bytes) throw InputError("the inputs have another size");
    return inputs;
  }

  void write(const void* bytes, size_t size) const {
    write_all(plan_.at("output_fd").get<int>(), bytes, size);
  }

  DeviceProgram& program_;
  const Trace& trace_;
  const CallSummary& calls_;
  const json &plan_, &asked_;
  RunRaces races_;
  InputReads reads_;
  const ExecutionOptions options_;
  const size_t orders_;  // besides that of issue, in which the calls are made as well
  std::string inputs_;   // of the call that runs
  Execution execution_;
  PlannedRun planned_;
};

json check_launches(DeviceProgram& program, const Trace& trace) {
  json report = json::object();
  const auto check = [&](const std::vector<TraceOp>& ops) {
    for (const TraceOp& op : ops)
      if (op.kind == TraceOp::Kind::kLaunch && !report.contains("fault"))
        if (const auto fault = launch_fault(program, op)) report["fault"] = to_json(*fault);
  };
  try {
    check(trace.ops);
    for (const TraceRepeat& repeat : trace.repeats) check(repeat.ops);
  } catch (const ptx::FaultError& error) {
    report["fault"] = to_json(error.fault());
  }
  return report;
}

json sample_blocks(DeviceProgram& program, Trace trace, const json& plan) {
  const json& asked = plan.at("sample");
  trace.repeats.clear();
  const CallSummary calls = summarise_calls(trace);
  ExecutionOptions options;
  options.count = true;
  options.lane_operations = plan.at("lane_operations").get<uint64_t>();
  options.max_bytes = kReservedBytes;
  std::vector<std::string> inputs;
  for (const json& path : asked.at("inputs")) inputs.push_back(file_bytes(path));
  options.sample = {asked.at("seed"), asked.at("blocks"), asked.at("beyond"), {inputs.begin(), inputs.end()}};
  Execution execution(program, trace, calls, options);
  json report{{"launches", json::array()}};
  if (const auto fault = execution.run({}).fault) {
    report["fault"] = to_json(*fault);
    report["fault"]["line"] = fault->source_line;
  }
  for (const SampledLaunch& launch : execution.sampled()) {
    json blocks = json::array();
    for (const SampledBlock& b : launch.blocks)
      blocks.push_back({b.number, b.executed, b.load_sectors, b.store_sectors, b.shared_wavefronts});
    report["launches"].push_back({{"parameters", launch.parameters}, {"blocks", std::move(blocks)}});
  }
  return report;
}

json run_plan(const json& plan) {
  auto trace = Trace::decode(file_bytes(plan.at("trace")));
  if (!trace) return {{"error", "bad trace: " + trace.reason()}};
  std::vector<std::string> texts;
  for (const json& path : plan.at("ptx")) texts.push_back(file_bytes(path));
  auto program = DeviceProgram::parse(texts);
  if (!program) return {{"unsupported", program.reason()}};
  if (plan.value("launches_only", false)) return check_launches(program.value(), trace.value());
  if (plan.contains("sample")) return sample_blocks(program.value(), std::move(trace.value()), plan);
  const CallSummary calls = summarise_calls(trace.value());
  json report{{"runs", json::array()}};
  // A program whose outputs need what kernels compute on one test input is no other on the next.
  bool follow_copies = CopiedContents::matter(trace.value());
  for (const json& asked : plan.at("runs")) {
    report["runs"].push_back(
        Run(program.value(), trace.value(), calls, plan, asked, follow_copies).execute());
    if (report["runs"].back().contains("copied"))
      follow_copies = follow_copies && !report["runs"].back()["copied"].empty();
    // What failed once is not correct.
    if (report["runs"].back().contains("fault")) break;
  }
  return report;
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw bicrl::InputError("usage: bicrl-execute PLAN");
    const auto plan = nlohmann::json::parse(bicrl::file_bytes(argv[1]));
    const std::string report =
        bicrl::run_plan(plan).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    bicrl::write_all(plan.at("control_fd").get<int>(), report.data(), report.size());
    _exit(0);  // nobody needs the memory back in order
  } catch (const std::bad_alloc&) {
    return 4;
  } catch (const std::exception& error) {
    fprintf(stderr, "bicrl-execute: %s\n", error.what());
    return 2;
  }
}
