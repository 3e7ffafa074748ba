// One run of a trace: what kernels and the host part leave in memory, who wrote it, and what is a fault.
#include "sandbox/interpreter/executor/execution.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using ptx::FaultClass;
using ptx::Writer;

// twice(const float* x, float* y, int n): y[i] = 2 x[i] for i < n. count(): ++counter, a variable of the
// module. scaled(y): y[0] = factor, a constant variable. sweep(y): a word in each of 70,000 pages.
// follow(float** table): *table[0] = 1. board(y) has 40 KB of shared memory.
constexpr const char* kText = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter = 7;
.const .align 4 .f32 _ZL6factor;
.visible .entry _Z5twicePKfPfi(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<2>; .reg .f32 %f<3>; .reg .b32 %r<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.s32 %p1, %r2, %r1;
  @%p1 bra $done;
  mul.wide.s32 %rd5, %r2, 4;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f1, %f1;
  add.s64 %rd7, %rd2, %rd5;
  st.global.f32 [%rd7], %f2;
$done:
  ret;
}
.visible .entry _Z5countPi(.param .u64 y) {
  .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [y];
  ld.global.u32 %r1, [counter];
  add.s32 %r2, %r1, 1;
  st.global.u32 [counter], %r2;
  st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry _Z6scaledPf(.param .u64 y) {
  .reg .f32 %f<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  ld.const.f32 %f1, [_ZL6factor];
  st.global.f32 [%rd1], %f1;
  ret;
}
.visible .entry _Z5boardPf(.param .u64 y) {
  .reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .f32 %f<2>;
  .shared .align 4 .b8 board[40960];
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.f32 %f1, 0f3F800000;
  st.shared.f32 [board], %f1;
  st.global.f32 [%rd3], %f1;
  ret;
}
.visible .entry _Z5sweepPf(.param .u64 y) {
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, 0;
$next:
  st.global.u32 [%rd1], %r1;
  add.s64 %rd1, %rd1, 4096;
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 70000;
  @%p1 bra $next;
  ret;
}
.visible .entry _Z4bothPfS_(.param .u64 x, .param .u64 y) {
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, 0;
$next:
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd2], %r1;
  add.s64 %rd1, %rd1, 4096;
  add.s64 %rd2, %rd2, 4096;
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 40000;
  @%p1 bra $next;
  ret;
}
.visible .entry _Z6followPPf(.param .u64 table) {
  .reg .f32 %f<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [table];
  ld.global.u64 %rd2, [%rd1];
  mov.f32 %f1, 0f3F800000;
  st.global.f32 [%rd2], %f1;
  ret;
}
)";

json view(int buffer, int64_t count, const char* dtype = "float32", int64_t offset = 0) {
  return {{"t", "tensor"},    {"buffer", buffer}, {"offset", offset},
          {"shape", {count}}, {"strides", {1}},   {"dtype", dtype}};
}

json launch(const std::string& entry, const std::string& hex, const json& relocations, int threads = 4) {
  return {{"op", "launch"},
          {"module", 0},
          {"entry", entry},
          {"grid", {1, 1, 1}},
          {"block", {threads, 1, 1}},
          {"shared", 0},
          {"shared_limit", 49152},
          {"cooperative", false},
          {"args", hex},
          {"relocations", relocations}};
}
json twice(int n, int source, int target) {
  const std::string count = {"0123456789abcdef"[n / 16], "0123456789abcdef"[n % 16]};
  return launch("_Z5twicePKfPfi", std::string(32, '0') + count + "000000", {{0, source, 0}, {8, target, 0}});
}

// Input 0 and allocation 1 of 4 floats, constant 2 of 4 floats with the bytes of blob 0.
struct Setup {
  json frame{{"kind", "trace"},
             {"buffers",
              {{{"kind", "input"}, {"bytes", 16}, {"source", 0}},
               {{"kind", "allocation"}, {"bytes", 16}},
               {{"kind", "constant"}, {"bytes", 16}, {"blob", 0}}}},
             {"ops", json::array()},
             {"outputs", view(1, 4)},
             {"blobs", {16}}};
  std::vector<std::string> blobs{std::string(16, '\0')};
  std::vector<float> inputs{1, 2, 3, 4};
};

