// The file form of a trace, for the executor: a checked trace is written and read again.
#include <cstring>

#include "sandbox/recorder/trace/trace_fields.h"

namespace bicrl {
namespace {

using namespace trace_fields;

constexpr char kMagic[8] = {'B', 'I', 'C', 'R', 'L', 'T', '4', '\n'};

json view_json(const TraceView& v) {
  json out = tensor_json(v.tensor);
  out["buffer"] = v.buffer;
  out["offset"] = v.offset_bytes;
  return out;
}

json relocations_json(const std::vector<TraceRelocation>& relocations) {
  json list = json::array();
  for (const auto& r : relocations) list.push_back({r.offset, r.buffer, r.addend});
  return list;
}

json work_json(const TraceOp& op) {
  switch (op.kind) {
    case TraceOp::Kind::kFill:
      return {{"op", "fill"}, {"target", view_json(op.target)}, {"value", hexed(op.value)}};
    case TraceOp::Kind::kCopy:
      return {{"op", "copy"}, {"target", view_json(op.target)}, {"source", view_json(op.source)}};
    case TraceOp::Kind::kUpload:
      return {{"op", "upload"},
              {"buffer", op.target.buffer},
              {"offset", op.target.offset_bytes},
              {"blob", op.blob},
              {"relocations", relocations_json(op.relocations)}};
    case TraceOp::Kind::kFree:
      return {{"op", "free"}, {"buffer", op.target.buffer}};
    case TraceOp::Kind::kLaunch:
      break;
  }
  return {{"op", "launch"},
          {"module", op.module},
          {"entry", op.entry},
          {"grid", op.grid},
          {"block", op.block},
          {"shared", op.shared_bytes},
          {"shared_limit", op.shared_limit},
          {"cooperative", op.cooperative},
          {"args", hexed(op.arguments)},
          {"relocations", relocations_json(op.relocations)}};
}

json op_json(const TraceOp& op) {
  json out = work_json(op);
  if (op.after) out["after"] = *op.after;
  if (op.stream) out["stream"] = op.stream;
  return out;
}

json buffer_json(const TraceBuffer& b) {
  switch (b.kind) {
    case TraceBuffer::Kind::kInput:
      return {{"kind", "input"}, {"bytes", b.bytes}, {"source", b.source}, {"tensors", b.tensors}};
    case TraceBuffer::Kind::kConstant:
      return {{"kind", "constant"}, {"bytes", b.bytes}, {"blob", b.source}};
    case TraceBuffer::Kind::kSymbol:
      return {{"kind", "symbol"}, {"bytes", b.bytes}, {"module", b.source}, {"name", b.symbol}};
    case TraceBuffer::Kind::kAllocation:
      break;
  }
  return {{"kind", "allocation"}, {"bytes", b.bytes}};
}

json ops_json(const std::vector<TraceOp>& ops) {
  json list = json::array();
  for (const auto& op : ops) list.push_back(op_json(op));
  return list;
}

json placed(const json& structure, const std::vector<TraceView>& outputs, size_t& next) {
  if (structure.at("t") == "tensor") {
    json out = view_json(outputs.at(next));
    ++next;
    return out;
  }
  json out = structure;
  if (out.contains("items"))
    for (json& item : out["items"]) item = placed(item, outputs, next);
  return out;
}

// The returned value with the place of each tensor.
json placed(const json& structure, const std::vector<TraceView>& outputs) {
  size_t next = 0;
  return placed(structure, outputs, next);
}

}  // namespace

std::string Trace::encode() const {
  json head{{"kind", "trace"},
            {"inputs", json::array()},
            {"buffers", json::array()},
            {"ops", ops_json(ops)},
            {"construction_ops", construction_ops},
            {"outputs", placed(returned.structure, outputs)},
            {"repeats", json::array()},
            {"blobs", json::array()}};
  for (const auto& b : buffers) head["buffers"].push_back(buffer_json(b));
  for (const auto& leaf : inputs.leaves) head["inputs"].push_back(tensor_json(leaf.tensor));
  if (end_after) head["end_after"] = *end_after;
  for (const auto& repeat : repeats) {
    head["repeats"].push_back({{"tensors", repeat.tensors},
                               {"ops", ops_json(repeat.ops)},
                               {"outputs", placed(repeat.returned.structure, repeat.outputs)}});
    if (repeat.end_after) head["repeats"].back()["end_after"] = *repeat.end_after;
  }
  for (const auto& blob : blobs) head["blobs"].push_back(blob.size());
  const std::string text = head.dump(-1, ' ', true, json::error_handler_t::replace);
  size_t bytes = sizeof kMagic + 4 + text.size();
  for (const auto& blob : blobs) bytes += blob.size();
  std::string file;
  file.reserve(bytes);
  file.append(kMagic, sizeof kMagic);
  const auto size = static_cast<uint32_t>(text.size());
  file.append(reinterpret_cast<const char*>(&size), 4);
  file += text;
  for (const auto& blob : blobs) file += blob;
  return file;
}

Result<Trace> Trace::decode(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof kMagic + 4 || memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return Result<Trace>::failure("the file is no trace");
  memcpy(&size, bytes.data() + sizeof kMagic, 4);
  bytes.remove_prefix(sizeof kMagic + 4);
  if (size > bytes.size()) return Result<Trace>::failure("the trace is cut off");
  try {
    const json head = json::parse(bytes.substr(0, size));
    bytes.remove_prefix(size);
    std::vector<std::string> blobs;
    for (const json& n : list(head, "blobs", kMaxOps)) {
      const uint64_t length = whole(n, "blobs", kMaxBytes);
      if (length > bytes.size()) return Result<Trace>::failure("the trace is cut off");
      blobs.emplace_back(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
    const auto layout = input_layout(list(head, "inputs", kMaxOps));
    if (!layout) return Result<Trace>::failure(layout.reason());
    return parse(head, std::move(blobs), layout.value());
  } catch (const Malformed& m) {
    return Result<Trace>::failure(m.reason);
  } catch (const json::exception& e) {
    return Result<Trace>::failure(e.what());
  }
}

}  // namespace bicrl
