#include "tests/sandbox/host_support.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <fstream>

#include "common/clock.h"
#include "common/files.h"
#include "sandbox/candidate/host_compiler.h"

extern char** environ;

namespace bicrl::testing {
namespace {
namespace fs = std::filesystem;

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("host driver: " + what);
}

template <class T>
T valid(Result<T> result, const std::string& what) {
  if (!result) throw std::runtime_error("host driver: " + what + ": " + result.reason());
  return std::move(result.value());
}

// Runs a program to its end; its standard output and error go to `log`.
int run_process(const std::vector<std::string>& argv, const fs::path& log) {
  std::vector<char*> args;
  for (const auto& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "cannot start " + argv[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

double element(const char* p, DType type) {
  const auto get = [p](auto v) {
    memcpy(&v, p, sizeof v);
    return static_cast<double>(v);
  };
  switch (type) {
    case DType::kFloat32:
      return get(float{});
    case DType::kFloat64:
      return get(double{});
    case DType::kInt8:
      return get(int8_t{});
    case DType::kInt16:
      return get(int16_t{});
    case DType::kInt32:
      return get(int32_t{});
    case DType::kInt64:
      return get(int64_t{});
    case DType::kBFloat16: {
      uint16_t half;
      memcpy(&half, p, 2);
      const uint32_t bits = uint32_t{half} << 16;
      float v;
      memcpy(&v, &bits, 4);
      return v;
    }
    case DType::kFloat16: {
      uint16_t h;
      memcpy(&h, p, 2);
      const int exponent = h >> 10 & 31;
      const double fraction = h & 1023;
      const double sign = h & 0x8000 ? -1 : 1;
      if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
      return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
    }
    default:
      return get(uint8_t{});
  }
}

// Largest |error| / (tolerance + tolerance * |expected|) over a draw; infinite where shapes differ.
double compare(const OutputLayout& layout, const std::string& bytes, const std::vector<std::string>& expected,
               double tolerance) {
  if (layout.leaves.size() != expected.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& leaf = layout.leaves[i];
    if (leaf.bytes != expected[i].size()) return INFINITY;
    const size_t width = element_bytes(leaf.dtype);
    for (size_t at = 0; at < leaf.bytes; at += width) {
      const double got = element(bytes.data() + leaf.offset_bytes + at, leaf.dtype);
      const double want = element(expected[i].data() + at, leaf.dtype);
      if (got == want || (std::isnan(got) && std::isnan(want))) continue;
      const double ratio = std::fabs(got - want) / (tolerance + tolerance * std::fabs(want));
      worst = std::max(worst, std::isnan(ratio) ? INFINITY : ratio);
    }
  }
  return worst;
}

// Shapes and types, without strides: a reference may answer with other strides.
nlohmann::json structure(nlohmann::json spec) {
  if (spec.is_object()) {
    spec.erase("strides");
    if (spec.value("t", "") == "list") spec["t"] = "tuple";
  }
  if (spec.is_structured())
    for (auto& item : spec) item = structure(item);
  return spec;
}

}  // namespace

fs::path HostDriver::host_folder() { return fs::path(BICRL_BINARY_DIR) / "share" / "bicrl" / "host"; }

HostDriver::HostDriver() {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  const std::string descriptor = std::to_string(ends[1]), folder = host_folder().string();
  const std::string script = std::string(BICRL_SOURCE_DIR) + "/tests/sandbox/host_driver.py";
  std::vector<const char*> argv = {BICRL_TEST_PYTHON, script.c_str(), descriptor.c_str(), folder.c_str(),
                                   nullptr};
  require(
      posix_spawn(&interpreter_, argv[0], nullptr, nullptr, const_cast<char**>(argv.data()), environ) == 0,
      "cannot start Python");
  close(ends[1]);
  socket_ = ends[0];
}

HostDriver::~HostDriver() {
  close(socket_);
  waitpid(interpreter_, nullptr, 0);
}

void HostDriver::send(const nlohmann::json& header, const std::vector<std::string>& blobs) {
  nlohmann::json full = header;
  full["blobs"] = nlohmann::json::array();
  for (const auto& blob : blobs) full["blobs"].push_back(blob.size());
  const std::string text = full.dump();
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&size), 4);
  bytes += text;
  for (const auto& blob : blobs) bytes += blob;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    require(n > 0, "the interpreter is gone");
    done += static_cast<size_t>(n);
  }
}