struct Ran {
  ExecutionReport report;
  std::vector<float> outputs;
  std::vector<uint8_t> writers;
  std::vector<LaunchCounters> counters;
  std::vector<SampledLaunch> sampled;
};

Ran run(const Setup& setup, const ExecutionOptions& options = {.seed = 1, .shadows = true}) {
  const auto layout =
      input_layout(json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"float32"}])")).value();
  const auto trace = Trace::parse(setup.frame, setup.blobs, layout);
  REQUIRE((trace.ok() ? "" : trace.reason()) == "");
  auto program = DeviceProgram::parse({kText});
  REQUIRE((program.ok() ? "" : program.reason()) == "");
  std::string inputs(layout.total_bytes, '\0');
  memcpy(inputs.data(), setup.inputs.data(), 16);
  const CallSummary calls = summarise_calls(trace.value());
  Execution execution(program.value(), trace.value(), calls, options);
  Ran ran{execution.run(inputs), std::vector<float>(4), std::vector<uint8_t>(4), {}, execution.sampled()};
  if (options.count) ran.counters = execution.counters();
  std::vector<std::byte> bytes(trace.value().output_layout().total_bytes);
  if (!ran.report.fault)
    ran.report.fault = execution.trace_run().store_outputs(bytes.data(), ran.writers.data());
  memcpy(ran.outputs.data(), bytes.data(), 16);
  return ran;
}

std::string hex_of(float value) {
  unsigned char bytes[4];
  memcpy(bytes, &value, 4);
  std::string hex;
  for (const unsigned char b : bytes) hex += {"0123456789abcdef"[b / 16], "0123456789abcdef"[b % 16]};
  return hex;
}

std::vector<uint8_t> all(Writer writer) { return std::vector<uint8_t>(4, static_cast<uint8_t>(writer)); }

}  // namespace

TEST_CASE("a kernel writes the output") {
  Setup setup;
  setup.frame["ops"] = {twice(4, 0, 1)};
  const Ran ran = run(setup);
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.outputs == std::vector<float>{2, 4, 6, 8});
  CHECK(ran.writers == all(Writer::kKernel));
  CHECK(ran.report.lane_operations > 0);
  CHECK(ran.report.changed_inputs.empty());
}

TEST_CASE("a sample runs some blocks of a launch in buffers that would not fit") {
  constexpr uint64_t kBytes = uint64_t{40} << 30;
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", kBytes}});
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", kBytes}});
  json first = twice(4, 3, 4), second = twice(2, 4, 1);
  first["relocations"] = {{0, 3, kBytes - 16}, {8, 4, kBytes - 16}};
  first["grid"] = {1'000'000, 7, 1};
  setup.frame["ops"] = {
      {{"op", "fill"}, {"target", view(3, int64_t{kBytes / 4})}, {"value", hex_of(5)}}, first, second};
  const ExecutionOptions options{.seed = 1,
                                 .count = true,
                                 .max_bytes = uint64_t{1} << 40,
                                 .sample = BlockSample{.seed = 3, .blocks = 8, .beyond = {100, 1}}};
  const Ran ran = run(setup, options);
  INFO((ran.report.fault ? ran.report.fault->message : ""));
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.outputs == std::vector<float>(4, 0));
  REQUIRE(ran.sampled.size() == 2);
  CHECK(ran.sampled[0].parameters == std::vector<std::pair<uint32_t, uint32_t>>{{0, 8}, {8, 8}, {16, 4}});
  REQUIRE(ran.sampled[0].blocks.size() == 10);
  for (const SampledBlock& block : ran.sampled[0].blocks) {
    CHECK(block.executed == 11);
    CHECK(block.load_sectors == 1);
    CHECK(block.store_sectors == 1);
  }
  CHECK(ran.sampled[0].blocks.back().number == 6'999'999);
  CHECK(ran.sampled[1].blocks.size() == 1);
  // What misses a buffer is a fault as ever.
  setup.frame["ops"][1]["relocations"][0][2] = kBytes - 8;
  const Ran outside = run(setup, options);
  REQUIRE(outside.report.fault);
  CHECK(outside.report.fault->fault_class == FaultClass::kIllegalAccess);
}

