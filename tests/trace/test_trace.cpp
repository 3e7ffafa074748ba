#include "sandbox/recorder/trace/trace.h"

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

// Input 0, constant 1, allocation 2, symbol 3; one launch, one upload of a table; returns (2, 2).
json good_trace() {
  return {{"kind", "trace"},
          {"buffers",
           {{{"kind", "input"}, {"bytes", 128}, {"source", 0}},
            {{"kind", "constant"}, {"bytes", 16}, {"blob", 0}},
            {{"kind", "allocation"}, {"bytes", 128}},
            {{"kind", "symbol"}, {"bytes", 64}, {"module", 1}, {"name", "table"}}}},
          {"ops",
           {{{"op", "launch"},
             {"module", 0},
             {"entry", "_Z1kPKfPf"},
             {"grid", {1, 1, 1}},
             {"block", {32, 1, 1}},
             {"shared", 0},
             {"shared_limit", 49152},
             {"cooperative", false},
             {"args", std::string(48, '0')},
             {"relocations", {{0, 0, 0}, {8, 2, 0}, {16, 3, 64}}}},
            {{"op", "upload"}, {"buffer", 3}, {"offset", 8}, {"blob", 0}, {"relocations", {{8, 1, 0}}}},
            {{"op", "free"}, {"buffer", 2}}}},
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
  CHECK(trace.value().modules() == 2);
  CHECK(trace.value().buffer_bytes() == 336);
  CHECK(trace.value().output_layout().leaves.size() == 2);
  CHECK(trace.value().output_layout().leaves[1].offset_bytes == 128);
  CHECK(trace.value().output_layout().total_bytes == 192);
  const auto again = Trace::decode(trace.value().encode());
  REQUIRE(again.ok());
  CHECK(again.value().encode() == trace.value().encode());
  CHECK(again.value().returned.structure == trace.value().returned.structure);
}

TEST_CASE("copied launches keep their arguments and lose their order") {
  json frame = good_trace();
  std::swap(frame["ops"][0], frame["ops"][1]);
  frame["repeats"] = {{{"tensors", 0}, {"ops", {frame["ops"][1]}}, {"outputs", view(2)}, {"end_after", {1}}}};
  frame["ops"][1]["after"] = {1};
  frame["construction_ops"] = 1;
  const auto trace = parse(frame);
  REQUIRE(trace.ok());
  const auto copy = Trace::decode(trace.value().copy_launches().encode());
  REQUIRE(copy.ok());
  CHECK(copy.value().blobs.empty());
  REQUIRE(copy.value().ops.size() == 1);
  REQUIRE(copy.value().repeats.size() == 1);
  REQUIRE(copy.value().repeats[0].ops.size() == 1);
  for (const TraceOp& op : {copy.value().ops[0], copy.value().repeats[0].ops[0]}) {
    CHECK(op.entry == trace.value().ops[1].entry);
    CHECK(op.arguments == trace.value().ops[1].arguments);
    CHECK(op.relocations.size() == 3);
    CHECK_FALSE(op.after);
  }
  for (size_t i = 0; i < trace.value().buffers.size(); ++i)
    CHECK(copy.value().buffers[i].bytes == trace.value().buffers[i].bytes);
}

TEST_CASE("what comes after what is read, written and read again") {
  json frame = good_trace();
  frame["ops"][1]["after"] = json::array();
  frame["ops"][1]["stream"] = 3;
  frame["ops"][2]["after"] = {1, 2};
  frame["end_after"] = {3};
  frame["repeats"] = {{{"tensors", 0}, {"ops", {frame["ops"][0]}}, {"outputs", view(2)}, {"end_after", {1}}}};
  const auto trace = parse(frame);
  REQUIRE(trace.ok());
  const auto again = Trace::decode(trace.value().encode());
  REQUIRE(again.ok());
  for (const Trace& one : {trace.value(), again.value()}) {
    CHECK_FALSE(one.ops[0].after);
    CHECK(one.ops[0].stream == 0);
    CHECK(one.ops[1].after == std::vector<uint32_t>{});
    CHECK(one.ops[1].stream == 3);
    CHECK(one.ops[2].after == std::vector<uint32_t>{1, 2});
    CHECK(one.end_after == std::vector<uint32_t>{3});
    CHECK(one.repeats[0].end_after == std::vector<uint32_t>{1});
  }
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
  CHECK(refused([](json& f) { f["buffers"][3]["module"] = 64; }));
  CHECK(refused([](json& f) { f["buffers"][3].erase("name"); }));
  CHECK(refused([](json& f) { f["ops"][0]["module"] = -1; }));
  CHECK(refused([](json& f) { f["ops"][0]["entry"] = 4096; }));
  CHECK(refused([](json& f) { f["ops"][0]["block"] = {32, 1}; }));
  CHECK(refused([](json& f) { f["ops"][0]["grid"] = {1, 1e10, 1}; }));
  CHECK(refused([](json& f) { f["ops"][0]["shared"] = 1ull << 40; }));
  CHECK(refused([](json& f) { f["ops"][0]["cooperative"] = 1; }));
  CHECK(refused([](json& f) { f["ops"][0]["args"] = "0"; }));
  CHECK(refused([](json& f) { f["ops"][0]["args"] = "zz"; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][0] = 17; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][1] = 4; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][1] = -2; }));
  CHECK(refused([](json& f) { f["ops"][0]["relocations"][0][2] = 1ull << 41; }));
  CHECK(refused([](json& f) { f["ops"][1]["relocations"][0][0] = 9; }));
  CHECK(refused([](json& f) { f["ops"][1]["offset"] = 49; }));
  CHECK(refused([](json& f) { f["ops"][2]["buffer"] = 4; }));
  CHECK(refused([](json& f) { f["ops"][0]["after"] = {1}; }));  // nothing stands there
  CHECK(refused([](json& f) { f["ops"][2]["after"] = {0}; }));
  CHECK(refused([](json& f) { f["ops"][2]["after"] = {1, 3}; }));
  CHECK(refused([](json& f) { f["ops"][2]["after"] = {-1}; }));
  CHECK(refused([](json& f) { f["ops"][2]["after"] = 1; }));
  CHECK(refused([](json& f) { f["ops"][2]["after"] = json::array({json::array()}); }));
  CHECK(refused([](json& f) { f["ops"][2]["stream"] = -1; }));
  CHECK(refused([](json& f) { f["end_after"] = {4}; }));
  CHECK(refused([](json& f) { f["ops"][0]["op"] = "system"; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["offset"] = 4; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["shape"] = {4, 9}; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["strides"] = {-8, 1}; }));
  CHECK(refused([](json& f) { f["outputs"]["items"][0]["shape"] = {1ull << 40, 1ull << 40}; }));
  // A few bytes that claim to be a larger output than a device holds. (One that is larger than the
  // reference's is refused before anything is made of it.)
  CHECK(refused([](json& f) {
    f["outputs"]["items"][0]["shape"] = {1 << 30, 40};
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

TEST_CASE("input layouts") {
  const auto layout = input_layout(json::parse(
      R"([{"t":"tensor","shape":[3,2],"strides":[1,3],"dtype":"int64"},{"t":"int","v":3},
          {"t":"list","items":[{"t":"tensor","shape":[5],"dtype":"bool"},{"t":"none"}]}])"));
  REQUIRE(layout.ok());
  REQUIRE(layout.value().leaves.size() == 2);
  CHECK(layout.value().leaves[0].bytes == 48);
  CHECK(layout.value().leaves[1].offset_bytes == 64);
  CHECK(layout.value().total_bytes == 128);
  CHECK(encode_inputs(layout.value(), {{std::string(48, 'a'), std::string(5, 'b')}}).value().size() == 128);
  CHECK_FALSE(encode_inputs(layout.value(), {{std::string(47, 'a'), std::string(5, 'b')}}).ok());
  CHECK_FALSE(encode_inputs(layout.value(), {{std::string(48, 'a')}}).ok());
}

}  // namespace bicrl
