// Drives the host toolchain without boxes, for trusted programs: oracle and recorder in a warm interpreter,
// g++ and the replay program as plain processes.
#pragma once
#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/candidate/splitter.h"
#include "sandbox/trace.h"
#include "tests/support/support.h"

namespace bicrl::testing {

// Seeded inputs of a task and what its reference answers.
struct HostTask {
  std::string code;
  nlohmann::json input_specs, expected_spec;
  InputLayout inputs;
  std::vector<std::vector<std::string>> draws;     // [draw][leaf]
  std::vector<std::vector<std::string>> expected;  // [draw][leaf], contiguous
};

struct HostRun {
  std::string fault_class, message;  // of splitter, compiler, recorder or replay; empty when it ran
  std::string reached;               // split, compile, record, replay, compare
  std::optional<Trace> trace;
  std::optional<DirectResult> direct;
  std::string tier;
  int passed = 0;  // draws whose outputs are allclose
  double worst = 0;
  double split_ms = 0, compile_ms = 0, record_ms = 0,
         replay_ms = 0;              // record without compile; replay: median run
  std::vector<std::string> outputs;  // [draw], as the output layout says
  std::string module_path;
};

struct ReplayOptions {
  bool reverse = false, skip_launches = false;
  int poison = 0xff, repeat = 1;
  double run_limit_ms = 600e3;
};

class HostDriver {
 public:
  HostDriver();  // starts the interpreter
  ~HostDriver();
  HostTask ask_oracle(const std::string& task_code, int draws, uint64_t seed = 1234);
  // The whole way of one program. Takes the direct tier when recording needs data, as the service does.
  HostRun run(const HostTask& task, const std::string& program, double tolerance = 1e-2,
              const ReplayOptions& options = {});
  // Replays a recorded run once more, with other options; fills passed, worst, fault_class and outputs.
  HostRun replay(const HostTask& task, const HostRun& recorded, double tolerance,
                 const ReplayOptions& options);
  static std::filesystem::path host_folder();

 private:
  struct Frame {
    nlohmann::json header;
    std::vector<std::string> blobs;
  };
  void send(const nlohmann::json& header, const std::vector<std::string>& blobs = {});
  Frame receive();
  bool record(const HostTask& task, const std::string& program, int direct_draw, HostRun& run);
  bool compile(const Frame& request, HostRun& run);
  int socket_ = -1;
  pid_t interpreter_ = -1;
  TemporaryFolder folder_;
  int modules_ = 0;
};

// Wraps CUDA source in a program of the published form. `forward` is Python after `return`, for instance
// "ext.f(x, 2)"; parameters of forward are named by `parameters`.
std::string program_of(const std::string& cuda, const std::string& declarations, const std::string& functions,
                       const std::string& forward, const std::string& parameters = "x",
                       const std::string& constructor = "pass");
// A task whose reference is the Python expression `forward`.
std::string task_of(const std::string& forward, const std::string& inputs,
                    const std::string& parameters = "x", const std::string& constructor = "pass");

// The interpreter is shared by the test cases of one process.
HostDriver& host_driver();

}  // namespace bicrl::testing
