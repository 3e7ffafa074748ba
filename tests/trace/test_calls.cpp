// Which repeats of forward do what the first call did, and what calls may leave to each other.
#include "sandbox/recorder/trace/calls.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace bicrl {
namespace {

using nlohmann::json;

json tensor_of(int buffer) {
  return {{"t", "tensor"}, {"buffer", buffer}, {"offset", 0},
          {"shape", {4}},  {"strides", {1}},   {"dtype", "float32"}};
}

json launch(int source, int target, int workspace) {
  return {{"op", "launch"},
          {"module", 0},
          {"entry", "kernel"},
          {"grid", {1, 1, 1}},
          {"block", {4, 1, 1}},
          {"shared", 0},
          {"shared_limit", 49152},
          {"cooperative", false},
          {"args", std::string(48, '0')},
          {"relocations", {{0, source, 0}, {8, target, 0}, {16, workspace, 0}}}};
}
json fill(int buffer, const char* value = "00000000") {
  return {{"op", "fill"}, {"target", tensor_of(buffer)}, {"value", value}};
}
using List = std::vector<json>;
json call(int tensors, const List& ops, int output) {
  return {{"tensors", tensors}, {"ops", ops}, {"outputs", tensor_of(output)}};
}

// 0, 1: the input of both sets; 2, 3, 4: outputs; 5: a workspace; 6, 7: constants of equal bytes; 8: a
// constant of other bytes.
json frame(const List& first_ops, int output, const List& repeats) {
  json buffers = json::array();
  for (int tensors : {0, 1})
    buffers.push_back({{"kind", "input"}, {"bytes", 16}, {"source", 0}, {"tensors", tensors}});
  for (int i = 0; i < 4; ++i) buffers.push_back({{"kind", "allocation"}, {"bytes", 16}});
  for (int blob : {0, 1, 2}) buffers.push_back({{"kind", "constant"}, {"bytes", 16}, {"blob", blob}});
  return {{"kind", "trace"},    {"buffers", buffers},   {"ops", first_ops}, {"outputs", tensor_of(output)},
          {"repeats", repeats}, {"blobs", {16, 16, 16}}};
}

Trace parsed_frame(const json& frame) {
  const auto layout =
      input_layout(json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"float32"}])")).value();
  const auto trace =
      Trace::parse(frame, {std::string(16, 'a'), std::string(16, 'a'), std::string(16, 'b')}, layout);
  REQUIRE((trace.ok() ? "" : trace.reason()) == "");
  const auto again = Trace::decode(trace.value().encode());
  REQUIRE((again.ok() ? "" : again.reason()) == "");
  CHECK(again.value().encode() == trace.value().encode());
  CHECK(summarise_calls(again.value()).alike == summarise_calls(trace.value()).alike);
  return again.value();
}

bool repeats_are_alike(const Trace& trace) { return summarise_calls(trace).alike; }

bool alike(const List& first_ops, int output, const List& repeats) {
  return repeats_are_alike(parsed_frame(frame(first_ops, output, repeats)));
}

}  // namespace

TEST_CASE("a repeat on buffers of its own does what the first call did") {
  const List repeats = {call(0, {fill(3), launch(0, 3, 5)}, 3), call(1, {fill(4), launch(1, 4, 5)}, 4)};
  const Trace trace = parsed_frame(frame({fill(2), launch(0, 2, 5)}, 2, repeats));
  CHECK(repeats_are_alike(trace));
  CHECK(first_uses(trace) == std::vector<uint32_t>{0, 2, 0, 1, 2, 0, 0, 0, 0});
  CHECK(kept_buffers(trace) == std::vector<uint32_t>{5});
  CHECK(trace.buffer_bytes() == 6 * 16);
}

TEST_CASE("another operation, value, output or order makes a difference") {
  const List first = {fill(2), launch(0, 2, 5)};
  CHECK(alike(first, 2, {call(0, {fill(3), launch(0, 3, 5)}, 3)}));
  CHECK_FALSE(alike(first, 2, {call(0, {launch(0, 3, 5)}, 3)}));
  CHECK_FALSE(alike(first, 2, {call(0, {launch(0, 3, 5), fill(3)}, 3)}));
  CHECK_FALSE(alike(first, 2, {call(0, {fill(3, "0000803f"), launch(0, 3, 5)}, 3)}));
  CHECK_FALSE(alike(first, 2, {call(0, {fill(3), launch(0, 3, 5)}, 4)}));
  CHECK_FALSE(alike(first, 2, {call(0, {fill(3), launch(0, 4, 5)}, 4)}));
  json longer = launch(0, 3, 5);
  longer["grid"] = {2, 1, 1};
  CHECK_FALSE(alike(first, 2, {call(0, {fill(3), longer}, 3)}));
}

