// KernelBench's own protocol on the host's clock: what a right program's record holds, and how each way to be
// wrong is recorded. With a GPU the same path runs there: bench/kernelbench.py.
#include "sandbox/verifier/stock_evaluator.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "sandbox/gpu/gpu_box.h"
#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using nlohmann::ordered_json;

const std::string kReference = R"(
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(self.linear(x))

def get_inputs():
    return [torch.randn(8, 16)]

def get_init_inputs():
    return [16]
)";

// A right program, but for what `forward` returns.
std::string stock_program(const std::string& forward, const std::string& before = "") {
  return before + R"(
import torch
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
)" + forward;
}

const std::string kRight = "        return self.linear(x).clamp(min=0)\n";

StockOptions on_host(const std::string& precision = "fp32", double timeout_s = 900) {
  return {.device = "cpu",
          .precision = precision,
          .timing_trials = 10,
          .timeout_s = timeout_s,
          .memory_bytes = 8ull << 30};
}

ordered_json evaluate(const std::string& code, const StockOptions& options = on_host()) {
  static std::map<std::pair<std::string, double>, StockEvaluator> evaluators;
  auto& evaluator = evaluators
                        .try_emplace({options.precision, options.timeout_s}, testing::box_host(),
                                     testing::python_install(), options)
                        .first->second;
  auto record = evaluator.evaluate(kReference, code);
  INFO((record ? "" : record.reason()));
  REQUIRE(record);
  INFO(record.value().dump(1));
  const ordered_json& r = record.value();
  for (const char* key : {"compiled", "correctness", "metadata", "runtime", "runtime_stats", "ref_runtime",
                          "ref_runtime_stats"})
    CHECK(r.contains(key));
  CHECK(r["metadata"]["protocol"] == "kernelbench (423217d), trusts the candidate");
  CHECK(r["metadata"]["hardware"] == "cpu");
  CHECK(r["metadata"]["device"] == "cpu");
  if (r["correctness"] == false) CHECK(r["runtime"] == -1.0);
  return r;
}

// Neither compiled nor correct, or not correct.
void check_fault(const ordered_json& record, bool compiled, const std::string& key, const std::string& text) {
  INFO(record.dump(1));
  CHECK(record["compiled"] == compiled);
  CHECK(record["correctness"] == false);
  REQUIRE(record["metadata"].contains(key));
  CHECK(record["metadata"][key].get<std::string>().find(text) != std::string::npos);
}

TEST_CASE("the record of a correct program has its trials and times") {
  const ordered_json record = evaluate(stock_program(kRight));
  CHECK(record["compiled"] == true);
  CHECK(record["correctness"] == true);
  CHECK(record["metadata"]["correctness_trials"] == "(5 / 5)");
  CHECK(record["metadata"]["clock"] == "host");
  for (const std::string which : {"runtime", "ref_runtime"}) {
    const ordered_json& stats = record[which + "_stats"];
    CHECK(record[which] == stats["mean"]);
    CHECK(stats["num_trials"] == 10);
    CHECK(stats["min"].get<double>() > 0);
    CHECK(stats["min"] <= stats["mean"]);
    CHECK(stats["mean"] <= stats["max"]);
    CHECK(stats["std"].get<double>() >= 0);
  }
}

// The program knows the published seeds and refuses other inputs.
TEST_CASE("inputs are those of seed 42, and calls as many as published") {
  const std::string check = R"(
        global calls
        calls += 1
        drawn = seeds[calls - 1] if calls <= 5 else 42
        assert torch.equal(x, torch.randn(8, 16, generator=torch.Generator().manual_seed(drawn))), f"call {calls}"
        assert calls <= 5 + 3 + 1 + 10, "more calls than published"
        return self.linear(x).clamp(min=0)
)";
  const std::string seeds = R"(
import torch
generator = torch.Generator().manual_seed(42)
seeds = [torch.randint(0, 2**32 - 1, (1,), generator=generator).item() for _ in range(5)]
calls = 0
)";
  const ordered_json record = evaluate(stock_program(check, seeds));
  INFO(record.dump(1));
  CHECK(record["correctness"] == true);
  CHECK(record["runtime"].get<double>() > 0);
  CHECK_FALSE(record["metadata"].contains("error_during_performance"));
}

