#include "sandbox/verifier/ptx_backend.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/files/files.h"
#include "sandbox/box/box.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/process/processor_wait.h"
#include "sandbox/trace_run/stream_order.h"
#include "sandbox/verifier/run_report.h"

namespace bicrl {
namespace {

constexpr int kOutputFd = 16, kControlFd = 17;
constexpr uint64_t kMaxControlBytes = 16u << 20;
constexpr uint64_t kSampleOperations = uint64_t{1} << 28;  // of all sampled blocks: some tenths of a second

void lose_run(RunResult& result, const std::string& reason) { result.fault = Fault::infrastructure(reason); }

void fail_run(RunResult& result, FaultClass fault_class, const std::string& reason) {
  result.fault = Fault::of_program(fault_class, reason);
}

// The program runs no code of the candidate: what ends it is a limit, or a defect of ours.
void set_end(const BoxResult& box, RunResult& result) {
  switch (box.end) {
    case BoxEnd::kExited:
      if (box.code == 0) return;
      if (box.code == 4)
        return fail_run(result, FaultClass::kMemory, "the kernels need more memory than their limit");
      return lose_run(result,
                      concat("the executor failed (status ", box.code, ") ", box.output.substr(0, 400)));
    case BoxEnd::kMemory:
      return fail_run(result, FaultClass::kMemory, "the kernels need more memory than their limit");
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

PtxBackend::PtxBackend(BoxHost& host, ScratchFolder& scratch, std::shared_ptr<InputFiles> inputs,
                       const ExecuteOptions& options)
    : host_(host), scratch_(scratch), input_files_(std::move(inputs)), options_(options) {}

RunResult PtxBackend::run(const RunPlan& plan, std::stop_token stop) {
  RunResult result;
  const uint64_t buffers = plan.trace->buffer_bytes();
  if (buffers > options_.max_buffer_bytes) {
    fail_run(result, FaultClass::kMemory,
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

// One call of the program in its box: what it is asked, and the files that the box shows it.
class PtxBackend::Program {
 public:
  explicit Program(const PtxBackend& backend) : backend_(backend) {
    spec_.argv = {"/executor/bicrl-execute", "/job/plan"};
    spec_.mounts = {{share_folder() / "executor", "/executor"}};
    spec_.limits.cpu_s = backend.options_.cpu_s;
    spec_.limits.wall_s = kBusyMachineFactor * backend.options_.cpu_s;
    spec_.limits.memory_bytes = backend.options_.memory_bytes;
    asked["output_fd"] = kOutputFd;
    asked["control_fd"] = kControlFd;
  }
  void show(const Trace& trace, const std::vector<DeviceModule>& modules) {
    asked["trace"] = show(backend_.scratch_.write(trace.encode()), "/job/trace");
    asked["ptx"] = nlohmann::json::array();
    for (size_t i = 0; i < modules.size(); ++i)
      asked["ptx"].push_back(show(backend_.scratch_.write(*modules[i].ptx), concat("/job/ptx", i)));
  }
  std::string show(std::shared_ptr<const ScratchFile> file, const std::string& path) {
    spec_.mounts.push_back({file->path(), path});
    files_.push_back(std::move(file));
    return path;
  }
  // What it says; null: `result` has the reason.
  nlohmann::json run(uint64_t output_bytes, std::stop_token stop, RunResult& result) {
    show(backend_.scratch_.write(asked.dump()), "/job/plan");
    const UniqueFd control = make_memfd("control");
    spec_.fds = {{outputs_.get(), kOutputFd}, {control.get(), kControlFd}};
    spec_.limits.file_bytes = std::max<uint64_t>(kMaxControlBytes, output_bytes);
    const BoxResult box = run_box(backend_.host_, spec_, stop);
    result.run_ms = box.total_ms;
    set_end(box, result);
    if (result.fault) return nullptr;
    auto said = nlohmann::json::parse(read_whole(control.get()));
    if (said.contains("error")) return lose_run(result, said["error"]), nullptr;
    if (said.contains("unsupported"))
      return fail_run(result, FaultClass::kUnsupported, said["unsupported"]), nullptr;
    return said;
  }
  std::string outputs() const { return read_whole(outputs_.get()); }

  nlohmann::json asked;

 private:
  const PtxBackend& backend_;
  BoxSpec spec_;
  std::vector<std::shared_ptr<const ScratchFile>> files_;  // as long as the box needs them
  const UniqueFd outputs_ = make_memfd("outputs");
};

RunResult PtxBackend::check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                                     std::stop_token stop) {
  RunResult result;
  try {
    Program program(*this);
    program.show(trace.copy_launches(), modules);
    program.asked["launches_only"] = true;
    const nlohmann::json said = program.run(0, stop, result);
    if (said.contains("fault")) result.fault = read_fault(said["fault"]);
  } catch (const nlohmann::json::exception&) {
    lose_run(result, "the executor's report is malformed");
  } catch (const Error& error) {
    lose_run(result, error.what());
  }
  return result;
}

SampleResult PtxBackend::sample_blocks(const SamplePlan& plan, std::stop_token stop) {
  SampleResult sampled;
  RunResult result;
  try {
    Program program(*this);
    program.show(*plan.trace, plan.modules);
    program.asked["lane_operations"] = kSampleOperations;
    nlohmann::json paths = nlohmann::json::array();
    for (const std::string_view leaf : plan.sample.inputs)
      paths.push_back(program.show(scratch_.write(leaf), concat("/job/input", paths.size())));
    program.asked["sample"] = {{"seed", plan.sample.seed},
                               {"blocks", plan.sample.blocks},
                               {"beyond", plan.sample.beyond},
                               {"inputs", std::move(paths)}};
    const nlohmann::json said = program.run(0, stop, result);
    if (!said.is_null()) read_sample(said, sampled);
  } catch (const nlohmann::json::exception&) {
    lose_run(result, "the executor's report is malformed");
  } catch (const Error& error) {
    lose_run(result, error.what());
  }
  if (result.fault) sampled.fault = result.fault;
  sampled.run_ms = result.run_ms;
  return sampled;
}

void PtxBackend::execute(const RunPlan& plan, std::stop_token stop, RunResult& result) {
  Program program(*this);
  program.show(*plan.trace, plan.modules);
  nlohmann::json& asked = program.asked;
  asked["lane_operations"] = options_.lane_operations;
  asked["max_bytes"] = options_.max_buffer_bytes;
  asked["test_inputs"] = asked["runs"] = nlohmann::json::array();
  for (size_t i = 0; i < plan.test_inputs.size(); ++i) {
    auto file = input_files_->file(plan.trace->inputs, plan.test_inputs[i]);
    if (!file) return lose_run(result, file.reason());
    asked["test_inputs"].push_back(program.show(file.value(), concat("/job/input", i)));
  }
  for (const RunRequest& run : plan.runs) asked["runs"].push_back(to_json(run));
  const auto shadowed = static_cast<size_t>(std::ranges::count(plan.runs, true, &RunRequest::shadows));
  const size_t calls = (plan.runs.size() + shadowed * kMaxOrders) * (1 + plan.trace->repeats.size());
  const nlohmann::json said =
      program.run(3 * calls * (plan.trace->output_layout().total_bytes + 4096), stop, result);
  if (!said.is_null()) read_runs(said, plan, program.outputs(), result);
}

}  // namespace bicrl
