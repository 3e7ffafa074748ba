// The order in which a run of a trace has a device do things, and what it makes of what that leaves.
#include "sandbox/trace_run/trace_run.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/trace_run/logged_device.h"

using namespace bicrl;
using namespace bicrl::testing;
using nlohmann::json;

namespace {

using Log = std::vector<std::string>;

constexpr const char* kText = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter = 7;
)";

// A run of a trace on a device that keeps a log.
struct LoggedRun {
  explicit LoggedRun(const json& frame, TraceRunOptions options = {})
      : trace(trace_of(frame)),
        program(DeviceProgram::parse({kText}).value()),
        calls(summarise_calls(trace)),
        device(trace),
        run(device, program, trace, calls, with_room(options)) {}
  static TraceRunOptions with_room(TraceRunOptions options) {
    options.max_bytes = 1024;
    return options;
  }
  // That the next call gets.
  CallInputs inputs(const char* four) {
    drawn = std::string(four) + std::string(60, '\0');
    return CallInputs(drawn);
  }
  std::string outputs() {
    std::string bytes(trace.output_layout().total_bytes, '\0');
    REQUIRE_FALSE(run.store_outputs(reinterpret_cast<std::byte*>(bytes.data()), nullptr));
    return bytes.substr(0, 4);
  }
  const Trace trace;
  const DeviceProgram program;
  const CallSummary calls;
  LoggedDevice device;
  TraceRun run;
  std::string drawn;
};

// Input 0, allocation 1, constant 2, a variable 3: the constructor launches on the constant, the call copies
// its input, launches on the copy, frees the constant and returns the copy.
json program_frame() {
  return {{"kind", "trace"},
          {"buffers",
           {input(),
            allocation(),
            {{"kind", "constant"}, {"bytes", 4}, {"blob", 0}},
            {{"kind", "symbol"}, {"bytes", 4}, {"module", 0}, {"name", "counter"}}}},
          {"ops",
           {launch_on("make", 2),
            copy_of(0, 1),
            launch_on("work", 1),
            {{"op", "upload"}, {"buffer", 3}, {"offset", 0}, {"blob", 0}},
            {{"op", "free"}, {"buffer", 2}}}},
          {"construction_ops", 1},
          {"outputs", bytes_view(1)},
          {"blobs", {4}}};
}

// A first call and a repeat on buffers and inputs of their own, both of which add one to the input.
json repeated_frame(const std::vector<json>& second) {
  return {{"kind", "trace"},
          {"buffers", {input(), allocation(), allocation(), input(1)}},
          {"ops", {copy_of(0, 1), launch_on("work", 1)}},
          {"outputs", bytes_view(1)},
          {"blobs", {4}},
          {"repeats", std::vector<json>{{{"tensors", 1}, {"ops", second}, {"outputs", bytes_view(2)}}}}};
}

}  // namespace

TEST_CASE("a run loads modules, places buffers and writes constants, and then does the trace's operations") {
  LoggedRun first(program_frame());
  REQUIRE_FALSE(first.run.run(first.inputs("1234")));
  const Log begin{"modules", "variable counter as 3", "buffers of call 0", "write 2"};
  const Log call{"copy 0 to 1", "launch work", "write 3", "free 2"};
  Log expected = begin;
  expected.insert(expected.end(), {"input 0", "launch make"});
  expected.insert(expected.end(), call.begin(), call.end());
  CHECK(first.device.log == expected);
  CHECK(first.outputs() == "2345");
  CHECK(first.run.changed_inputs().empty());
  first.device.bytes(0) = "x234";
  CHECK(first.run.changed_inputs() == std::vector<uint32_t>{0});

  LoggedRun constructed_first(program_frame(), {.construct_first = true});
  REQUIRE_FALSE(constructed_first.run.run(constructed_first.inputs("1234")));
  expected = begin;
  expected.insert(expected.end(), {"launch make", "input 0"});
  expected.insert(expected.end(), call.begin(), call.end());
  CHECK(constructed_first.device.log == expected);

  LoggedRun idle(program_frame(), {.skip_launches = true});
  REQUIRE_FALSE(idle.run.run(idle.inputs("1234")));
  CHECK(idle.outputs() == "1234");
}