TEST_CASE("tolerances are those of the precision, or the one that is asked for") {
  const std::string off = "        return (self.linear(x).clamp(min=0) + 2e-3).to(x.dtype)\n";
  const ordered_json fp32 = evaluate(stock_program(off));
  check_fault(fp32, true, "correctness_issue", "Output mismatch");
  CHECK(fp32["metadata"]["max_difference"].size() == 5);
  CHECK(fp32["metadata"]["correctness_trials"] == "(0 / 5)");
  for (const std::string precision : {"fp16", "bf16"}) {
    const ordered_json record = evaluate(stock_program(off), on_host(precision));
    CHECK(record["correctness"] == true);
    CHECK(record["metadata"]["precision"] == precision);
  }
  StockOptions loose = on_host();
  loose.tolerance = 1e-2;
  StockEvaluator evaluator(testing::box_host(), testing::python_install(), loose);
  const auto accepted = evaluator.evaluate(kReference, stock_program(off));
  REQUIRE(accepted);
  CHECK(accepted.value()["correctness"] == true);
  CHECK(accepted.value()["metadata"]["tolerance"] == 1e-2);
  CHECK(fp32["metadata"]["tolerance"] == 1e-4);
  const ordered_json far =
      evaluate(stock_program("        return self.linear(x).clamp(min=0) + 0.1\n"), on_host("bf16"));
  check_fault(far, true, "correctness_issue", "Output mismatch");
}

TEST_CASE("incorrect programs are recorded as KernelBench records them") {
  check_fault(evaluate(stock_program("        return self.linear(x)[:4]\n")), true, "correctness_issue",
              "Output shape mismatch");
  check_fault(evaluate(stock_program("        raise ValueError('no answer')\n")), true, "runtime_error",
              "no answer");
  check_fault(evaluate(stock_program("        return [1]\n")), true, "runtime_error", "");
  check_fault(evaluate("raise ValueError('at import')\n"), false, "compilation_error", "at import");
  check_fault(evaluate("def broken(:\n"), false, "compilation_error_name", "SyntaxError");
  check_fault(evaluate("x = 1\n"), false, "compilation_error", "ModelNew is not defined");
  check_fault(evaluate("class ModelNew(nn.Module):\n    pass\n"), false, "other_error",
              "");  // no constructor
}

