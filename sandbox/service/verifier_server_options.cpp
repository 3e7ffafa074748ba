#include <cmath>
#include <set>
#include <thread>

#include "sandbox/box/core_share.h"
#include "sandbox/box/process/processor_wait.h"
#include "sandbox/gpu/gpu_box.h"
#include "sandbox/service/verifier_metrics.h"
#include "sandbox/service/verifier_server.h"

namespace bicrl {
namespace {

constexpr uint64_t kNoLimitOfWork = uint64_t{1} << 60;

uint64_t mebibytes(const ConfigSection& section, const std::string& key, uint64_t fallback_bytes,
                   int64_t least) {
  return static_cast<uint64_t>(
             section.integer(key, static_cast<int64_t>(fallback_bytes >> 20), least, 1 << 24))
         << 20;
}

TolerancePolicy read_tolerance(const ConfigSection& section, TolerancePolicy fallback) {
  const std::string name =
      section.choice("tolerance", std::string(to_string(fallback)), {"profile", "tf32", "published"});
  return *parse_tolerance(name);
}

std::vector<std::string> read_tools(const ConfigSection& section) {
  std::vector<std::string> tools;
  for (const std::string& name : section.texts("tools", {kSanitizerTools.begin(), kSanitizerTools.end()})) {
    if (std::ranges::find(kSanitizerTools, name) == kSanitizerTools.end())
      section.reject("tools", concat("knows memcheck, racecheck, initcheck and synccheck, not '", name, "'"));
    if (std::ranges::find(tools, name) != tools.end())
      section.reject("tools", concat("names ", name, " twice"));
    tools.push_back(name);
  }
  if (tools.empty()) section.reject("tools", "names none");
  return tools;
}

// Whether the PTX interpreter makes a run of every program.
bool read_backend(const ConfigSection& section, PipelineOptions& pipeline) {
  const std::string backend = section.choice("backend", "ptx", {"ptx", "gpu"});
  const ConfigSection gpu = section.section("gpu");
  GpuOptions device;
  std::vector<int> devices_of_host;
  for (const int64_t number : gpu.integers_or("devices", "all", 0, 255))
    devices_of_host.push_back(static_cast<int>(number));
  if (std::set(devices_of_host.begin(), devices_of_host.end()).size() != devices_of_host.size())
    gpu.reject("devices", "names a GPU twice");
  device.processes = static_cast<int>(gpu.integer("processes", device.processes, 1, 64));
  device.run_s = gpu.real("run_s", device.run_s, 0.1, 3600);
  device.max_buffer_bytes = mebibytes(gpu, "buffers_mib", device.max_buffer_bytes, 1);
  device.timing.on = gpu.boolean("measure_times", false);
  device.timing.torch_compile = gpu.boolean("torch_compile", false);
  if (device.timing.torch_compile && !device.timing.on)
    gpu.reject("torch_compile",
               "times a second baseline, and without 'measure_times: true' there are no times");
  const ConfigSection sanitizer = gpu.section("sanitizer");
  pipeline.sanitizer_share = sanitizer.real("share", 0, 0, 1);
  pipeline.sanitizer_tools = read_tools(sanitizer);
  device.sanitizer_s = sanitizer.real("run_s", device.sanitizer_s, 1, 3600);
  if (pipeline.sanitizer_share > 0 && backend != "gpu") sanitizer.reject("share", "needs 'backend: gpu'");
  const auto cores_per_gpu = static_cast<int>(gpu.integer("cores_per_gpu", 1, 0, 64));
  gpu.renamed("designated", "instrumented_run");
  const bool required =
      gpu.choice("instrumented_run", "required", {"required", "where_possible"}) == std::string("required");
  pipeline.measures_times = device.timing.on;
  if (device.timing.on && backend != "gpu") gpu.reject("measure_times", "needs 'backend: gpu'");
  if (backend == "gpu") {
    const int gpus =
        devices_of_host.empty() ? std::max(1, gpu_nodes()) : static_cast<int>(devices_of_host.size());
    pipeline.backend = gpu_backend(
        device, required ? InstrumentedRuns::kRequired : InstrumentedRuns::kWherePossible, devices_of_host);
    // Candidates keep most of a small machine: the PTX interpreter works there for each.
    const int cores = CoreShare::divide(CoreShare::of_this_process(), 0).total();
    pipeline.cores_set_aside = std::min(gpus * cores_per_gpu, cores / 4);
  }
  return backend == "ptx" || required;
}

}  // namespace

VerifierOptions VerifierOptions::from_config(const ConfigSection& section) {
  VerifierOptions o;
  o.listen = section.text("listen", o.listen);
  o.access = ServerAccess::from_config(section.section("access"));
  o.metrics_listen = section.text("metrics_listen", "");
  if (const std::string problem = o.metrics_listen.empty() ? "" : metrics_problem(o.metrics_listen);
      !problem.empty())
    section.reject("metrics_listen", problem);
  o.drain_s = section.real("drain_s", o.drain_s, 0, 3600);
  o.queue.workers = static_cast<int>(section.integer("workers", 0, 0, 64));
  o.queue.capacity =
      static_cast<size_t>(section.integer("queue", static_cast<int64_t>(o.queue.capacity), 1, 1 << 20));
  o.pipeline.python = section.text("python", "");
  o.pipeline.bwrap = section.text("bwrap", "");
  o.pipeline.scratch = section.text("scratch", "");

  std::vector<std::string> devices;
  for (const DeviceTable& table : device_tables()) devices.emplace_back(table.name);
  o.pipeline.cost_device = section.choice("cost_device", o.pipeline.cost_device, devices);

  const bool machine_for_all = read_backend(section, o.pipeline);
  if (o.queue.workers == 0) {
    const CoreShare share = CoreShare::divide(CoreShare::of_this_process(), o.pipeline.cores_set_aside);
    o.queue.workers = share.total() > 0 ? share.total() - share.set_aside()
                                        : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  o.pipeline.oracle.concurrent = std::max(o.pipeline.oracle.concurrent, o.queue.workers);

  const ConfigSection protocol = section.section("protocol");
  o.protocol.tolerance = read_tolerance(protocol, o.protocol.tolerance);
  o.protocol.trials = static_cast<int>(protocol.integer("trials", o.protocol.trials, 1, kMaxTrials));
  o.protocol.size = *parse_size_policy(
      protocol.choice("size", std::string(to_string(o.protocol.size)), {"fitting", "own", "reduced"}));
  o.protocol.specialised = *parse_config_name(protocol.choice(
      "specialised", std::string(config_name(o.protocol.specialised)), {"incorrect", "mask"}));

  // Allowances for TF32 take memory, so only a server that is to use them has them made.
  o.pipeline.oracle.tf32 = o.protocol.tolerance == TolerancePolicy::kTf32;
  const ConfigSection oracle = section.section("oracle");
  oracle.renamed("pool_draws", "pool_inputs");
  o.pipeline.oracle.pool_inputs =
      static_cast<int>(oracle.integer("pool_inputs", o.pipeline.oracle.pool_inputs, 1, 32));
  o.pipeline.oracle.max_input_bytes =
      mebibytes(oracle, "max_input_mib", o.pipeline.oracle.max_input_bytes, 1);
  o.pipeline.oracle.cache_bytes = mebibytes(oracle, "cache_mib", o.pipeline.oracle.cache_bytes, 1);
  o.pipeline.oracle.memory_bytes = mebibytes(oracle, "memory_mib", o.pipeline.oracle.memory_bytes, 64);
  o.pipeline.oracle.cpu_s = static_cast<int>(oracle.integer("cpu_s", o.pipeline.oracle.cpu_s, 1, 3600));

  const ConfigSection limits = section.section("limits");
  o.pipeline.compile.cpu_s = limits.real("compile_s", o.pipeline.compile.cpu_s, 1, 3600);
  o.pipeline.compile.frontend.cpu_s = static_cast<int>(std::ceil(o.pipeline.compile.cpu_s));
  o.pipeline.compile.frontend.wall_s = kBusyMachineFactor * o.pipeline.compile.cpu_s;
  o.pipeline.record.wall_s = limits.real("record_s", o.pipeline.record.wall_s, 0.1, 3600);
  // A limit of work, not of time: what a kernel may do must not depend on the machine.
  o.pipeline.execute.lane_operations = static_cast<uint64_t>(
      limits.integer("run_lane_operations", static_cast<int64_t>(o.pipeline.execute.lane_operations), 1 << 16,
                     int64_t{1} << 50));
  // A task whose reference is more work than a run may be cannot be graded, unless a device runs it alone.
  o.pipeline.oracle.most_lane_operations =
      machine_for_all ? o.pipeline.execute.lane_operations : kNoLimitOfWork;
  o.pipeline.compile.memory_bytes = mebibytes(limits, "compile_mib", o.pipeline.compile.memory_bytes, 64);
  o.pipeline.record.memory_bytes = mebibytes(limits, "record_mib", o.pipeline.record.memory_bytes, 64);
  o.pipeline.execute.memory_bytes = mebibytes(limits, "run_mib", o.pipeline.execute.memory_bytes, 64);
  return o;
}

}  // namespace bicrl
