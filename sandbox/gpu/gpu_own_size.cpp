// How the GPU backend judges a program at its task's own size: a process of references draws inputs on the
// device and knows what is expected, one of the loader runs the program on them, and the first reads what the
// second has left in the device's memory. Each shares its memory with the other as descriptors, to be read.
// One such verification has the device at a time.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>

#include "common/clock.h"
#include "common/hash.h"
#include "sandbox/gpu/process_lease.h"
#include "sandbox/gpu/window_sides.h"
#include "sandbox/verifier/secret.h"

namespace bicrl {
namespace {

using nlohmann::json;
using timing::TimedCall;

constexpr size_t kOwnInputs = 2;
constexpr double kOpenOwn_s = 300;    // of a task: test inputs, and its reference in fp64
constexpr size_t kLeastOwnPairs = 5;  // of a window: calls are long, and each is compared
constexpr double kOwnWindow_s = 4;

std::string in_gib(uint64_t bytes) {
  return concat(std::lround(10.0 * static_cast<double>(bytes) / (1ull << 30)) / 10.0, " GiB");
}

// The tensors of outputs as the references' process finds them, from where the loader says they are.
json describe_views(const std::vector<TraceView>& views, const json& places) {
  json found = json::array();
  for (size_t i = 0; i < views.size(); ++i)
    found.push_back({{"memory", places.at(i).at("memory")},
                     {"offset", places.at(i).at("offset")},
                     {"shape", views[i].tensor.sizes},
                     {"strides", views[i].tensor.strides},
                     {"dtype", to_string(views[i].tensor.dtype)}});
  return found;
}

// What the references' process says of a call's outputs.
struct CallComparison {
  std::optional<FaultClass> fault_class;  // of the first incorrect one
  double max_error_ratio = 0;
  std::vector<bool> right;  // by leaf
};

// The program's side: calls that are compared, and then timed ones, which are, too.
class OwnSizeParty : public LoaderParty {
 public:
  using LoaderParty::LoaderParty;
  std::function<Fault(size_t test_input)> compare;  // of the call that ran last

  Fault open(const JobFiles& files, size_t plan, size_t control, GpuProcess::Said& opened) {
    Fault step = request(files, plan, control, opened);
    if (!step) set_open();
    return step;
  }
  Fault ask(const json& asked, GpuProcess::Said& said) { return tell(asked, said); }
  Fault start_clock() {
    GpuProcess::Said said;
    Fault step = tell({{"own", "clock"}}, said);
    if (step) return step;
    if (said.content.contains("untimed"))
      untimed_because(said.content["untimed"]);
    else
      take_clock(said.content);
    return step;
  }
  Fault prepare(size_t test_input) override {
    test_input_ = test_input;
    return LoaderParty::prepare(test_input);
  }
  Fault time(TimedCall& call) override {
    Fault step = LoaderParty::time(call);
    return !step ? compare(test_input_) : step;
  }

 private:
  size_t test_input_ = 0;
};

}  // namespace

class GpuBackend::OwnSize {
 public:
  OwnSize(GpuBackend& backend, const OwnSizePlan& plan, std::stop_token stop)
      : backend_(backend), options_(backend.options_), plan_(plan), stop_(std::move(stop)) {}

  void run(OwnSizeResult& result) {
    Assembled assembled;
    if (plan_.trace) {
      assembled = backend_.assemble(plan_.modules, stop_);
      if (const MachineCode& failed = assembled.failed; !assembled.done) {
        result.end = failed.fault;
        return;
      }
    }
    Baseline::Session references(backend_.own_size_references(), stop_, hash_hex(plan_.task_code));
    const auto hello = references.hello();
    if (!hello) return void(result.end = Fault::infrastructure("the references' process: " + hello.reason()));
    if (const std::string why = hello.value().value("unusable", ""); !why.empty())
      return void(result.ungradable = why);
    const Fault unused = backend_.use_alone(stop_, [&](GpuProcess& process) {
      const Stopwatch held;
      OwnSizeParty candidate(process, options_.run_s + kGpuGrace_s, stop_);
      judge(assembled, candidate, references, result);
      result.held_ms = held.ms();
      return ProcessUse{candidate.reusable(), result.end && candidate.is_silent()};
    });
    if (unused) result.end = unused;
  }