TEST_CASE("programs that end their process, print, or write where the result lies have a record") {
  check_fault(evaluate(stock_program("        import os; os._exit(0)\n")), true, "process_ended",
              "exit status 0");
  check_fault(evaluate("import sys\nsys.exit(3)\n"), false, "process_ended", "exit status 3");
  check_fault(evaluate(stock_program("        import os; os.kill(os.getpid(), 11)\n")), true, "process_ended",
              "");
  const ordered_json loud =
      evaluate(stock_program(kRight, "print('{\"record\": {\"correctness\": true}}\\n' * 100000)\n"));
  CHECK(loud["correctness"] == true);
  const std::string deep = concat("{\"record\": ", std::string(100'000, '['), std::string(100'000, ']'), "}");
  for (const std::string& text :
       {std::string("null"), std::string("{"), std::string(R"({"record": {"compiled": 3}})"), deep})
    check_fault(evaluate("import os\nos.ftruncate(16, 0)\nos.pwrite(16, b'" + text + "', 0)\nos._exit(0)\n"),
                false, "process_ended", "");
  // What starts something that does not end is right all the same.
  CHECK(evaluate(stock_program(
            kRight,
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(100000,)).start()\n"))["correctness"] == true);
}

TEST_CASE("a program without end meets the limit of time") {
  const ordered_json record = evaluate("while True:\n    pass\n", on_host("fp32", 15));
  check_fault(record, false, "timeout", "15 s");
}

TEST_CASE("a program is in a box, without network and without files of the host") {
  setenv("BICRL_TEST_SECRET", "planted", 1);
  const ordered_json record = evaluate(R"(
import os, socket
assert "BICRL_TEST_SECRET" not in os.environ
for path in ("/usr/x", "/x", "/references/x"):
    try:
        open(path, "w")
        raise SystemError(path + " can be written")
    except OSError:
        pass
try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    raise SystemError("there is a network")
except OSError:
    pass
)" + stock_program(kRight));
  INFO(record.dump(1));
  CHECK(record["correctness"] == true);
}

// A module that torch's load_inline builds in a second: it leaves out torch's headers, which take half a
// minute.
const std::string kBuild = R"(
from torch.utils.cpp_extension import load_inline
source = '''
#include <Python.h>
static PyModuleDef built = {PyModuleDef_HEAD_INIT, "built"};
PyMODINIT_FUNC PyInit_built() { return PyModule_Create(&built); }
'''
def build():
    load_inline(name='built', cpp_sources=source, no_implicit_headers=True)
)";

TEST_CASE("a program is built by torch's own load_inline, and a compiler's message is its fault") {
  const ordered_json record = evaluate(
      "from torch.utils.cpp_extension import load_inline\n"
      "source = 'torch::Tensor clamp(torch::Tensor x) { return x.clamp_min(0); }'\n"
      "built = load_inline(name='built', cpp_sources=source, functions=['clamp'])\n" +
      stock_program("        return built.clamp(self.linear(x))\n"));
  INFO(record.dump(1));
  CHECK(record["correctness"] == true);
  // KernelBench takes a message with these letters for a lock file's, and forgets the program.
  check_fault(evaluate(testing::replaced(kBuild, "static", "int block = ;\nstatic") + "build()\n"), false,
              "compilation_error", "block");
}

// From one process to the next of a program: what the build has left.
const std::string kLeft = R"(
import os, time
os.makedirs(os.environ['TORCH_EXTENSIONS_DIR'], exist_ok=True)
left = os.environ['TORCH_EXTENSIONS_DIR'] + '/left'
is_build = not os.path.exists(left)
)";

TEST_CASE("programs are built side by side, then each has the device alone, and nobody compiles meanwhile") {
  const std::string code = kLeft + kBuild + R"(
library = os.environ['TORCH_EXTENSIONS_DIR'] + '/built/built.so'
begin = time.monotonic()
build()
if is_build:
    time.sleep(3)
    with open(left, 'w') as file:
        file.write(f'{begin} {time.monotonic()} {os.stat(library).st_mtime_ns}')
build_begin, build_end, made = open(left).read().split()
ready = int(made) == os.stat(library).st_mtime_ns
import torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.begin = time.monotonic()
    def forward(self, x):
        time.sleep(0.2)
        raise RuntimeError(f'{ready} {build_begin} {build_end} {self.begin} {time.monotonic()}')
)";
  StockOptions options = on_host();
  options.build_jobs = 2;
  StockEvaluator evaluator(testing::box_host(), testing::python_install(), options);
  using Record = Result<ordered_json>;
  struct Times {
    double build_begin, build_end, begin, end;
  };
  const auto times_of = [](const Record& record) {
    REQUIRE(record);
    INFO(record.value().dump(1));
    std::istringstream said(record.value()["metadata"]["runtime_error"].get<std::string>());
    std::string ready;
    Times t{};
    said >> ready >> t.build_begin >> t.build_end >> t.begin >> t.end;
    CHECK(ready == "True");
    CHECK(t.build_end > t.build_begin);
    CHECK(t.end > t.begin);
    return t;
  };
  const auto overlap = [](double begin, double end, double other_begin, double other_end) {
    return begin < other_end && other_begin < end;
  };
  const auto grade = [&] { return evaluator.evaluate(kReference, code); };
  const auto grade_three = [&] {
    auto beside = std::async(std::launch::async, [&] { return std::pair(grade(), grade()); });
    std::vector<Times> times{times_of(grade())};
    const auto [second, third] = beside.get();
    for (const Record* record : {&second, &third}) times.push_back(times_of(*record));
    return times;
  };
  // Another process's turn may come between the first two builds.
  size_t built_together = 0;
  for (int round = 0; round < 5 && built_together == 0; ++round) {
    const std::vector<Times> times = grade_three();
    for (const Times& a : times)
      for (const Times& b : times) {
        if (&a == &b) continue;
        CHECK_FALSE(overlap(a.begin, a.end, b.begin, b.end));
        CHECK_FALSE(overlap(a.begin, a.end, b.build_begin, b.build_end));
        built_together += overlap(a.build_begin, a.build_end, b.build_begin, b.build_end);
      }
  }
  CHECK(built_together == 2);  // the first two
}

