// bicrl-gpu-load: holds one context on a GPU and runs launch traces there on secret inputs, one plan after
// the other, in a box that holds this program and the driver. What it reads may be forged. It never sees what
// an answer should be.
//   bicrl-gpu-load CHANNEL DEVICE     CHANNEL: a descriptor, a socket of packets
//   (box/process/descriptor_passing.h) bicrl-gpu-load - DEVICE           says what it would say first, to
//   stdout, and ends bicrl-gpu-load CHANNEL count      says {"devices"}, how many there are, or {"error"},
//   and ends
// It first says {"device", "architecture", "driver", "memory_bytes", "memory_gb_per_s", "l2_bytes", "bus",
// "reaches_host_memory", "shares_memory"} or {"error"}. A
// request is packets that carry files and say nothing else ({}), and then {"plan": number}: the plan is that
// file, the JSON of bicrl-execute's plan, where files have numbers instead of paths, with "code": machine
// code for each of "ptx", and "limit_s" in place of "lane_operations". Its answer is {"done": true, "retire"}
// once the files "output_file" and "control_file" hold what bicrl-execute writes to its descriptors; with
// "retire" it has ended: a context that saw a fault is of no use, nor one whose kernels may have left
// something behind. A plan with "own_size": {"test_inputs": [files], "first"} runs on memory of the device
// that those files share (own_size_session.h). A plan with "window" has no "runs": what is said until
// {"done"} is in window_session.h. With "watched" a tool looks on (sandbox/gpu/sanitizer_report.h): each
// buffer is an allocation, nothing is poisoned, and the process ends when the other side does, so that the
// tool can finish its report.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "sandbox/box/process/descriptor_passing.h"
#include "sandbox/gpu/loader/device_run.h"
#include "sandbox/gpu/loader/shared_poison.h"
#include "sandbox/runtimes/gpu/mapped_file.h"
#include "sandbox/runtimes/gpu/own_size_session.h"
#include "sandbox/runtimes/gpu/window_session.h"
#include "sandbox/trace_run/planned_run.h"

namespace bicrl {
namespace {

using gpu::DeviceRun;
using nlohmann::json;

// Up to which repeats beyond the certain ones are executed.
constexpr double kCheap_s = 0.2;

void write_all(int fd, const void* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(fd, static_cast<const char*>(bytes) + done, size - done);
    if (n <= 0) throw InputError(concat("an answer cannot be written: ", strerror(errno)));
    done += static_cast<size_t>(n);
  }
}

// What stays as long as the process; made by the first job that needs it.
struct Context {
  gpu::Driver driver;
  std::optional<gpu::SharedPoison> poison{};
  std::optional<gpu::DeviceClock> clock{};
};

// The files of one request.
class Job {
 public:
  Job(Context& context, int channel, std::vector<UniqueFd> files)
      : context_(context), driver_(context.driver), channel_(channel), files_(std::move(files)) {}

  // Whether the context may be used again.
  bool execute(size_t plan) {
    plan_ = json::parse(contents(plan));
    json report;
    try {
      report = run_plan();
      if (report.is_null()) return reusable_;
    } catch (const gpu::DriverError& error) {
      report = {{"error", concat("GPU: ", error.what())}};
      reusable_ = false;
    }
    const std::string text = report.dump(-1, ' ', true, json::error_handler_t::replace);
    write_all(file("control_file"), text.data(), text.size());
    return reusable_;
  }

  bool watched() const { return watched_; }

 private:
  std::string contents(size_t number) const { return read_whole(files_.at(number).get()); }
  int file(const char* name) const { return files_.at(plan_.at(name).get<size_t>()).get(); }
  std::vector<std::string> all(const char* name) const {
    std::vector<std::string> texts;
    for (const json& number : plan_.at(name)) texts.push_back(contents(number.get<size_t>()));
    return texts;
  }

