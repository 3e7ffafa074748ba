// Reading what a candidate's process claims: traces and direct results, which may be forged.
#include "sandbox/trace_fields.h"

namespace bicrl {
namespace {

using namespace trace_fields;

constexpr size_t kMaxBuffers = 100000;
// Returned views may repeat elements (stride 0), so their dense size has a bound of its own.
constexpr uint64_t kMaxOutputBytes = uint64_t{1} << 31;
constexpr uint64_t kMaxModuleBytes = uint64_t{1} << 32;
constexpr size_t kMaxArgumentBytes = 32764;

class Parser {
 public:
  Parser(const json& frame, std::vector<std::string> blobs, const InputLayout& inputs) : frame_(frame) {
    trace_.inputs = inputs;
    trace_.blobs = std::move(blobs);
  }

  Trace run() {
    if (text(frame_, "kind", 16) != "trace") refuse("the frame is no trace");
    for (const json& b : list(frame_, "buffers", kMaxBuffers)) trace_.buffers.push_back(buffer(b));
    state_.resize(trace_.buffers.size());
    for (size_t i = 0; i < state_.size(); ++i) {
      state_[i].input = trace_.buffers[i].kind == TraceBuffer::Kind::kInput;
      state_[i].constant = trace_.buffers[i].kind == TraceBuffer::Kind::kConstant;
    }
    for (const json& o : list(frame_, "ops", kMaxOps)) {
      trace_.ops.push_back(operation(o));
      follow(trace_.ops.back());
    }
    trace_.returned.structure = returned(field(frame_, "outputs"), 0);
    return std::move(trace_);
  }

 private:
  // What a buffer holds so far.
  struct Content {
    bool kernel = false, input = false, constant = false, filled = false;
  };

  TraceBuffer buffer(const json& b) const {
    TraceBuffer out;
    const std::string kind = text(b, "kind", 16);
    out.bytes = whole(b, "bytes", "bytes", kMaxBytes);
    if (kind == "input") {
      out.kind = TraceBuffer::Kind::kInput;
      out.source = static_cast<uint32_t>(whole(b, "source", "source", UINT32_MAX));
      if (out.source >= trace_.inputs.leaves.size() || trace_.inputs.leaves[out.source].bytes != out.bytes)
        refuse("a buffer is no input that was given");
    } else if (kind == "constant") {
      out.kind = TraceBuffer::Kind::kConstant;
      out.source = blob_index(b);
      if (trace_.blobs[out.source].size() != out.bytes) refuse("a constant has another size than its bytes");
    } else if (kind == "allocation") {
      out.kind = TraceBuffer::Kind::kAllocation;
    } else {
      refuse("unknown kind of buffer");
    }
    return out;
  }

  uint32_t blob_index(const json& object) const {
    const uint64_t index = whole(object, "blob", "blob", UINT32_MAX);
    if (index >= trace_.blobs.size()) refuse("a blob is missing");
    return static_cast<uint32_t>(index);
  }
  uint32_t buffer_index(const json& object) const {
    const uint64_t index = whole(object, "buffer", "buffer", UINT32_MAX);
    if (index >= trace_.buffers.size()) refuse("a buffer number is out of range");
    return static_cast<uint32_t>(index);
  }

  TraceView view(const json& v) const {
    TraceView out;
    out.buffer = buffer_index(v);
    out.offset_bytes = whole(v, "offset", "offset", kMaxBytes);
    out.tensor = tensor_layout(v);
    if (out.offset_bytes + out.tensor.span_bytes() > trace_.buffers[out.buffer].bytes)
      refuse("a tensor reaches past its buffer");
    return out;
  }

  static void triple(const json& list_of_three, uint32_t (&out)[3]) {
    if (!list_of_three.is_array() || list_of_three.size() != 3)
      refuse("a grid or block has not three extents");
    for (size_t i = 0; i < 3; ++i)
      out[i] = static_cast<uint32_t>(whole(list_of_three[i], "extent", INT32_MAX));
  }

  TraceOp launch(const json& o) const {
    TraceOp op;
    op.kernel = text(o, "kernel", 256);
    op.entry = whole(o, "entry", "entry", kMaxModuleBytes);
    op.invoker = whole(o, "invoker", "invoker", kMaxModuleBytes);
    triple(field(o, "grid"), op.grid);
    triple(field(o, "block"), op.block);
    const uint64_t threads = uint64_t{op.block[0]} * op.block[1] * op.block[2];
    if (!op.grid[0] || !op.grid[1] || !op.grid[2] || op.grid[1] > 65535 || op.grid[2] > 65535 || !threads ||
        op.block[0] > 1024 || op.block[1] > 1024 || op.block[2] > 64 || threads > 1024)
      refuse("a launch configuration that no GPU accepts");
    op.shared_bytes = static_cast<uint32_t>(whole(o, "shared", "shared", 227 << 10));
    op.arguments = unhex(text(o, "args", 2 * kMaxArgumentBytes));
    for (const json& r : list(o, "relocations", kMaxArgumentBytes))
      op.relocations.push_back(relocation(r, op));
    return op;
  }