TEST_CASE("a sample finds pieces of a smaller input in pages of an input, and zeros elsewhere") {
  Setup setup;
  std::vector<float> smaller(10'000);
  for (size_t i = 0; i < smaller.size(); ++i) smaller[i] = static_cast<float>(i + 1);
  const std::string_view leaf(reinterpret_cast<const char*>(smaller.data()), smaller.size() * sizeof(float));
  const auto outputs = [&](int source, uint64_t seed) {
    setup.frame["ops"] = {twice(4, source, 1)};
    const Ran ran =
        run(setup, {.seed = 1,
                    .count = true,
                    .max_bytes = uint64_t{1} << 40,
                    .sample = BlockSample{.seed = seed, .blocks = 8, .beyond = {}, .inputs = {leaf}}});
    INFO((ran.report.fault ? ran.report.fault->message : ""));
    CHECK_FALSE(ran.report.fault);
    return ran.outputs;
  };
  const std::vector<float> found = outputs(0, 3);
  CHECK(found[0] > 0);
  for (size_t i = 1; i < found.size(); ++i) CHECK(found[i] == found[i - 1] + 2);
  CHECK(outputs(0, 3) == found);
  CHECK(outputs(0, 4) != found);
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  CHECK(outputs(3, 3) == std::vector<float>(4, 0));
}

TEST_CASE("a sample that touches much memory ends as a fault") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", uint64_t{1} << 30}});
  setup.frame["ops"] = {launch("_Z5sweepPf", std::string(16, '0'), {{0, 3, 0}}, 1)};
  const ExecutionOptions options{.seed = 1,
                                 .count = true,
                                 .max_bytes = uint64_t{1} << 40,
                                 .sample = BlockSample{.seed = 3, .blocks = 8, .beyond = {}}};
  const Ran ran = run(setup, options);
  REQUIRE(ran.report.fault);
  CHECK_THAT(ran.report.fault->message, ContainsSubstring("pages of memory"));
  // 40,000 of each of two buffers.
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", uint64_t{1} << 30}});
  setup.frame["ops"] = {launch("_Z4bothPfS_", std::string(32, '0'), {{0, 3, 0}, {8, 4, 0}}, 1)};
  const Ran both = run(setup, options);
  REQUIRE(both.report.fault);
  CHECK_THAT(both.report.fault->message, ContainsSubstring("pages of memory"));
}

TEST_CASE("what of an input a kernel or a copy reads is seen") {
  const auto unread = [](const std::vector<json>& ops) {
    Setup setup;
    setup.frame["ops"] = ops;
    InputReads reads;
    REQUIRE_FALSE(run(setup, {.seed = 1, .reads = &reads}).report.fault);
    std::vector<std::pair<uint64_t, uint64_t>> runs;
    for (const InputBytes& run : reads.unread()) runs.emplace_back(run.begin, run.end);
    return runs;
  };
  using Runs = std::vector<std::pair<uint64_t, uint64_t>>;
  const json fill = {{"op", "fill"}, {"target", view(1, 4)}, {"value", hex_of(5)}};
  CHECK(unread({twice(4, 0, 1)}).empty());
  CHECK(unread({fill, twice(3, 0, 1)}) == Runs{{12, 16}});
  CHECK(unread({fill}) == Runs{{0, 16}});
  CHECK(unread({fill, twice(4, 1, 0)}) == Runs{{0, 16}});  // written to
  const json copy = {{"op", "copy"}, {"target", view(1, 2)}, {"source", view(0, 2, "float32", 8)}};
  CHECK(unread({fill, copy}) == Runs{{0, 8}});
}