  json run_plan() {
    const auto decoded = Trace::decode(contents(plan_.at("trace").get<size_t>()));
    if (!decoded) return {{"error", "bad trace: " + decoded.reason()}};
    const Trace& trace = decoded.value();
    const std::vector<std::string> texts = all("ptx"), code = all("code");
    const auto program = DeviceProgram::parse(texts);
    if (!program) return {{"unsupported", program.reason()}};
    // What device code takes from the context's heap stays there.
    for (const ptx::Module& module : program.value().modules())
      for (const ptx::Function& function : module.functions)
        if (function.name == "malloc") reusable_ = false;
    watched_ = plan_.value("watched", false);
    if (!watched_ && !context_.poison)
      context_.poison.emplace(driver_, contents(plan_.at("poison").get<size_t>()));
    const CallSummary calls = summarise_calls(trace);
    if (plan_.contains("own_size")) {
      serve_own_size(program.value(), code, trace, calls);
      return {};
    }
    if (plan_.contains("window")) {
      serve_window(program.value(), code, trace, calls);
      return {};
    }
    json report{{"runs", json::array()}};
    bool follow_copies = !watched_ && CopiedContents::matter(trace);
    for (const json& asked : plan_.at("runs")) {
      json one = run(program.value(), code, trace, calls, asked, follow_copies);
      if (one.contains("copied")) follow_copies = follow_copies && !one["copied"].empty();
      const bool failed = one.contains("fault");
      report["runs"].push_back(std::move(one));
      if (failed) break;
    }
    return report;
  }

  void serve_window(const DeviceProgram& program, const std::vector<std::string>& code, const Trace& trace,
                    const CallSummary& calls) {
    if (!context_.clock) context_.clock.emplace(driver_, contents(plan_.at("nothing").get<size_t>()));
    context_.poison->spread();
    DeviceRun device(driver_, program, code, trace, calls,
                     {.seed = plan_.at("seed").get<uint64_t>(),
                      .limit_s = plan_.at("limit_s").get<double>(),
                      .max_bytes = plan_.at("max_bytes").get<uint64_t>(),
                      .renewable = true});
    const WindowFiles files{.channel = channel_,
                            .outputs = file("output_file"),
                            .inputs = [&](size_t number) { return inputs_of(trace, number); }};
    reusable_ = bicrl::serve_window(driver_, *context_.clock, *context_.poison, device,
                                    trace.output_layout().total_bytes, files) &&
                reusable_;
  }

  void serve_own_size(const DeviceProgram& program, const std::vector<std::string>& code, const Trace& trace,
                      const CallSummary& calls) {
    if (!context_.clock) context_.clock.emplace(driver_, contents(plan_.at("nothing").get<size_t>()));
    context_.poison->spread();
    std::vector<gpu::SharedAllocation> test_inputs;
    OwnSizeFiles files{.channel = channel_, .test_inputs = {}, .first = plan_.at("own_size").at("first")};
    for (const json& number : plan_.at("own_size").at("test_inputs")) {
      test_inputs.push_back(
          driver_.map_shared(files_.at(number.get<size_t>()).get(), trace.inputs.total_bytes));
      files.test_inputs.push_back(test_inputs.back().address);
    }
    {
      DeviceRun device(driver_, program, code, trace, calls,
                       {.seed = plan_.at("seed").get<uint64_t>(),
                        .limit_s = plan_.at("limit_s").get<double>(),
                        .max_bytes = plan_.at("max_bytes").get<uint64_t>(),
                        .renewable = true,
                        .shared = true});
      reusable_ = bicrl::serve_own_size(driver_, *context_.clock, *context_.poison, device, trace, files) &&
                  reusable_;
    }
    if (!reusable_) return;  // the process ends, and the driver unmaps
    for (gpu::SharedAllocation& test_input : test_inputs) driver_.release(test_input);
  }

  // Of a test input, by its number in the plan; where it is for as long as the job.
  std::string_view inputs_of(const Trace& trace, const json& number) {
    const auto file = plan_.at("test_inputs").at(number.get<size_t>()).get<size_t>();
    auto known = test_inputs_.find(file);
    if (known == test_inputs_.end())
      known = test_inputs_.emplace(file, MappedFile::readable(files_.at(file).get())).first;
    const std::string_view inputs = known->second.text();
    if (inputs.size() != trace.inputs.total_bytes) throw InputError("the inputs have another size");
    return inputs;
  }