  TraceRelocation relocation(const json& r, const TraceOp& op) const {
    if (!r.is_array() || r.size() != 4 || !r[1].is_number_integer()) refuse("a malformed relocation");
    TraceRelocation out;
    out.offset = static_cast<uint32_t>(whole(r[0], "offset", kMaxArgumentBytes));
    if (op.arguments.size() < 8 || out.offset > op.arguments.size() - 8)
      refuse("a relocation outside the arguments");
    out.buffer = r[1].is_number_unsigned() ? static_cast<int64_t>(whole(r[1], "buffer", INT32_MAX))
                                           : r[1].get<int64_t>();
    if (out.buffer < -1 || out.buffer >= static_cast<int64_t>(trace_.buffers.size()))
      refuse("a relocation to no buffer");
    out.addend =
        whole(r[2], "addend",
              out.buffer < 0 ? kMaxModuleBytes : trace_.buffers[static_cast<size_t>(out.buffer)].bytes);
    out.writable = whole(r[3], "writable", 1) == 1;
    return out;
  }

  TraceOp operation(const json& o) const {
    const std::string kind = text(o, "op", 32);
    if (kind == "launch") return launch(o);
    TraceOp op;
    if (kind == "fill") {
      op.kind = TraceOp::Kind::kFill;
      op.target = view(field(o, "target"));
      op.value = unhex(text(o, "value", 16));
      if (op.value.size() != element_bytes(op.target.tensor.dtype)) refuse("a fill value of another size");
    } else if (kind == "copy") {
      op.kind = TraceOp::Kind::kCopy;
      op.target = view(field(o, "target"));
      op.source = view(field(o, "source"));
      if (op.target.tensor.sizes != op.source.tensor.sizes) refuse("a copy between different shapes");
    } else if (kind == "upload") {
      op.kind = TraceOp::Kind::kUpload;
      op.blob = blob_index(o);
      op.target =
          bytes_view(buffer_index(o), whole(o, "offset", "offset", kMaxBytes), trace_.blobs[op.blob].size());
    } else if (kind == "symbol_upload") {
      op.kind = TraceOp::Kind::kSymbolUpload;
      op.blob = blob_index(o);
      op.symbol_offset = whole(o, "symbol", "symbol", kMaxModuleBytes);
    } else if (kind == "symbol_copy") {
      op.kind = TraceOp::Kind::kSymbolCopy;
      op.symbol_offset = whole(o, "symbol", "symbol", kMaxModuleBytes);
      op.source = view(field(o, "source"));
    } else {
      refuse("unknown operation");
    }
    return op;
  }

  TraceView bytes_view(uint32_t buffer, uint64_t offset, uint64_t bytes) const {
    if (offset + bytes > trace_.buffers[buffer].bytes) refuse("an upload reaches past its buffer");
    TraceView out;
    out.buffer = buffer;
    out.offset_bytes = offset;
    out.tensor = {DType::kUInt8, {static_cast<int64_t>(bytes)}, {1}};
    return out;
  }

  void follow(const TraceOp& op) {
    switch (op.kind) {
      case TraceOp::Kind::kLaunch:
        for (const auto& r : op.relocations)
          if (r.writable && r.buffer >= 0) state_[static_cast<size_t>(r.buffer)].kernel = true;
        break;
      case TraceOp::Kind::kFill:
        state_[op.target.buffer].filled = true;
        break;
      case TraceOp::Kind::kUpload:
        state_[op.target.buffer].constant = true;
        break;
      case TraceOp::Kind::kCopy: {
        const Content from = state_[op.source.buffer];
        Content& to = state_[op.target.buffer];
        to.kernel |= from.kernel;
        to.input |= from.input;
        to.constant |= from.constant;
        to.filled |= from.filled;
        break;
      }
      default:
        break;
    }
  }

  Producer producer(const Content& c) const {
    if (c.kernel) return Producer::kKernel;
    if (c.input) return Producer::kInput;
    if (c.constant) return Producer::kConstant;
    return c.filled ? Producer::kFill : Producer::kNothing;
  }