 private:
  void taken(const char* stage) {
    stages_[stage] = in_tenths(clock_.ms());
    clock_.restart();
  }

  void judge(const Assembled& assembled, OwnSizeParty& candidate, Baseline::Session& references,
             OwnSizeResult& result) {
    clock_.restart();
    references_ = &references;
    if (result.end = open_task(); result.end) return;
    taken("expected");
    if (result.ungradable = references.untimed(); !result.ungradable.empty()) return;
    const json& opened = references.opened();
    result.note = opened.at("remark");
    describe_memory(opened, result);
    if (!plan_.trace) return;
    candidate.compare = [&](size_t test_input) { return compare_first_call(test_input, result); };
    if (result.end = open_program(assembled, candidate); result.end) return;
    taken("program");
    if (result.end = run_calls(candidate, result); result.end) return;
    taken("trials");
    if (plan_.measure_time) time(candidate, result);
    if (!result.end) (void)candidate.close();
  }

  void describe_memory(const json& opened, OwnSizeResult& result) {
    const json& table = opened.at("memory");
    const auto bytes = [&](const char* what) { return in_gib(table.at(what).get<uint64_t>()); };
    result.memory = concat(bytes("test_inputs"), " for two test inputs, ", bytes("expected"),
                           " for what is expected, ", bytes("reference"),
                           opened.at("sliced").get<bool>() ? " for its reference in slices, "
                                                           : " for its reference as a whole, ",
                           bytes("program"), " or more for a program");
  }

  Fault open_task() {
    json asked{{"task", files_.add(std::string_view(plan_.task_code))},
               {"variants", json::array()},
               {"inputs", plan_.inputs},
               {"answer", plan_.answer},
               {"init_seed", plan_.init_seed},
               {"policy", plan_.tolerance},
               {"leaves", describe_leaves(*plan_.layout)},
               {"input_bytes", plan_.layout->total_bytes},
               {"flush_bytes", std::max(kLeastFlushBytes, 2 * backend_.l2_bytes_)}};
    for (const std::string& variant : plan_.variants)
      asked["variants"].push_back(files_.add(std::string_view(variant)));
    json key = asked;
    key["texts"] = {plan_.task_code, plan_.variants};
    asked["key"] = hash_hex(key.dump(-1, ' ', true, json::error_handler_t::replace));
    asked["secret"] = secret_number() >> 1;
    const size_t number = files_.add(std::string_view(asked.dump()));
    return references_->open(files_.numbers(), number, kOpenOwn_s);
  }

  Fault open_program(const Assembled& assembled, OwnSizeParty& candidate) {
    const json& opened = references_->opened();
    const uint64_t most = opened.at("program_bytes");
    if (const uint64_t bytes = plan_.trace->buffer_bytes(); bytes > most)
      return Fault::of_program(FaultClass::kMemory,
                               concat("allocates ", in_gib(bytes), " of device memory, of which ",
                                      in_gib(most), " are there for it"));
    JobFiles files;
    json asked = backend_.describe_program(*plan_.trace, plan_.modules, assembled, files);
    asked["max_bytes"] = most;
    asked["seed"] = secret_number();
    asked["nothing"] = files.add(std::string_view(*backend_.nothing_));
    first_ = secret_number() % kOwnInputs;
    asked["own_size"] = {{"first", first_}, {"test_inputs", json::array()}};
    for (const UniqueFd& test_input : references_->shared()) {
      UniqueFd same(dup(test_input.get()));
      if (!same) return Fault::infrastructure("no descriptors are left");
      asked["own_size"]["test_inputs"].push_back(files.add(std::move(same)));
    }
    const size_t control = files.add(make_memfd("control"));
    asked["control_file"] = control;
    const size_t number = files.add(std::string_view(asked.dump()));
    GpuProcess::Said said;
    if (Fault step = candidate.open(files, number, control, said); step) return step;
    opened_ = said.content;
    return take_memories(said);
  }

