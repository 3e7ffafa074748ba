#include "sandbox/trace.h"

#include <catch2/catch_test_macros.hpp>
#include <random>

namespace bicrl {
namespace {

using nlohmann::json;

InputLayout one_input() {
  return input_layout(json::parse(R"([{"t":"tensor","shape":[4,8],"strides":[8,1],"dtype":"float32"}])"))
      .value();
}

json view(int buffer, const char* shape = "[4,8]", const char* strides = "[8,1]") {
  return {{"t", "tensor"},
          {"buffer", buffer},
          {"offset", 0},
          {"shape", json::parse(shape)},
          {"strides", json::parse(strides)},
          {"dtype", "float32"}};
}

// Input 0, constant 1, allocation 2; one launch that reads 0 and writes 2; returns (2, 2).
json good_trace() {
  return {{"kind", "trace"},
          {"buffers",
           {{{"kind", "input"}, {"bytes", 128}, {"source", 0}},
            {{"kind", "constant"}, {"bytes", 16}, {"blob", 0}},
            {{"kind", "allocation"}, {"bytes", 128}}}},
          {"ops",
           {{{"op", "launch"},
             {"kernel", "k"},
             {"entry", 4096},
             {"invoker", 4200},
             {"grid", {1, 1, 1}},
             {"block", {32, 1, 1}},
             {"shared", 0},
             {"args", std::string(48, '0')},
             {"relocations", {{0, 0, 0, 0}, {8, 2, 0, 1}, {16, -1, 64, 0}}}}}},
          {"outputs", {{"t", "tuple"}, {"items", {view(2), view(2, "[8]", "[1]")}}}},
          {"blobs", {16}}};
}
const std::vector<std::string> kBlobs = {std::string(16, 'x')};

Result<Trace> parse(const json& frame) { return Trace::parse(frame, kBlobs, one_input()); }

}  // namespace

TEST_CASE("a trace is read, written and read again") {
  const auto trace = parse(good_trace());
  REQUIRE(trace.ok());
  CHECK(trace.value().launches() == 1);
  CHECK(trace.value().buffer_bytes() == 272);
  CHECK(trace.value().output_layout().leaves.size() == 2);
  CHECK(trace.value().output_layout().leaves[1].offset_bytes == 128);
  CHECK(trace.value().output_layout().draw_bytes == 192);
  CHECK(trace.value().check_producers().fault_class == "");
  const auto again = Trace::decode(trace.value().encode());
  REQUIRE(again.ok());
  CHECK(again.value().encode() == trace.value().encode());
  CHECK(again.value().returned.structure == trace.value().returned.structure);
}

TEST_CASE("forged traces are refused") {
  const auto refused = [](auto change) {
    json frame = good_trace();
    change(frame);
    return !parse(frame).ok();
  };
  CHECK(refused([](json& f) { f["kind"] = "result"; }));
  CHECK(refused([](json& f) { f["buffers"][0]["bytes"] = 129; }));
  CHECK(refused([](json& f) { f["buffers"][0]["source"] = 1; }));
  CHECK(refused([](json& f) { f["buffers"][1]["blob"] = 1; }));
  CHECK(refused([](json& f) { f["buffers"][2]["bytes"] = -1; }));
  CHECK(refused([](json& f) { f["buffers"][2]["bytes"] = 1e30; }));
  CHECK(refused([](json& f) { f["ops"][0]["block"] = {2048, 1, 1}; }));
  CHECK(refused([](json& f) { f["ops"][0]["grid"] = {1, 70000, 1}; }));
  CHECK(refused([](json& f) { f["ops"][0]["grid"] = {0, 1, 1}; }));
  CHECK(refused([](json& f) { f["ops"][0]["shared"] = 300000; }));
  CHECK(refused([](json& f) { f["ops"][0]["args"] = "0"; }));
  CHECK(refused([](json& f) { f["ops"][0]["args"] = "zz"; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][0] = 17; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][1] = 3; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][1] = -2; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][2] = 129; }));
  CHECK(refused([](json& f) { f["ops"][0]["op"] = "system"; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["offset"] = 4; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["shape"] = {4, 9}; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["strides"] = {-8, 1}; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["shape"] = {1ull << 40, 1ull << 40}; }));
  // A few bytes that claim to be a large output.
  CHECK(refused([](json& f) {
    f["outputs"]["items"][0]["shape"] = {1 << 30, 4};
    f["outputs"]["items"][0]["strides"] = {0, 0};
  }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["dtype"] = "complex64"; }));
  CHECK(refused([](json& f) {
    json deep = view(2);
    for (int i = 0; i < 40; ++i) deep = {{"t", "list"}, {"items", {deep}}};
    f["outputs"] = deep;
  }));
}