  json run(const DeviceProgram& program, const std::vector<std::string>& code, const Trace& trace,
           const CallSummary& calls, const json& asked, bool follow_copies) {
    follow_copies = follow_copies && !asked.at("skip_launches").get<bool>();
    if (!watched_) context_.poison->spread();
    DeviceRun device(driver_, program, code, trace, calls,
                     {.seed = asked.at("seed").get<uint64_t>(),
                      .skip_launches = asked.at("skip_launches").get<bool>(),
                      .follow_copies = follow_copies,
                      .limit_s = plan_.at("limit_s").get<double>(),
                      .max_bytes = plan_.at("max_bytes").get<uint64_t>(),
                      .apart = watched_});
    PlannedRun planned(
        device.trace_run(), trace, asked,
        {.follow_copies = follow_copies,
         .inputs = [&](size_t number) { return CallInputs(inputs_of(trace, number)); },
         .write = [&](const void* bytes, size_t size) { write_all(file("output_file"), bytes, size); },
         .is_cheap = [&] { return device.seconds() <= kCheap_s; }});
    planned.first_call();
    planned.repeats();
    // A kernel that wrote beside its buffers may have written anywhere in the context.
    reusable_ = reusable_ && !device.device().context_lost() && !planned.failed();
    return planned.report();
  }

  Context& context_;
  gpu::Driver& driver_;
  const int channel_;
  std::vector<UniqueFd> files_;
  json plan_;
  std::map<size_t, MappedFile> test_inputs_;  // by their files' numbers
  bool watched_ = false;
  // Where kernels reach this process's own memory, what a candidate left here must not run the next one.
  bool reusable_ = !driver_.device().reaches_host_memory;
};

json description(const gpu::DeviceDescription& device) {
  return {{"device", device.name},
          {"architecture", device.architecture},
          {"driver", device.driver_version},
          {"memory_bytes", device.memory_bytes},
          {"memory_gb_per_s", device.memory_gb_per_s},
          {"l2_bytes", device.l2_bytes},
          {"bus", device.bus},
          {"reaches_host_memory", device.reaches_host_memory},
          {"shares_memory", device.shares_memory}};
}

// The next request's files and the number of its plan; nothing if the other side is gone.
std::optional<size_t> receive_request(int channel, std::vector<UniqueFd>& files) {
  while (true) {
    if (!wait_readable(channel, 3600, {})) continue;
    Packet packet = receive_packet(channel);
    if (packet.content.is_discarded()) return std::nullopt;
    for (UniqueFd& fd : packet.fds) files.push_back(std::move(fd));
    if (packet.content.contains("plan")) return packet.content["plan"].get<size_t>();
  }
}

int count(int channel) {
  const auto devices = gpu::count_devices();
  const json said = devices ? json{{"devices", devices.value()}} : json{{"error", devices.reason()}};
  return send_packet(channel, said.dump(), {}) ? 0 : 3;
}

int serve(int channel, int device) {
  auto driver = gpu::Driver::open(device);
  const json hello = driver ? description(driver.value().device()) : json{{"error", driver.reason()}};
  if (channel < 0) {
    printf("%s\n", hello.dump().c_str());
    return driver ? 0 : 3;
  }
  if (!send_packet(channel, hello.dump(), {}) || !driver) return 3;
  // What kernels print is nobody's.
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  Context context{.driver = std::move(driver.value())};
  while (true) {
    std::vector<UniqueFd> files;
    const auto plan = receive_request(channel, files);
    if (!plan) return 0;
    Job job(context, channel, std::move(files));
    const bool reusable = job.execute(*plan), watched = job.watched();
    if (!send_packet(channel, json{{"done", true}, {"retire", !reusable}}.dump(), {})) return 0;
    // Nothing is torn down: a kernel without end would have us wait for it.
    if (!reusable && !watched) _exit(0);
  }
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw bicrl::InputError("usage: bicrl-gpu-load CHANNEL DEVICE");
    const bool alone = strcmp(argv[1], "-") == 0;
    if (!alone && strcmp(argv[2], "count") == 0) return bicrl::count(atoi(argv[1]));
    return bicrl::serve(alone ? -1 : atoi(argv[1]), atoi(argv[2]));
  } catch (const std::bad_alloc&) {
    return 4;
  } catch (const std::exception& error) {
    fprintf(stderr, "bicrl-gpu-load: %s\n", error.what());
    return 2;
  }
}