TEST_CASE("what the host part has the device do is counted beside the launches") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  setup.frame["ops"] = {{{"op", "fill"}, {"target", view(1, 4)}, {"value", hex_of(5)}},
                        {{"op", "copy"}, {"target", view(3, 4)}, {"source", view(0, 4)}},
                        {{"op", "upload"}, {"buffer", 3}, {"offset", 0}, {"blob", 0}},
                        twice(4, 3, 1)};
  // The constructor's share counts, too.
  for (const int construction : {0, 2}) {
    setup.frame["construction_ops"] = construction;
    const Ran ran = run(setup, {.seed = 3, .count = true});
    REQUIRE_FALSE(ran.report.fault);
    using Kind = LaunchCounters::Kind;
    REQUIRE(ran.counters.size() == 4);
    CHECK(ran.counters[0].kind == Kind::kFill);
    CHECK(ran.counters[0].written_sectors == 1);
    CHECK(ran.counters[1].kind == Kind::kCopy);
    CHECK(ran.counters[1].cold_sectors == 1);
    CHECK(ran.counters[2].kind == Kind::kUpload);
    CHECK(ran.counters[2].uploaded_bytes == 16);
    CHECK(ran.counters[3].kind == Kind::kKernel);
    CHECK(ran.counters[3].name == "_Z5twicePKfPfi");
    CHECK(ran.counters[3].load_requests == 1);
    CHECK(ran.counters[3].cold_sectors == 0);  // the copy has been there
  }
}

TEST_CASE("constants that each call makes anew come from the host each time") {
  Setup setup;
  setup.frame["buffers"] = {{{"kind", "input"}, {"bytes", 16}, {"source", 0}},
                            {{"kind", "allocation"}, {"bytes", 16}},
                            {{"kind", "constant"}, {"bytes", 16}, {"blob", 0}},
                            {{"kind", "allocation"}, {"bytes", 16}},
                            {{"kind", "constant"}, {"bytes", 16}, {"blob", 0}}};
  setup.frame["ops"] = {twice(4, 2, 1)};
  const auto uploaded = [&](int constant_of_second) {
    setup.frame["repeats"] = json::array();
    setup.frame["repeats"].push_back(
        {{"tensors", 0}, {"ops", {twice(4, constant_of_second, 3)}}, {"outputs", view(3, 4)}});
    const Ran ran = run(setup, {.seed = 3, .count = true});
    REQUIRE_FALSE(ran.report.fault);
    return ran.counters.size() == 2 ? ran.counters[0].uploaded_bytes : 0;
  };
  CHECK(uploaded(4) == 16);
  CHECK(uploaded(2) == 0);  // a parameter is there before
}

TEST_CASE("without launches the kernel's elements stay unwritten") {
  Setup setup;
  setup.frame["ops"] = {twice(4, 0, 1)};
  const Ran ran = run(setup, {.seed = 1, .shadows = false, .skip_launches = true});
  CHECK_FALSE(ran.report.fault);
  for (const float value : ran.outputs) CHECK(value != value);
}

TEST_CASE("each element knows who wrote it last") {
  Setup setup;
  // Filled, its second half copied from the input, its third element by a kernel.
  setup.frame["ops"] = {
      {{"op", "fill"}, {"target", view(1, 4)}, {"value", hex_of(5)}},
      {{"op", "copy"}, {"target", view(1, 2, "float32", 8)}, {"source", view(0, 2, "float32", 8)}},
      launch("_Z5twicePKfPfi", std::string(32, '0') + "01000000", {{0, 0, 0}, {8, 1, 8}})};
  const Ran ran = run(setup);
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.outputs == std::vector<float>{5, 5, 2, 4});
  CHECK(ran.writers == std::vector<uint8_t>{uint8_t(Writer::kHost), uint8_t(Writer::kHost),
                                            uint8_t(Writer::kKernel), uint8_t(Writer::kInput)});
}

TEST_CASE("a copy or cast of what a kernel wrote is still the kernel's") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 8}});
  setup.frame["ops"] = {twice(4, 0, 1),
                        {{"op", "copy"}, {"target", view(3, 4, "float16")}, {"source", view(1, 4)}},
                        {{"op", "copy"}, {"target", view(1, 4)}, {"source", view(3, 4, "float16")}}};
  const Ran ran = run(setup);
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.outputs == std::vector<float>{2, 4, 6, 8});
  CHECK(ran.writers == all(Writer::kKernel));
}

TEST_CASE("an output that was never written is a fault of its own") {
  Setup setup;
  setup.frame["ops"] = {twice(3, 0, 1)};
  const Ran ran = run(setup);
  REQUIRE(ran.report.fault);
  CHECK(ran.report.fault->fault_class == FaultClass::kUninitialised);
  CHECK_THAT(ran.report.fault->message, ContainsSubstring("output 0"));
}

