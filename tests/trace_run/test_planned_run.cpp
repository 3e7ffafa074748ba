// The calls of a run of a plan: which are made, what is written of them, and the report.
#include "sandbox/trace_run/planned_run.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/trace_run/logged_device.h"

using namespace bicrl;
using namespace bicrl::testing;
using nlohmann::json;

namespace {

// So many calls that each add one to a copy of their input, and count how often that was in `counter`.
json frame_of(size_t repeats) {
  json frame{{"kind", "trace"},       {"buffers", {input(), allocation(), allocation(), input(1)}},
             {"construction_ops", 1}, {"outputs", bytes_view(1)},
             {"blobs", {4}},          {"repeats", json::array()}};
  const auto call = [](int from) {
    return std::vector<json>{copy_of(from, 1), launch_on("work", 1), launch_on("count", 2)};
  };
  frame["ops"] = call(0);
  frame["ops"].insert(frame["ops"].begin(), launch_on("make", 2));
  for (size_t i = 0; i < repeats; ++i)
    frame["repeats"].push_back(
        {{"tensors", i % 2}, {"ops", call(i % 2 == 0 ? 0 : 3)}, {"outputs", bytes_view(1)}});
  return frame;
}

struct Planned {
  json report;
  std::vector<std::string> answers;
};

Planned execute(const json& frame, bool is_cheap, std::optional<Breach> breach = std::nullopt) {
  const Trace trace = trace_of(frame);
  const auto program = DeviceProgram::parse({".version 8.0\n.target sm_90\n.address_size 64\n"});
  const CallSummary calls = summarise_calls(trace);
  LoggedDevice device(trace);
  device.breach = breach;
  TraceRun run(device, program.value(), trace, calls, {.max_bytes = 1024});
  const json asked{{"test_input", 0}, {"repeat_inputs", std::vector<int>(trace.repeats.size(), 1)}};
  const std::string test_inputs[] = {"1234" + std::string(60, '\0'), "5678" + std::string(60, '\0')};
  Planned planned;
  PlannedRun planned_run(run, trace, asked,
                         {.inputs = [&](size_t test_input) { return CallInputs(test_inputs[test_input]); },
                          .write =
                              [&](const void* bytes, size_t size) {
                                if (size > 0)
                                  planned.answers.emplace_back(static_cast<const char*>(bytes), 4);
                              },
                          .is_cheap = [&] { return is_cheap; }});
  planned_run.first_call();
  planned_run.repeats();
  planned.report = planned_run.report();
  return planned;
}

}  // namespace

TEST_CASE("a planned run makes the certain repeats, and further ones as long as they are cheap") {
  const Planned costly = execute(frame_of(4), false), cheap = execute(frame_of(4), true);
  CHECK(costly.answers == std::vector<std::string>{"2345", "6789", "6789"});
  CHECK(cheap.answers == std::vector<std::string>{"2345", "6789", "6789", "6789", "6789"});
  CHECK(cheap.report["calls"] == 5);
  CHECK(cheap.report["first_repeat"] == 0);
  // All calls return one buffer.
  CHECK(cheap.report["overwritten_outputs"] == json{0});
  CHECK(cheap.report["changed_inputs"].empty());
  CHECK_FALSE(cheap.report.contains("fault"));
  CHECK(execute(frame_of(0), true).report["calls"] == 1);
}

TEST_CASE("a planned run ends with the call that has a fault, whose outputs are zeros") {
  const Planned failed = execute(frame_of(4), true, Breach{1, 0, false});
  CHECK(failed.answers == std::vector<std::string>{std::string(4, '\0')});
  CHECK(failed.report["calls"] == 1);
  CHECK(failed.report["fault"] == json{{"class", "illegal_access"},
                                       {"message", "a write to output 0, which was freed"},
                                       {"kernel", ""},
                                       {"line", 0},
                                       {"of_all_calls", false}});
  CHECK_FALSE(failed.report.contains("first_repeat"));
}