  // What the program's process shares anew.
  Fault take_memories(const GpuProcess::Said& said) {
    const json& memories = said.content.at("memories");
    if (memories.size() != said.fds.size()) return Fault::infrastructure("shared memory did not arrive");
    json answer;
    for (size_t i = 0; i < memories.size(); ++i)
      if (Fault step =
              references_->ask({{"own", "memory"}, {"bytes", memories[i]}}, answer, {said.fds[i].get()});
          step)
        return step;
    return {};
  }

  // Not `whole`: only whether each output is right, which the first wrong element shows.
  Fault compare(size_t test_input, const json& views, bool whole, CallComparison& found) {
    json said;
    const json asked{{"own", "compare"}, {"test_input", test_input}, {"whole", whole}, {"views", views}};
    if (Fault step = references_->ask(asked, said); step) return step;
    for (const json& leaf : said.at("leaves")) {
      const std::string name = leaf.at(0);
      const auto fault_class = find_fault_class(name);
      if (!fault_class && !name.empty())
        throw Error("a comparison names a class of faults that there is not");
      found.right.push_back(!fault_class);
      found.max_error_ratio = std::max(found.max_error_ratio, leaf.at(1).get<double>());
      if (!found.fault_class || fault_class == FaultClass::kNonFinite)
        if (fault_class) found.fault_class = fault_class;
    }
    return {};
  }

  Fault expect_correct(size_t test_input, const json& views, const std::string& call, OwnSizeResult& result) {
    CallComparison found;
    if (Fault step = compare(test_input, views, true, found); step) return step;
    result.max_error_ratio = std::max(result.max_error_ratio, found.max_error_ratio);
    if (!found.fault_class) return {};
    return Fault::of_program(*found.fault_class, call);
  }

  json first_views() const { return describe_views(plan_.trace->outputs, opened_.at("outputs")); }

  Fault compare_first_call(size_t test_input, OwnSizeResult& result) {
    return expect_correct(test_input, first_views(), "a call that was timed is wrong", result);
  }

  // The first call, further ones where they may answer otherwise, the first from fresh memory on the other
  // test input, and once without kernels.
  Fault run_calls(OwnSizeParty& candidate, OwnSizeResult& result) {
    if (Fault step = expect_correct(first_, first_views(), "its answer is wrong", result); step) return step;
    if (Fault step = find_changed_inputs(result); step) return step;
    const size_t begin = opened_.at("first_repeat"), count = opened_.at("repeats");
    for (size_t k = begin; k < std::min(count, begin + kCertainRepeats); ++k) {
      const size_t test_input = (first_ + 1 + k) % kOwnInputs;
      GpuProcess::Said said;
      if (Fault step = candidate.ask({{"own", "repeat"}, {"index", k}, {"test_input", test_input}}, said);
          step)
        return step;
      if (Fault step = take_memories(said); step) return step;
      const json views = describe_views(plan_.trace->repeats[k].outputs, said.content.at("outputs"));
      const std::string call = concat("its answer is wrong at call ", k + 2, " of forward");
      if (Fault step = expect_correct(test_input, views, call, result); step) return step;
    }
    const size_t other = 1 - first_;
    if (Fault step = rerun(candidate, other, false); step) return step;
    if (Fault step = expect_correct(other, first_views(), "its answer is wrong", result); step) return step;
    if (Fault step = rerun(candidate, other, true); step) return step;
    return expect_incorrect_without_kernels(other);
  }

  static Fault rerun(OwnSizeParty& candidate, size_t test_input, bool skip) {
    GpuProcess::Said said;
    return candidate.ask({{"own", "again"}, {"test_input", test_input}, {"skip", skip}}, said);
  }