HostDriver::Frame HostDriver::receive() {
  const auto take = [this](size_t size) {
    std::string bytes(size, '\0');
    for (size_t done = 0; done < size;) {
      const ssize_t n = read(socket_, bytes.data() + done, size - done);
      require(n > 0, "the interpreter is gone");
      done += static_cast<size_t>(n);
    }
    return bytes;
  };
  uint32_t size = 0;
  const std::string head = take(4);
  memcpy(&size, head.data(), 4);
  Frame frame;
  frame.header = nlohmann::json::parse(take(size));
  for (const auto& n : frame.header.value("blobs", nlohmann::json::array())) frame.blobs.push_back(take(n));
  require(frame.header.value("kind", "") != "error", frame.header.value("message", ""));
  return frame;
}

HostTask HostDriver::ask_oracle(const std::string& task_code, int draws, uint64_t seed) {
  send({{"kind", "oracle"}, {"task_code", task_code}, {"draws", draws}, {"seed", seed}, {"init_seed", 42}});
  Frame frame = receive();
  HostTask task;
  task.code = task_code;
  task.input_specs = frame.header["inputs"];
  task.expected_spec = frame.header["expected"];
  task.inputs = valid(input_layout(task.input_specs), "input specs");
  const size_t leaves = task.inputs.leaves.size(), each = frame.blobs.size() / static_cast<size_t>(draws);
  for (size_t d = 0; d < static_cast<size_t>(draws); ++d) {
    const auto first = frame.blobs.begin() + static_cast<long>(d * each);
    task.draws.emplace_back(first, first + static_cast<long>(leaves));
    task.expected.emplace_back(first + static_cast<long>(leaves), first + static_cast<long>(each));
  }
  return task;
}

bool HostDriver::compile(const Frame& request, HostRun& run) {
  const auto texts = [&](const char* key) { return request.header[key].get<std::vector<std::string>>(); };
  Stopwatch clock;
  const SplitProgram split =
      split_cuda_source({texts("cuda_sources"), texts("cpp_sources"), texts("functions")});
  run.split_ms = clock.ms();
  if (!split.issues.empty()) {
    run.fault_class = split.issues[0].fault_class;
    run.message = split.issues[0].reason;
    run.reached = "split";
    return false;
  }
  const fs::path work = folder_.path() / std::to_string(modules_++);
  fs::create_directory(work);
  for (const auto& unit : split.units) write_bytes(work / unit.file_name, unit.text);
  const auto command = host_compile_command(split, work, host_folder());
  clock = Stopwatch();
  const int status = run_process(command.argv, work / "log");
  run.compile_ms = clock.ms();
  if (status != 0) {
    const CompileFailure failure = classify_compile_failure(read_file(work / "log"));
    run.fault_class = failure.fault_class;
    run.message = failure.reason;
    run.reached = "compile";
    return false;
  }
  run.module_path = (work / command.output_file).string();
  return true;
}

bool HostDriver::record(const HostTask& task, const std::string& program, int direct_draw, HostRun& run) {
  const bool direct = direct_draw >= 0;
  send({{"kind", "record"}});
  Stopwatch clock;
  double compiling = 0;
  send({{"kind", "run"},
        {"mode", direct ? "direct" : "record"},
        {"program", program},
        {"task_code", task.code},
        {"init_seed", 42},
        {"inputs", task.input_specs},
        {"small_parameter_elements", 1000}},
       direct ? task.draws[static_cast<size_t>(direct_draw)] : std::vector<std::string>{});
  run.fault_class = "record";
  run.message = "the recorder died";
  run.reached = "record";
  for (;;) {
    Frame frame = receive();
    const std::string kind = frame.header["kind"];
    if (kind == "ended") break;
    if (kind == "compile") {
      const Stopwatch compile_clock;
      const bool ok = direct || compile(frame, run);
      compiling += compile_clock.ms();
      send({{"kind", "module"}, {"ok", ok}},
           ok ? std::vector{read_file(run.module_path)} : std::vector<std::string>{});
    } else if (kind == "trace") {
      run.record_ms = clock.ms() - compiling;
      run.trace = valid(Trace::parse(frame.header, frame.blobs, task.inputs), "the trace does not parse");
      run.fault_class.clear();
      run.message.clear();
    } else if (kind == "result") {
      run.record_ms = clock.ms() - compiling;
      run.direct = valid(parse_direct_result(frame.header, frame.blobs), "the result does not parse");
      run.fault_class.clear();
      run.message.clear();
    } else {
      run.fault_class = frame.header["class"];
      run.message = frame.header["message"];
    }
  }
  return run.fault_class.empty();
}