TEST_CASE("another order on the device makes a difference") {
  const List first = {fill(2), launch(0, 2, 5)};
  json unordered = launch(0, 3, 5);
  unordered["after"] = json::array();
  CHECK_FALSE(alike(first, 2, {call(0, {fill(3), unordered}, 3)}));
  json unfinished = call(0, {fill(3), launch(0, 3, 5)}, 3);
  unfinished["end_after"] = {2};
  CHECK_FALSE(alike(first, 2, {unfinished}));
}

TEST_CASE("what the first call made is not the repeat's own") {
  // Returned again, or read.
  CHECK_FALSE(alike({launch(0, 2, 5)}, 2, {call(0, List(), 2)}));
  CHECK_FALSE(alike({launch(0, 2, 5), launch(0, 4, 5)}, 4, {call(0, {launch(0, 3, 5), launch(0, 2, 5)}, 2)}));
  // The first input where the call has another.
  CHECK_FALSE(alike({launch(0, 2, 5)}, 2, {call(1, {launch(0, 3, 5)}, 3)}));
  CHECK(alike({launch(0, 2, 5)}, 2, {call(1, {launch(1, 3, 5)}, 3)}));
  // Two calls into one buffer are alike, and the buffer is kept.
  const Trace shared = parsed_frame(frame({launch(0, 2, 5)}, 2, {call(0, {launch(0, 2, 5)}, 2)}));
  CHECK(repeats_are_alike(shared));
  CHECK(kept_buffers(shared) == std::vector<uint32_t>{2, 5});
}

TEST_CASE("the first repeat that need not answer like the first call") {
  const List first = {launch(0, 2, 5)};
  const json same = call(0, {launch(0, 3, 5)}, 3), other = call(0, {fill(4), launch(0, 4, 5)}, 4);
  const auto found = [&](const List& repeats) {
    return first_other_repeat(parsed_frame(frame(first, 2, repeats)));
  };
  CHECK(found({same}) == 1);
  CHECK(found({other, same}) == 0);
  CHECK(found({same, other}) == 1);
  // It reads what an alike call has written, so that has to be executed as well.
  CHECK(found({same, call(0, {launch(0, 4, 3)}, 4)}) == 0);
  CHECK(found({same, call(0, List(), 3)}) == 0);
}

TEST_CASE("constants that each call makes anew are alike if their bytes are") {
  CHECK(alike({launch(0, 2, 6)}, 2, {call(0, {launch(0, 3, 7)}, 3)}));
  CHECK_FALSE(alike({launch(0, 2, 6)}, 2, {call(0, {launch(0, 3, 8)}, 3)}));
}

TEST_CASE("what a constructor made is no call's own, and is kept") {
  json built = frame({fill(5), launch(0, 2, 5)}, 2, {call(0, {launch(0, 3, 5)}, 3)});
  built["construction_ops"] = 1;
  CHECK(repeats_are_alike(parsed_frame(built)));
  CHECK(kept_buffers(parsed_frame(built)) == std::vector<uint32_t>{5});
  built["repeats"] = List{call(0, {launch(0, 3, 4)}, 3)};
  CHECK_FALSE(repeats_are_alike(parsed_frame(built)));
  CHECK(parsed_frame(built).buffer_bytes() == 9 * 16);
}

TEST_CASE("forged repeats are refused") {
  const auto refused = [](const List& repeats) {
    const auto layout =
        input_layout(json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"float32"}])")).value();
    return !Trace::parse(frame({launch(0, 2, 5)}, 2, repeats),
                         {std::string(16, 'a'), std::string(16, 'a'), std::string(16, 'b')}, layout);
  };
  const json good = call(0, {launch(0, 3, 5)}, 3);
  CHECK_FALSE(refused({good}));
  CHECK_FALSE(refused(List(kMaxRepeats, good)));
  CHECK(refused(List(kMaxRepeats + 1, good)));
  CHECK(refused({call(2, {launch(0, 3, 5)}, 3)}));
  CHECK(refused({call(0, {launch(0, 9, 5)}, 3)}));
  CHECK(refused({call(0, {launch(0, 3, 5)}, 9)}));
  json construction = frame({launch(0, 2, 5)}, 2, List());
  construction["construction_ops"] = 2;
  CHECK_FALSE(Trace::parse(construction, std::vector<std::string>(3, std::string(16, 'a')),
                           parsed_frame(frame({launch(0, 2, 5)}, 2, List())).inputs)
                  .ok());
}

}  // namespace bicrl