TEST_CASE("a changed input is reported") {
  Setup setup;
  setup.frame["ops"] = {twice(4, 0, 1), twice(4, 1, 0)};
  const Ran ran = run(setup);
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.report.changed_inputs == std::vector<uint32_t>{0});
}

TEST_CASE("an access behind a buffer is a fault with the kernel's name") {
  Setup setup;
  setup.frame["ops"] = {
      launch("_Z5twicePKfPfi", std::string(32, '0') + "05000000", {{0, 0, 0}, {8, 1, 0}}, 5)};
  const Ran ran = run(setup);
  REQUIRE(ran.report.fault);
  CHECK(ran.report.fault->fault_class == FaultClass::kIllegalAccess);
  CHECK(ran.report.fault->kernel == "_Z5twicePKfPfi");
}

TEST_CASE("variables of the module begin anew with every run, and the host part can write them") {
  Setup setup;
  setup.frame["outputs"] = view(1, 1, "int32");
  setup.frame["ops"] = {launch("_Z5countPi", std::string(16, '0'), {{0, 1, 0}}, 1)};
  for (int round = 0; round < 2; ++round) {
    int count = 0;
    const Ran ran = run(setup);
    memcpy(&count, ran.outputs.data(), 4);
    CHECK(count == 8);
  }
  setup.frame["buffers"].push_back({{"kind", "symbol"}, {"bytes", 4}, {"module", 0}, {"name", "factor"}});
  // The host's compiler marks a static variable otherwise than NVRTC.
  setup.frame["buffers"].back()["name"] = "_ZL6factor";
  setup.blobs.push_back(std::string(4, '\0'));
  const float factor = 2.5F;
  memcpy(setup.blobs[1].data(), &factor, 4);
  setup.frame["blobs"] = {16, 4};
  setup.frame["outputs"] = view(1, 1);
  setup.frame["ops"] = {{{"op", "upload"}, {"buffer", 3}, {"offset", 0}, {"blob", 1}},
                        launch("_Z6scaledPf", std::string(16, '0'), {{0, 1, 0}}, 1)};
  CHECK(run(setup).outputs[0] == 2.5F);
}

TEST_CASE("a variable that device code does not use can be written all the same") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "symbol"}, {"bytes", 16}, {"module", 0}, {"name", "unused"}});
  setup.frame["ops"] = {{{"op", "upload"}, {"buffer", 3}, {"offset", 0}, {"blob", 0}}, twice(4, 0, 1)};
  CHECK_FALSE(run(setup).report.fault);
  setup.frame["buffers"].back() = {{"kind", "symbol"}, {"bytes", 64}, {"module", 0}, {"name", "counter"}};
  REQUIRE(run(setup).report.fault);
}

TEST_CASE("a table of device pointers is uploaded with this run's addresses") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  setup.frame["ops"] = {
      {{"op", "fill"}, {"target", view(1, 4)}, {"value", hex_of(0)}},
      {{"op", "upload"}, {"buffer", 3}, {"offset", 0}, {"blob", 0}, {"relocations", {{0, 1, 4}}}},
      launch("_Z6followPPf", std::string(16, '0'), {{0, 3, 0}}, 1)};
  const Ran ran = run(setup);
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.outputs == std::vector<float>{0, 1, 0, 0});
}

TEST_CASE("what was freed is outside of every buffer") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  setup.frame["ops"] = {twice(4, 0, 3), {{"op", "free"}, {"buffer", 3}}, twice(4, 0, 1)};
  CHECK_FALSE(run(setup).report.fault);
  setup.frame["ops"].push_back(twice(4, 3, 1));
  const Ran ran = run(setup);
  REQUIRE(ran.report.fault);
  CHECK(ran.report.fault->fault_class == FaultClass::kIllegalAccess);
}