  json returned(const json& spec, int depth);

  const json& frame_;
  Trace trace_;
  std::vector<Content> state_;
};

void append_leaf(Returned& r, const TensorLayout& tensor, Producer producer) {
  if (r.layout.leaves.size() >= kMaxOutputs) refuse("too many outputs");
  OutputLayout::Leaf leaf;
  leaf.dtype = tensor.dtype;
  leaf.sizes = tensor.sizes;
  leaf.bytes = static_cast<uint64_t>(tensor.numel()) * element_bytes(tensor.dtype);
  leaf.offset_bytes = r.layout.draw_bytes;
  r.layout.draw_bytes += (leaf.bytes + 63) / 64 * 64;
  if (leaf.bytes > kMaxOutputBytes || r.layout.draw_bytes > kMaxOutputBytes)
    refuse("the outputs are too large");
  r.layout.leaves.push_back(std::move(leaf));
  r.producers.push_back(producer);
}

// A returned value that is no tensor, copied field by field. `item` handles the parts of containers.
template <class Item>
json plain_value(const json& spec, const std::string& kind, const Item& item) {
  json out{{"t", kind}};
  if (kind == "none") return out;
  if (kind == "int" || kind == "float" || kind == "bool" || kind == "str") {
    const json& v = field(spec, "v");
    const bool fits = kind == "str"    ? v.is_string() && v.get_ref<const std::string&>().size() <= 4096
                      : kind == "bool" ? v.is_boolean()
                      : kind == "int"  ? v.is_number_integer()
                                       : v.is_number() || v.is_null();
    if (!fits) refuse("a returned value is malformed");
    out["v"] = v;
    return out;
  }
  if (kind != "list" && kind != "tuple" && kind != "dict") refuse("unknown kind of returned value");
  out["items"] = json::array();
  for (const json& i : list(spec, "items", kMaxOutputs)) out["items"].push_back(item(i));
  if (kind == "dict") {
    const json& keys = list(spec, "keys", kMaxOutputs);
    if (keys.size() != out["items"].size()) refuse("a returned dict is malformed");
    for (const json& k : keys)
      if (!k.is_string() || k.get_ref<const std::string&>().size() > 256)
        refuse("a returned dict is malformed");
    out["keys"] = keys;
  }
  return out;
}

json Parser::returned(const json& spec, int depth) {
  if (depth > 16) refuse("the returned value is nested too deeply");
  const std::string kind = text(spec, "t", 16);
  if (kind != "tensor") return plain_value(spec, kind, [&](const json& i) { return returned(i, depth + 1); });
  TraceView v = view(spec);
  append_leaf(trace_.returned, v.tensor, producer(state_[v.buffer]));
  json out = tensor_json(v.tensor);
  trace_.outputs.push_back(std::move(v));
  return out;
}

json direct_returned(const json& spec, int depth, Returned& r) {
  if (depth > 16) refuse("the returned value is nested too deeply");
  const std::string kind = text(spec, "t", 16);
  if (kind != "tensor")
    return plain_value(spec, kind, [&](const json& i) { return direct_returned(i, depth + 1, r); });
  const TensorLayout tensor = tensor_layout(spec);
  const std::string from = text(spec, "producer", 16);
  Producer producer = Producer::kNothing;
  for (const Producer p : {Producer::kKernel, Producer::kInput, Producer::kConstant, Producer::kFill})
    if (from == to_string(p)) producer = p;
  append_leaf(r, tensor, producer);
  return tensor_json(tensor);
}

}  // namespace

Result<Trace> Trace::parse(const json& frame, std::vector<std::string> blobs, const InputLayout& inputs) {
  try {
    return Parser(frame, std::move(blobs), inputs).run();
  } catch (const Malformed& m) {
    return Result<Trace>::failure(m.reason);
  } catch (const json::exception& e) {
    return Result<Trace>::failure(e.what());
  }
}

Result<DirectResult> parse_direct_result(const json& frame, std::vector<std::string> blobs) {
  try {
    if (text(frame, "kind", 16) != "result") refuse("the frame is no result");
    DirectResult out;
    out.returned.structure = direct_returned(field(frame, "outputs"), 0, out.returned);
    if (blobs.size() != 1 || blobs[0].size() != out.returned.layout.draw_bytes)
      refuse("the outputs have another size than they claim");
    out.bytes = std::move(blobs[0]);
    return out;
  } catch (const Malformed& m) {
    return Result<DirectResult>::failure(m.reason);
  } catch (const json::exception& e) {
    return Result<DirectResult>::failure(e.what());
  }
}

}  // namespace bicrl
