// What comes out of a box. The first byte says which: 'f' the bytes of a child's channel, whose frames are
// taken as launch traces; 't' the file of an encoded trace.
#include <sys/socket.h>

#include "sandbox/box/process/channel.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/recorder/trace/trace.h"
#include "sandbox/verifier/judge.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

using nlohmann::json;

constexpr size_t kChannelBytes = 1 << 16;  // what a socket takes at once

void use(const Trace& trace) {
  for (const TraceView& view : trace.outputs)
    BICRL_CHECK(view.offset_bytes + view.tensor.span_bytes() <= trace.buffers.at(view.buffer).bytes);
  for (const TraceOp& op : trace.ops)
    for (const TraceRelocation& relocation : op.relocations)
      BICRL_CHECK(relocation.offset + 8 <=
                  (op.kind == TraceOp::Kind::kLaunch ? op.arguments.size() : trace.blobs.at(op.blob).size()));
  BICRL_CHECK(trace.outputs.size() == trace.output_layout().leaves.size());
  trace.launches();
  trace.modules();
  trace.buffer_bytes();
  BICRL_CHECK(structure_difference(trace.returned.structure, trace.returned.structure).empty());
  const auto again = Trace::decode(trace.encode());
  BICRL_CHECK(again.ok(), again.ok() ? "" : again.reason());
  BICRL_CHECK(again.value().encode() == trace.encode());
}

void take_frame(const Frame& frame) {
  static const InputLayout kInputs =
      input_layout(json::parse(R"([{"t":"tensor","shape":[4,8],"dtype":"float32"}])")).value();
  const auto trace = Trace::parse(frame.header, frame.blobs, kInputs);
  if (trace.ok()) use(trace.value());
  input_layout(frame.header);
}

void take_channel(std::string_view bytes) {
  FdPair pair = make_stream_pair();
  const auto sent =
      send(pair.theirs.get(), bytes.data(), std::min(bytes.size(), kChannelBytes), MSG_NOSIGNAL);
  BICRL_CHECK(sent >= 0);
  pair.theirs.reset();
  FrameReader reader(FrameLimits{1 << 16, 1 << 20, 64});
  while (reader.read_from(pair.ours.get()) == FrameReader::State::kComplete) take_frame(reader.take());
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::as_text(data + 1, size - 1);
  if (data[0] == 'f') fuzz::take_channel(bytes);
  if (data[0] == 't') {
    const auto trace = Trace::decode(bytes);
    if (trace.ok()) fuzz::use(trace.value());
  }
  return 0;
}