  Fault expect_incorrect_without_kernels(size_t test_input) {
    CallComparison found;
    if (Fault step = compare(test_input, first_views(), false, found); step) return step;
    for (size_t i = 0; i < found.right.size(); ++i)
      if (found.right[i] && plan_.trace->outputs[i].tensor.numel() > 0 && !plan_.trivial_outputs[i])
        return Fault::of_program(FaultClass::kDeadKernel,
                                 concat("output ", i, " is right without any kernel"));
    return {};
  }

  Fault find_changed_inputs(OwnSizeResult& result) {
    json views = json::array(), said;
    const json& places = opened_.at("inputs");
    for (size_t i = 0; i < places.size(); ++i)
      views.push_back(places[i].is_null() ? json{{"memory", nullptr}} : places[i]);
    if (Fault step = references_->ask({{"own", "inputs"}, {"test_input", first_}, {"views", views}}, said);
        step)
      return step;
    for (const json& leaf : said.at("changed"))
      result.note += concat(result.note.empty() ? "" : "; ", "writes to input ", leaf.get<size_t>());
    return {};
  }

  void time(OwnSizeParty& candidate, OwnSizeResult& result) {
    json said;
    TimingResult& timed = result.timed;
    if (result.end = references_->ask({{"own", "clock"}}, said); result.end) return;
    if (said.contains("untimed")) return void(timed.untimed = said["untimed"]);
    if (result.end = candidate.start_clock(); result.end) return;
    if (timed.untimed = candidate.untimed(); !timed.untimed.empty()) return;
    candidate.by_stream = true;
    ReferenceParty eager(*references_, "eager", true, true);
    const timing::WindowSetting setting{
        .candidate = &candidate,
        .baselines = {&eager},
        .test_inputs = kOwnInputs,
        .check = [](size_t) { return Fault{}; },  // with the call itself
        .health = [&] { return backend_.monitor_->look(); },
        .random = secret_number,
        .rest = [&](int windows) { wait_for(windows * kWindowRest_s, stop_); },
        .seconds = [clock = Stopwatch()] { return clock.seconds(); }};
    timing::WindowOptions options = options_.timing.window;
    options.steadiness.least_pairs = std::min(options.steadiness.least_pairs, kLeastOwnPairs);
    options.warm_up = 1;
    options.limit_s = std::min(options.limit_s, kOwnWindow_s);
    const timing::WindowResult window = backend_.conduct(setting, options, stop_);
    taken("window");
    result.end = window.end;
    if (result.end) return;
    if (timed.untimed = window.unsteady; !timed.untimed.empty()) return;
    summarise(window,
              {true, candidate.launch_ms(),
               backend_.least_ms(plan_.least_read_bytes, plan_.least_written_bytes), stages_},
              timed);
  }

  GpuBackend& backend_;
  const GpuOptions& options_;
  const OwnSizePlan& plan_;
  const std::stop_token stop_;
  JobFiles files_;
  Baseline::Session* references_ = nullptr;
  size_t first_ = 0;  // of the test inputs
  json opened_;       // what the program's process said of the first call
  Stopwatch clock_;
  json stages_ = json::object();  // milliseconds that each took
};

Baseline& GpuBackend::own_size_references() {
  const std::lock_guard lock(mutex_);
  if (!own_size_references_) {
    BaselineOptions options = options_.timing.baseline;
    options.script = "own_size.py";
    own_size_references_ = std::make_unique<Baseline>(host_, python_, options);
  }
  return *own_size_references_;
}

OwnSizeResult GpuBackend::judge_own_size(const OwnSizePlan& plan, std::stop_token stop) {
  if (!features_.judges_own_sizes) return Backend::judge_own_size(plan, stop);
  const Stopwatch clock;
  OwnSizeResult result;
  try {
    OwnSize(*this, plan, stop).run(result);
  } catch (const json::exception&) {
    result.end = Fault::infrastructure("what a process of the GPU says is malformed");
  } catch (const Error& error) {
    result.end = Fault::infrastructure(error.what());
  }
  result.device_lost = result.end.is_infrastructure() && !stop.stop_requested() && is_lost(stop);
  result.run_ms = clock.ms();
  return result;
}

}  // namespace bicrl