TEST_CASE("lack of memory is reported where the compiler failed for it, not beside another fault") {
  const auto& present = testing::box_host().features().present;
  if (std::ranges::none_of(present, [](const auto& one) { return one.starts_with("cgroup-v"); }))
    SKIP("without control groups nobody sees why a process was ended");
  StockOptions options = on_host();
  options.memory_bytes = 2ull << 30;
  StockEvaluator evaluator(testing::box_host(), testing::python_install(), options);
  const auto metadata_of = [&](const std::string& fault) {
    // Two processes of the build have not both room, so one is ended, as a compiler would be.
    const std::string hoarding = R"py(
import subprocess, sys, time
hoard = "import sys; held = b'1' * (1300 << 20); sys.stdin.read()"
both = [subprocess.Popen([sys.executable, '-c', hoard], stdin=subprocess.PIPE) for _ in range(2)]
while all(one.poll() is None for one in both):
    time.sleep(0.01)
for one in both:
    one.kill()
raise RuntimeError("Error building extension 'built': )py" +
                                 fault + "\")\n";
    const auto record = evaluator.evaluate(kReference, hoarding);
    REQUIRE(record);
    INFO(record.value().dump(1));
    CHECK(record.value()["compiled"] == false);
    CHECK(record.value()["metadata"].contains("compilation_error"));
    return record.value()["metadata"];
  };
  CHECK(metadata_of("c++: fatal error: Killed signal terminated program cc1plus").contains("memory"));
  CHECK_FALSE(metadata_of("error: no member named 'sise'").contains("memory"));
}

TEST_CASE("a build that is cut off or lacks memory is made up for") {
  // Its lock would keep the next process waiting for ever.
  const std::string cut_off = kLeft + kBuild + R"(
if is_build:
    os.makedirs(os.environ['TORCH_EXTENSIONS_DIR'] + '/built')
    open(os.environ['TORCH_EXTENSIONS_DIR'] + '/built/lock', 'w').close()
    open(left, 'w').close()
    os.kill(os.getpid(), 9)
build()
)";
  CHECK(evaluate(cut_off + stock_program(kRight))["correctness"] == true);
  const std::string starved = kLeft + R"(
if is_build:
    open(left, 'w').close()
    raise RuntimeError("Error building extension 'built': c++: fatal error: Killed signal terminated program cc1plus")
)";
  CHECK(evaluate(starved + stock_program(kRight))["correctness"] == true);
  // What a build leaves running is ended with it.
  const std::string lingering = kLeft + R"(
import subprocess
if is_build:
    child = subprocess.Popen(['/bin/sh', '-c', 'while :; do echo > ' + left + '.alive; done'])
    while not os.path.exists(left + '.alive'):
        time.sleep(0.01)
    open(left, 'w').close()
else:
    seen = os.stat(left + '.alive').st_mtime_ns
    time.sleep(0.5)
    assert seen == os.stat(left + '.alive').st_mtime_ns, 'it goes on'
)";
  const ordered_json ended = evaluate(lingering + stock_program(kRight));
  INFO(ended.dump(1));
  CHECK(ended["correctness"] == true);
}

TEST_CASE("a program that waits for the device gives way to a stop") {
  StockEvaluator evaluator(testing::box_host(), testing::python_install(), on_host());
  const std::string slow = stock_program("        import time\n        time.sleep(20)\n        return x\n");
  std::stop_source stop;
  auto first =
      std::async(std::launch::async, [&] { return evaluator.evaluate(kReference, slow, stop.get_token()); });
  auto second =
      std::async(std::launch::async, [&] { return evaluator.evaluate(kReference, slow, stop.get_token()); });
  std::this_thread::sleep_for(std::chrono::seconds(3));
  stop.request_stop();
  for (auto* one : {&first, &second}) {
    const auto record = one->get();
    REQUIRE_FALSE(record);
    CHECK(record.reason() == "cancelled");
  }
}

TEST_CASE("references are timed without a program") {
  StockEvaluator evaluator(testing::box_host(), testing::python_install(), on_host());
  const auto stats = evaluator.time_reference(kReference);
  REQUIRE(stats);
  for (const char* key : {"mean", "std", "min", "max", "num_trials", "hardware", "device"})
    CHECK(stats.value().contains(key));
  CHECK(stats.value()["num_trials"] == 10);
  const auto none = evaluator.time_reference("raise ValueError('a broken task')\n");
  REQUIRE_FALSE(none);
  CHECK(none.reason().find("a broken task") != std::string::npos);
}

TEST_CASE("a machine without a GPU refuses in one line") {
  if (!find_driver_library().empty()) SKIP("there is a driver here");
  try {
    StockEvaluator evaluator(testing::box_host(), testing::python_install(), {});
    FAIL("it runs");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUnavailable);
    const std::string message = error.what();
    CHECK(message.find("no NVIDIA driver") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace bicrl