TEST_CASE("a variable that the host part takes for a larger one is a fault") {
  json frame = program_frame();
  frame["buffers"][3]["bytes"] = 8;
  LoggedRun larger(frame);
  const auto fault = larger.run.run(larger.inputs("1234"));
  REQUIRE(fault);
  CHECK(fault->message == "a variable has another size in the host part");
}

TEST_CASE("a run names the buffer beside which something wrote as the program's author would") {
  LoggedRun beside(program_frame());
  beside.device.breach = Breach{1, 3, true};
  auto fault = beside.run.run(beside.inputs("1234"));
  REQUIRE(fault);
  CHECK(fault->message == "a write 3 bytes behind the end of output 0");
  beside.device.breach = Breach{2, 0, false};
  fault = beside.run.find_breach();
  REQUIRE(fault);
  CHECK(fault->message == "a write to a constant of the host part, which was freed");
  CHECK(beside.run.buffer_name(0) == "input 0");
  CHECK(beside.run.buffer_name(3) == "variable counter");
}

TEST_CASE("a repeat counts if it does something else or if what it meets has changed") {
  const std::vector<json> same{copy_of(3, 2), launch_on("work", 2)};
  LoggedRun alike(repeated_frame(same));
  REQUIRE_FALSE(alike.run.run(alike.inputs("1234")));
  CHECK(alike.run.first_repeat() == 1);
  alike.device.variables = "changed";
  CHECK(alike.run.first_repeat() == 0);
  REQUIRE_FALSE(alike.run.repeat(0, alike.inputs("5678")));
  CHECK(alike.outputs() == "6789");
  const std::vector<std::byte> first{std::byte{'2'}, std::byte{'3'}, std::byte{'4'}, std::byte{'5'}};
  CHECK(alike.run.overwritten_outputs(first).empty());

  LoggedRun overwriting(repeated_frame({copy_of(3, 2), launch_on("work", 2), launch_on("work", 1)}));
  REQUIRE_FALSE(overwriting.run.run(overwriting.inputs("1234")));
  CHECK(overwriting.run.first_repeat() == 0);
  REQUIRE_FALSE(overwriting.run.repeat(0, overwriting.inputs("5678")));
  CHECK(overwriting.run.overwritten_outputs(first) == std::set<uint32_t>{0});
}

TEST_CASE("a call can be made again from memory that is as it was first") {
  LoggedRun again(program_frame(), {.construct_first = true});
  REQUIRE_FALSE(again.run.run(again.inputs("1234")));
  again.device.take_log();
  REQUIRE_FALSE(again.run.construct_again(again.inputs("abcd")));
  CHECK(again.device.take_log() == Log{"write 2", "launch make", "input 0"});
  REQUIRE_FALSE(again.run.call_again());
  CHECK(again.outputs() == "bcde");
}

// Two branches that nothing orders: the second's launch need not be done when the output is read.
TEST_CASE("another order leaves for the end what may come there, and memory is not freed in it") {
  json frame = program_frame();
  frame["buffers"].push_back(allocation());
  json beside = launch_on("beside", 4), freed{{"op", "free"}, {"buffer", 4}};
  beside["after"] = json::array();
  beside["stream"] = 1;
  freed["after"] = {1};
  freed["stream"] = 1;
  frame["ops"] = {launch_on("work", 1), beside, freed};
  frame["construction_ops"] = 0;
  frame["end_after"] = {3};  // the first operation
  LoggedRun other(frame, {.order = 1});
  REQUIRE_FALSE(other.run.run(other.inputs("1234")));
  const Log log = other.device.take_log();
  CHECK(log.back() == "launch work");
  REQUIRE_FALSE(other.run.finish());
  CHECK(other.device.take_log() == Log{"launch beside"});
}
