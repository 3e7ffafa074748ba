// The interface of backends, which run candidates' kernels. The pipeline knows none by name: it hands over a
// trace, the device code, and secret inputs, and gets outputs, who wrote them, and faults.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "sandbox/cost/launch_counters.h"
#include "sandbox/gpu/sanitizer_report.h"
#include "sandbox/gpu/timing/window.h"
#include "sandbox/interpreter/executor/block_sample.h"
#include "sandbox/recorder/trace/trace.h"
#include "verdict/fault/fault.h"

namespace bicrl {

// What the compiler made of the text of one load_inline call.
struct DeviceModule {
  std::shared_ptr<const std::string> ptx;
};

struct BackendFeatures {
  std::string name;  // "ptx": part of what names a verifier
  // What a RunRequest may ask for besides a plain run. Of what a backend cannot do, it does nothing.
  bool shadows = true, watches_reads = true, counts = true;
  bool sanitizes = false;                 // has compute-sanitizer
  bool judges_own_sizes = false;          // of tasks that are too large for the oracle's boxes
  std::string clock_device = {};          // on what time() measures, and how; empty: it does not
  std::vector<std::string> present = {};  // for a person, like SandboxFeatures: "device: NVIDIA H200, ..."
  std::vector<std::string> missing = {};  // with the reason, and what a user can do about it
};

// One run of the trace from fresh memory.
struct RunRequest {
  uint32_t test_input = 0;  // of RunPlan::test_inputs
  // The test inputs of the trace's repeats, which are executed where they may answer otherwise than the first
  // call. Empty: they are not.
  std::vector<uint32_t> repeat_inputs = {};
  uint64_t seed = 0;         // of the order of blocks, and of addresses
  bool warps_apart = false;  // and of that of warps
  bool shadows = false;
  bool skip_launches = false;
  bool watch_reads = false;  // of inputs, by kernels and copies; not with shadows
  bool count = false;        // what launches do
};

// The leaves of one test input. `key` names them among all test inputs of all tasks, so that a backend may
// keep its own form of them.
struct InputLeaves {
  std::string key;
  const std::vector<std::string>* leaves = nullptr;
};

// Who wrote an element of an output last.
enum class ElementWriter : uint8_t {
  kNobody,
  kInput,  // it is a copy of an input
  kHost,   // a fill or an upload by the host part
  kKernel
};

// What a call of forward left.
struct CallOutcome {
  std::string_view outputs;  // as the call's output layout says
  std::string_view writers;  // with shadows: one ElementWriter for each element, leaf after leaf
};

struct RunPlan {
  const Trace* trace = nullptr;
  std::vector<DeviceModule> modules;  // by number of the load_inline call
  std::vector<InputLeaves> test_inputs;
  std::vector<RunRequest> runs;
};

// What a call leaves when a device does the work of streams in another order than that of issue: reported
// only if it is something else.
struct ReorderedCall {
  size_t call = 0;  // 0: the first; k: number k - 1 of the repeats that were executed
  std::string_view outputs;
  std::string message;  // which operations have no order
};

struct RunOutcome {
  Fault fault;  // of the program; none: ran to its end
  uint64_t lane_operations = 0;
  std::vector<uint32_t> changed_inputs;       // leaves
  std::vector<uint32_t> overwritten_outputs;  // leaves of the first call that a repeat has written to
  std::vector<InputBytes> unread;             // of a request that watched: what nothing has read
  bool benign_races = false;                  // there are races that cannot be seen in an output
  CallOutcome first;
  // The first call's outputs if kernels had done nothing but copy, of the leaves for which this says anything
  // (trace_run/copied_contents.h).
  std::vector<uint32_t> copied_leaves;
  std::string_view copied;               // as the first call's; empty if there are none
  std::vector<LaunchCounters> counters;  // of a request that asked for them
  size_t first_repeat = 0;               // those before it would answer like the first call,
  std::vector<CallOutcome> repeats;      // those from it on were executed, as far as they cost little
  std::vector<ReorderedCall> reordered;  // of a request with shadows
};

struct RunResult {
  Fault fault;               // of all runs; none: look at each
  bool device_lost = false;  // of infrastructure: its device does not answer, another one may
  // Up to the first that failed; where one has, the others need not have been executed.
  std::vector<RunOutcome> runs;
  std::vector<std::string> memory;  // what the views of `runs` point into
  std::string note;                 // what a reader of the verdict should know of how it was run
  double run_ms = 0;
};

// Some blocks of each launch of a trace, on pieces of inputs of a smaller size.
struct SamplePlan {
  const Trace* trace = nullptr;
  std::vector<DeviceModule> modules;  // by number of the load_inline call
  BlockSample sample;
};

struct SampleResult {
  Fault fault;  // that a block has ended in; of infrastructure too
  bool ran = false;
  std::vector<SampledLaunch> launches;
  double run_ms = 0;
};

// A program that is right, to be timed beside its task's reference.
struct TimingPlan {
  const Trace* trace = nullptr;
  std::vector<DeviceModule> modules;     // by number of the load_inline call
  std::vector<InputLeaves> test_inputs;  // made for this plan alone; at least two
  std::string task_code;
  int64_t init_seed = 0;
  bool costing_inputs = false;  // those of get_costing_inputs()
  bool tf32 = false;            // the reference may multiply in it
  // Compares the outputs of a timed call, which are as the trace's layout says.
  std::function<Fault(size_t test_input, std::string_view outputs)> check;
  uint64_t least_read_bytes = 0, least_written_bytes = 0;  // by any program: what beats the memory is refused
};

struct TimingResult {
  Fault end;                                         // none: there are times, or `untimed` says why not
  std::string untimed;                               // why there are none though nothing is wrong
  double candidate_ms = 0, candidate_spread_ms = 0;  // median and interquartile range
  // candidate_ms times the median of the pairs' ratios, which a device that changes its speed leaves alone;
  // of torch.compile 0 where it is not asked for.
  double eager_ms = 0, eager_spread_ms = 0, torch_compile_ms = 0;
  double roofline_fraction = 0;
  std::string measurement;   // JSON, as in a verdict
  double run_ms = 0;         // all of it
  bool device_lost = false;  // as of a RunResult
};

// The way in which programs are judged at a task's own size on a device: part of a verifier's name.
inline constexpr const char* kOwnSizesVersion = "1";

// A task that is too large for the oracle's boxes, and a program for it that was recorded at the task's own
// size, to be compared there.
struct OwnSizePlan {
  std::string task_code = {};
  std::vector<std::string> variants = {};  // of its text, at smaller sizes; at least one
  nlohmann::json inputs = {};              // specs at its own size
  const InputLayout* layout = nullptr;
  nlohmann::json answer = {};  // spec
  int64_t init_seed = 0;       // under which the recording was made
  std::string tolerance = {};  // TolerancePolicy
  // The program. Without a trace only the task is looked at.
  const Trace* trace = nullptr;
  std::vector<DeviceModule> modules = {};  // by number of the load_inline call
  std::vector<bool> trivial_outputs = {};  // leaves that may come out right without a kernel
  bool measure_time = false;
  uint64_t least_read_bytes = 0, least_written_bytes = 0;  // as of a TimingPlan
};

struct OwnSizeResult {
  std::string ungradable;  // why the task cannot be judged at its own size on this device; the rest is empty
  Fault end;               // none: the program is right
  double max_error_ratio = 0;
  std::string note;    // what a reader of the verdict should know
  std::string memory;  // of the device, for a person
  TimingResult timed;  // where times were asked for; of its `end` nothing
  double held_ms = 0;  // that nobody else had the device
  double run_ms = 0;
  bool device_lost = false;  // as of a RunResult
};

// One of the devices that a backend runs programs on, as it is now.
struct BackendDevice {
  std::string name;     // among the backend's: "0"
  std::string trouble;  // why it is not used; empty: it is
  int contexts = 0;     // processes that hold one, or are about to, to run plans
  int64_t runs = 0;     // plans
  int64_t windows = 0, repeated_windows = 0;
  int64_t sanitized = 0, sanitizer_findings = 0;  // programs under compute-sanitizer, and those with findings
};

// Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const BackendFeatures& features() const = 0;
  virtual RunResult run(const RunPlan& plan, std::stop_token stop) = 0;
  // Whether a device would begin the trace's launches, all of them, as far as that can be checked without
  // running any: blocks, shared memory, launch bounds. A result without runs. Of a backend that cannot check
  // it, nothing.
  virtual RunResult check_launches(const Trace& trace, const std::vector<DeviceModule>& modules,
                                   std::stop_token stop);
  // What the blocks of a sample do. Of a backend that counts no launches, nothing.
  virtual SampleResult sample_blocks(const SamplePlan& plan, std::stop_token stop);
  // Only of a backend that judges own sizes.
  virtual OwnSizeResult judge_own_size(const OwnSizePlan& plan, std::stop_token stop);
  // Only of a backend that has a clock.
  virtual TimingResult time(const TimingPlan& plan, std::stop_token stop);
  // The program once more, on the test input of the plan's first run, under each of the tools
  // (kSanitizerTools). Only of a backend that has them. Says nothing of the device: who runs a plan next
  // finds out.
  virtual SanitizerReport sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                                   std::stop_token stop);
  // Empty of a backend that has none.
  virtual std::vector<BackendDevice> devices() const { return {}; }
};

}  // namespace bicrl