TEST_CASE(
    "an empty tensor's strides are bounded like any other's, so that what is accepted is also written") {
  for (const char* shape : {"[0,1073741824,1048576]", "[0,1048576,1048576]", "[0,4]"}) {
    json frame = good_trace();
    json& output = frame["outputs"]["items"][0];
    output["shape"] = json::parse(shape);
    output.erase("strides");
    const auto trace = parse(frame);
    INFO(shape);
    if (trace.ok()) CHECK(Trace::decode(trace.value().encode()).ok());
    CHECK(trace.ok() == (std::string(shape) != "[0,1073741824,1048576]"));
  }
}

TEST_CASE("mutated traces never crash the parser") {
  std::mt19937 rng(11);
  const std::string text = good_trace().dump();
  const std::string encoded = parse(good_trace()).value().encode();
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = text, file = encoded;
    for (int i = 0; i < 1 + round % 4; ++i) {
      changed[rng() % changed.size()] = "0123456789-{}[],:\"etax"[rng() % 22];
      file[rng() % file.size()] = static_cast<char>(rng());
    }
    const json frame = json::parse(changed, nullptr, false);
    if (!frame.is_discarded()) accepted += parse(frame).ok();
    if (round % 3 == 0) file.resize(rng() % (file.size() + 1));
    accepted += Trace::decode(file).ok();
  }
  CHECK(accepted > 0);
}

TEST_CASE("where outputs come from") {
  const auto check = [](const json& ops, int output) {
    json frame = good_trace();
    for (const auto& op : ops) frame["ops"].push_back(op);
    frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 128}});  // 3
    frame["buffers"].push_back({{"kind", "allocation"}, {"bytes", 128}});  // 4
    frame["outputs"] = view(output);
    const auto trace = parse(frame);
    REQUIRE(trace.ok());
    return trace.value();
  };
  const auto copy = [](int target, int source) {
    return json{{"op", "copy"}, {"target", view(target)}, {"source", view(source)}};
  };
  const json fill = {{"op", "fill"}, {"target", view(3)}, {"value", "0000803f"}};
  CHECK(check(json::array(), 2).returned.producers[0] == Producer::kKernel);
  CHECK(check(json::array(), 0).returned.producers[0] == Producer::kInput);
  CHECK(check(json::array(), 0).check_producers().fault_class == "dead_kernel");
  CHECK(check(json::array({copy(3, 2)}), 3).returned.producers[0] == Producer::kKernel);
  CHECK(check(json::array({copy(3, 0), copy(4, 3)}), 4).returned.producers[0] == Producer::kInput);
  CHECK(check(json::array({fill}), 3).returned.producers[0] == Producer::kFill);
  CHECK(check(json::array(), 3).returned.producers[0] == Producer::kNothing);
  // A copy made before the kernel ran does not hold what the kernel wrote.
  json early = good_trace();
  early["buffers"].push_back({{"kind", "allocation"}, {"bytes", 128}});
  early["ops"].insert(early["ops"].begin(), copy(3, 2));
  early["outputs"] = view(3);
  CHECK(parse(early).value().check_producers().fault_class == "dead_kernel");
  json idle = good_trace();
  idle["ops"] = json::array();
  CHECK(parse(idle).value().check_producers().fault_class == "dead_kernel");
}

TEST_CASE("input layouts") {
  const auto layout = input_layout(json::parse(
      R"([{"t":"tensor","shape":[3,2],"strides":[1,3],"dtype":"int64"},{"t":"int","v":3},
          {"t":"list","items":[{"t":"tensor","shape":[5],"dtype":"bool"},{"t":"none"}]}])"));
  REQUIRE(layout.ok());
  REQUIRE(layout.value().leaves.size() == 2);
  CHECK(layout.value().leaves[0].bytes == 48);
  CHECK(layout.value().leaves[1].offset_bytes == 64);
  CHECK(layout.value().draw_bytes == 128);
  CHECK(encode_inputs(layout.value(), {{std::string(48, 'a'), std::string(5, 'b')}}).value().size() == 128);
  CHECK_FALSE(encode_inputs(layout.value(), {{std::string(47, 'a'), std::string(5, 'b')}}).ok());
  CHECK_FALSE(encode_inputs(layout.value(), {{std::string(48, 'a')}}).ok());
}

TEST_CASE("direct results") {
  json frame = {
      {"kind", "result"},
      {"outputs",
       {{"t", "tensor"}, {"shape", {3}}, {"strides", {1}}, {"dtype", "float32"}, {"producer", "kernel"}}}};
  CHECK(parse_direct_result(frame, {std::string(64, 'a')}).ok());
  CHECK_FALSE(parse_direct_result(frame, {std::string(12, 'a')}).ok());
  CHECK_FALSE(parse_direct_result(frame, {}).ok());
  frame["outputs"]["producer"] = "input";
  CHECK(parse_direct_result(frame, {std::string(64, 'a')}).value().check_producers().fault_class ==
        "dead_kernel");
}

}  // namespace bicrl