HostRun HostDriver::run(const HostTask& task, const std::string& program, double tolerance,
                        const ReplayOptions& options) {
  HostRun run;
  if (record(task, program, -1, run)) {
    run.tier = "replay";
    const ProducerCheck check = run.trace->check_producers();
    if (!check.fault_class.empty()) {
      run.fault_class = check.fault_class;
      run.message = check.reason;
      return run;
    }
    HostRun replayed = replay(task, run, tolerance, options);
    replayed.trace = std::move(run.trace);
    return replayed;
  }
  if (run.fault_class != "needs_data") return run;
  run.tier = "direct";
  for (size_t d = 0; d < task.draws.size(); ++d) {
    if (!record(task, program, static_cast<int>(d), run)) return run;
    const ProducerCheck check = run.direct->check_producers();
    run.fault_class = check.fault_class;
    run.message = check.reason;
    if (!check.fault_class.empty()) return run;
    const double worst = compare(run.direct->returned.layout, run.direct->bytes, task.expected[d], tolerance);
    run.worst = std::max(run.worst, worst);
    run.passed += worst <= 1;
  }
  return run;
}

HostRun HostDriver::replay(const HostTask& task, const HostRun& recorded, double tolerance,
                           const ReplayOptions& options) {
  HostRun run = recorded;
  run.passed = 0;
  run.worst = 0;
  run.outputs.clear();
  run.reached = "replay";
  const fs::path work = fs::path(recorded.module_path).parent_path();
  write_bytes(work / "trace", recorded.trace->encode());
  write_bytes(work / "inputs", valid(encode_inputs(task.inputs, task.draws), "inputs"));
  const size_t draws = task.draws.size();
  const auto& layout = recorded.trace->output_layout();
  write_bytes(work / "outputs", std::string(layout.draw_bytes * draws, static_cast<char>(options.poison)));
  write_bytes(work / "control", "");
  const int output = open((work / "outputs").c_str(), O_RDWR),
            control = open((work / "control").c_str(), O_RDWR);
  std::vector<std::string> argv = {(host_folder() / "bicrl-replay").string(),
                                   "--module",
                                   recorded.module_path,
                                   "--trace",
                                   (work / "trace").string(),
                                   "--inputs",
                                   (work / "inputs").string(),
                                   "--draws",
                                   std::to_string(draws),
                                   "--poison",
                                   std::to_string(options.poison),
                                   "--thread-order",
                                   options.reverse ? "reverse" : "forward",
                                   "--repeat",
                                   std::to_string(options.repeat),
                                   "--run-limit-ms",
                                   std::to_string(options.run_limit_ms),
                                   "--output-fd",
                                   std::to_string(output),
                                   "--control-fd",
                                   std::to_string(control)};
  if (options.skip_launches) argv.push_back("--skip-launches");
  const int status = run_process(argv, work / "replay_log");
  close(output);
  close(control);
  require(status == 0, "the replay program failed: " + read_file(work / "replay_log"));
  const auto report = nlohmann::json::parse(read_file(work / "control"));
  const std::string bytes = read_file(work / "outputs");
  const bool same = structure(recorded.trace->returned.structure) == structure(task.expected_spec);
  std::vector<double> times;
  for (size_t d = 0; d < draws; ++d) {
    const auto& draw = report["draws"][d];
    if (draw["status"] != "ok") {
      run.fault_class = draw["status"];
      run.message = draw["message"];
      continue;
    }
    for (const double ms : draw["run_ms"]) times.push_back(ms);
    run.outputs.push_back(bytes.substr(d * layout.draw_bytes, layout.draw_bytes));
    const double worst = same ? compare(layout, run.outputs.back(), task.expected[d], tolerance) : INFINITY;
    run.worst = std::max(run.worst, worst);
    run.passed += worst <= 1;
  }
  std::sort(times.begin(), times.end());
  if (!times.empty()) run.replay_ms = times[times.size() / 2];
  return run;
}

std::string program_of(const std::string& cuda, const std::string& declarations, const std::string& functions,
                       const std::string& forward, const std::string& parameters,
                       const std::string& constructor) {
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
         "source = r'''\n#include <torch/extension.h>\n" +
         cuda + "\n'''\ndeclarations = r'''\n" + declarations +
         "\n'''\next = load_inline(name='ext', cpp_sources=declarations, cuda_sources=source, functions=[" +
         functions +
         "])\nclass ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n        " +
         constructor + "\n    def forward(self, " + parameters + "):\n        return " + forward + "\n";
}

std::string task_of(const std::string& forward, const std::string& inputs, const std::string& parameters,
                    const std::string& constructor) {
  return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nclass Model(nn.Module):\n"
         "    def __init__(self):\n        super().__init__()\n        " +
         constructor + "\n    def forward(self, " + parameters + "):\n        return " + forward +
         "\ndef get_inputs():\n    return [" + inputs + "]\ndef get_init_inputs():\n    return []\n";
}

HostDriver& host_driver() {
  static HostDriver one;
  return one;
}

}  // namespace bicrl::testing