TEST_CASE("in another order what nothing orders is turned round, and what nobody waits for comes last") {
  Setup setup;
  json fill = {{"op", "fill"}, {"target", view(1, 4)}, {"value", hex_of(5)}, {"stream", 1}};
  fill["after"] = json::array();
  json kernel = twice(4, 0, 1);
  kernel["after"] = json::array();
  setup.frame["ops"] = {fill, kernel};
  setup.frame["end_after"] = {1, 2};
  CHECK(run(setup).outputs == std::vector<float>{2, 4, 6, 8});
  CHECK(run(setup, {.seed = 1, .shadows = true, .order = 1}).outputs == std::vector<float>{5, 5, 5, 5});
  // There is no such order, so it is that of issue.
  CHECK(run(setup, {.seed = 1, .shadows = true, .order = 2}).outputs == std::vector<float>{2, 4, 6, 8});
  setup.frame["end_after"] = {2};
  CHECK(run(setup, {.seed = 1, .shadows = true, .order = 1}).outputs == std::vector<float>{5, 5, 5, 5});
}

TEST_CASE("memory that is freed in order is there in another order") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  json copy = {{"op", "copy"}, {"target", view(3, 4)}, {"source", view(0, 4)}, {"stream", 1}};
  copy["after"] = json::array();
  json kernel = twice(4, 0, 1);
  kernel["after"] = json::array();
  setup.frame["ops"] = {copy, kernel, {{"op", "free"}, {"buffer", 3}}};
  setup.frame["end_after"] = {1, 3};
  const Ran ran = run(setup, {.seed = 1, .order = 1});
  CHECK_FALSE(ran.report.fault);
  CHECK(ran.outputs == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("static and dynamic shared memory count together, unless the host part has raised the limit") {
  Setup setup;
  setup.frame["ops"] = {launch("_Z5boardPf", std::string(16, '0'), {{0, 1, 0}}, 4)};
  json& op = setup.frame["ops"][0];
  const auto launches = [&](int shared, int limit) {
    op["shared"] = shared;
    op["shared_limit"] = limit;
    const Ran ran = run(setup);
    if (ran.report.fault) CHECK(ran.report.fault->fault_class == FaultClass::kLaunch);
    return !ran.report.fault;
  };
  CHECK(launches(8 * 1024, 48 * 1024));
  CHECK_FALSE(launches(9 * 1024, 48 * 1024));
  CHECK(launches(9 * 1024, 64 * 1024));
  CHECK_FALSE(launches(65 * 1024, 64 * 1024));
  CHECK(launches(187 * 1024, 227 * 1024));
  CHECK_FALSE(launches(188 * 1024, 227 * 1024));
}

TEST_CASE("a launch of what is no entry is refused by name") {
  Setup setup;
  setup.frame["ops"] = {launch("_Z6ghostsPf", std::string(16, '0'), json::array())};
  const Ran ran = run(setup);
  REQUIRE(ran.report.fault);
  CHECK(ran.report.fault->fault_class == FaultClass::kUnsupported);
  CHECK(ran.report.fault->kernel == "_Z6ghostsPf");
}

TEST_CASE("the limit of work counts all launches together") {
  Setup setup;
  setup.frame["ops"] = {twice(4, 0, 1)};
  const uint64_t once = run(setup).report.lane_operations;
  for (int i = 0; i < 9; ++i) setup.frame["ops"].push_back(twice(4, 0, 1));
  CHECK_FALSE(run(setup, {.seed = 1, .shadows = true, .lane_operations = 10 * once}).report.fault);
  const Ran ran = run(setup, {.seed = 1, .shadows = true, .lane_operations = 9 * once});
  REQUIRE(ran.report.fault);
  CHECK(ran.report.fault->fault_class == FaultClass::kTimeout);
}

TEST_CASE("what the host part fills, copies and uploads counts as work") {
  constexpr uint64_t kLimit = uint64_t{1} << 20;
  const auto ends_as_timeout = [](const json& op, int times, bool skip_launches = false) {
    Setup setup;
    setup.frame["ops"] = json::array();
    for (int i = 0; i < times; ++i) setup.frame["ops"].push_back(op);
    const Ran ran = run(setup, {.seed = 1, .skip_launches = skip_launches, .lane_operations = kLimit});
    if (ran.report.fault) CHECK(ran.report.fault->fault_class == FaultClass::kTimeout);
    CHECK(ran.report.lane_operations <= kLimit);
    return ran.report.fault.has_value();
  };
  const json fill{{"op", "fill"}, {"target", view(1, 4)}, {"value", hex_of(5)}};
  const json copy{{"op", "copy"}, {"target", view(1, 4)}, {"source", view(0, 4)}};
  const json upload{{"op", "upload"}, {"buffer", 1}, {"offset", 0}, {"blob", 0}};
  for (const json& op : {fill, copy, upload}) {
    CHECK_FALSE(ends_as_timeout(op, 100));
    CHECK(ends_as_timeout(op, 70'000));
  }
  // A tensor of strides 0 has few bytes and any number of elements.
  json wide = fill;
  wide["target"]["shape"] = {int64_t{1} << 40};
  wide["target"]["strides"] = {0};
  CHECK(ends_as_timeout(wide, 1));
  CHECK(ends_as_timeout(wide, 1, true));
}

TEST_CASE("buffers beyond the limit are a fault") {
  Setup setup;
  setup.frame["ops"] = {twice(4, 0, 1)};
  const Ran ran = run(setup, {.seed = 1, .max_bytes = 40});
  REQUIRE(ran.report.fault);
  CHECK(ran.report.fault->fault_class == FaultClass::kMemory);
}

namespace {

// Which repeat of `frame` is the first that has to be executed, and what comes out of all calls, each on
// inputs of its own.
struct Calls {
  size_t first_repeat = 0;
  std::vector<std::vector<float>> outputs;
};

Calls run_calls(const json& frame, const std::vector<std::vector<float>>& test_inputs) {
  const auto layout =
      input_layout(json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"float32"}])")).value();
  const auto trace = Trace::parse(frame, {std::string(16, '\0')}, layout);
  REQUIRE((trace.ok() ? "" : trace.reason()) == "");
  auto program = DeviceProgram::parse({kText});
  REQUIRE(program.ok());
  std::vector<std::string> inputs;
  for (const auto& test_input : test_inputs) {
    inputs.emplace_back(layout.total_bytes, '\0');
    memcpy(inputs.back().data(), test_input.data(), 16);
  }
  const CallSummary summary = summarise_calls(trace.value());
  Execution execution(program.value(), trace.value(), summary, {.seed = 3, .shadows = true});
  Calls calls;
  const auto store = [&](const ExecutionReport& report) {
    REQUIRE_FALSE(report.fault);
    CHECK(report.lane_operations > 0);
    std::vector<std::byte> bytes(trace.value().output_layout().total_bytes);
    std::vector<uint8_t> writers(4);
    REQUIRE_FALSE(execution.trace_run().store_outputs(bytes.data(), writers.data()));
    memcpy(calls.outputs.emplace_back(4).data(), bytes.data(), 16);
  };
  store(execution.run(inputs[0]));
  calls.first_repeat = execution.trace_run().first_repeat();
  for (size_t i = 0; i < trace.value().repeats.size(); ++i) store(execution.repeat(i, inputs[i + 1]));
  return calls;
}

json counted(int target) { return launch("_Z5countPi", std::string(16, '0'), {{0, target, 0}}, 1); }

}  // namespace

TEST_CASE(
    "repeats run in the memory that is left, on inputs of their own, and count if something has changed") {
  Setup setup;
  for (int i = 0; i < 2; ++i) setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  setup.frame["buffers"].push_back({{"kind", "input"}, {"bytes", 16}, {"source", 0}, {"tensors", 1}});
  const auto repeats = [](const std::vector<json>& second, const std::vector<json>& third) {
    return std::vector<json>{{{"tensors", 0}, {"ops", second}, {"outputs", view(3, 4)}},
                             {{"tensors", 1}, {"ops", third}, {"outputs", view(4, 4)}}};
  };
  const std::vector<std::vector<float>> test_inputs{{1, 2, 3, 4}, {5, 6, 7, 8}, {-1, -2, -3, -4}};
  setup.frame["ops"] = {twice(4, 0, 1)};
  setup.frame["repeats"] = repeats({twice(4, 0, 3)}, {twice(4, 5, 4)});
  const Calls pure = run_calls(setup.frame, test_inputs);
  CHECK(pure.first_repeat == 2);
  CHECK(pure.outputs == std::vector<std::vector<float>>{{2, 4, 6, 8}, {10, 12, 14, 16}, {-2, -4, -6, -8}});
  // The same operations, and a variable of the module that counts.
  setup.frame["ops"] = {twice(4, 0, 1), counted(1)};
  setup.frame["repeats"] = repeats({twice(4, 0, 3), counted(3)}, {twice(4, 5, 4), counted(4)});
  const Calls counting = run_calls(setup.frame, test_inputs);
  CHECK(counting.first_repeat == 0);
  for (int call = 0; call < 3; ++call) {
    int count = 0;
    memcpy(&count, counting.outputs[static_cast<size_t>(call)].data(), 4);
    CHECK(count == 8 + call);
  }
  // A parameter that the first call writes to.
  setup.frame["ops"] = {twice(4, 0, 1), twice(4, 0, 2)};
  setup.frame["repeats"] = repeats({twice(4, 0, 3), twice(4, 0, 2)}, {twice(4, 5, 4), twice(4, 5, 2)});
  CHECK(run_calls(setup.frame, test_inputs).first_repeat == 0);
  // Another operation.
  setup.frame["ops"] = {twice(4, 0, 1)};
  setup.frame["repeats"] = repeats({twice(4, 1, 3)}, {twice(4, 3, 4)});
  const Calls kept = run_calls(setup.frame, test_inputs);
  CHECK(kept.first_repeat == 0);
  CHECK(kept.outputs == std::vector<std::vector<float>>{{2, 4, 6, 8}, {4, 8, 12, 16}, {8, 16, 24, 32}});
  // The same as the first call at first, then another kernel: what lies before it need not be executed.
  setup.frame["repeats"] = repeats({twice(4, 0, 3)}, {twice(4, 5, 4), twice(4, 4, 4)});
  const Calls late = run_calls(setup.frame, test_inputs);
  CHECK(late.first_repeat == 1);
  CHECK(late.outputs == std::vector<std::vector<float>>{{2, 4, 6, 8}, {10, 12, 14, 16}, {-4, -8, -12, -16}});
}

TEST_CASE("a late repeat runs without those before it, if these have left nothing") {
  Setup setup;
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  setup.frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 16}});
  setup.frame["buffers"].push_back({{"kind", "input"}, {"bytes", 16}, {"source", 0}, {"tensors", 1}});
  setup.frame["ops"] = {twice(4, 0, 1)};
  setup.frame["repeats"] =
      std::vector<json>{{{"tensors", 1}, {"ops", {twice(4, 5, 3)}}, {"outputs", view(3, 4)}},
                        {{"tensors", 1}, {"ops", {twice(4, 5, 4), twice(4, 4, 4)}}, {"outputs", view(4, 4)}}};
  const auto layout =
      input_layout(json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"float32"}])")).value();
  const auto trace = Trace::parse(setup.frame, {std::string(16, '\0')}, layout);
  REQUIRE((trace.ok() ? "" : trace.reason()) == "");
  auto program = DeviceProgram::parse({kText});
  REQUIRE(program.ok());
  const CallSummary summary = summarise_calls(trace.value());
  const std::vector<float> values{1, 2, 3, 4};
  std::string inputs(layout.total_bytes, '\0');
  memcpy(inputs.data(), values.data(), 16);
  Execution execution(program.value(), trace.value(), summary, {.seed = 3, .shadows = true});
  REQUIRE_FALSE(execution.run(inputs).fault);
  REQUIRE(execution.trace_run().first_repeat() == 1);
  CHECK(execution.trace_run().has_room(1));
  REQUIRE_FALSE(execution.repeat(1, inputs).fault);
  std::vector<float> outputs(4);
  std::vector<std::byte> bytes(trace.value().output_layout().total_bytes);
  std::vector<uint8_t> writers(4);
  REQUIRE_FALSE(execution.trace_run().store_outputs(bytes.data(), writers.data()));
  memcpy(outputs.data(), bytes.data(), 16);
  CHECK(outputs == std::vector<float>{4, 8, 12, 16});
}

}  // namespace bicrl
