// Reading what a candidate's process claims, which may be forged.
#include "sandbox/recorder/trace/trace_fields.h"

namespace bicrl {
namespace {

using namespace trace_fields;

constexpr size_t kMaxBuffers = 100000;
constexpr uint64_t kMaxTensorSets = 2;
// Returned views may repeat elements (stride 0), so their dense size has a bound of its own.
constexpr uint64_t kMaxOutputBytes = uint64_t{80} << 30;  // what a device holds
constexpr uint64_t kMaxModules = 64;
constexpr size_t kMaxNameBytes = 16384;
constexpr size_t kMaxArgumentBytes = 32764;
constexpr size_t kMaxRelocations = 1 << 20;
constexpr size_t kMaxAfter = 1 << 16;  // lanes of work side by side

class Parser {
 public:
  Parser(const json& frame, std::vector<std::string> blobs, const InputLayout& inputs) : frame_(frame) {
    trace_.inputs = inputs;
    trace_.blobs = std::move(blobs);
  }

  Trace run() {
    if (text(frame_, "kind", 16) != "trace") refuse("the frame is no trace");
    for (const json& b : list(frame_, "buffers", kMaxBuffers)) trace_.buffers.push_back(buffer(b));
    trace_.ops = operations(frame_);
    if (frame_.contains("construction_ops"))
      trace_.construction_ops = whole(frame_, "construction_ops", "construction_ops", trace_.ops.size());
    trace_.end_after = order(frame_, "end_after", trace_.ops.size());
    trace_.returned.structure = returned(field(frame_, "outputs"), 0, {trace_.returned, trace_.outputs});
    if (frame_.contains("repeats"))
      for (const json& r : list(frame_, "repeats", kMaxRepeats)) {
        TraceRepeat& repeat = trace_.repeats.emplace_back();
        repeat.tensors = tensors(r);
        repeat.ops = operations(r);
        repeat.end_after = order(r, "end_after", repeat.ops.size());
        repeat.returned.structure = returned(field(r, "outputs"), 0, {repeat.returned, repeat.outputs});
      }
    return std::move(trace_);
  }

 private:
  // What a returned value's tensors are appended to.
  struct Leaves {
    Returned& returned;
    std::vector<TraceView>& views;
  };

  static uint32_t tensors(const json& object) {
    return static_cast<uint32_t>(whole(object, "tensors", "tensors", kMaxTensorSets - 1));
  }

  TraceBuffer buffer(const json& b) const {
    TraceBuffer out;
    const std::string kind = text(b, "kind", 16);
    out.bytes = whole(b, "bytes", "bytes", kMaxBytes);
    if (kind == "input") {
      out.kind = TraceBuffer::Kind::kInput;
      out.source = static_cast<uint32_t>(whole(b, "source", "source", UINT32_MAX));
      if (out.source >= trace_.inputs.leaves.size() || trace_.inputs.leaves[out.source].bytes != out.bytes)
        refuse("a buffer is no input that was given");
      if (b.contains("tensors")) out.tensors = tensors(b);
    } else if (kind == "constant") {
      out.kind = TraceBuffer::Kind::kConstant;
      out.source = blob_index(b);
      if (trace_.blobs[out.source].size() != out.bytes) refuse("a constant has another size than its bytes");
    } else if (kind == "allocation") {
      out.kind = TraceBuffer::Kind::kAllocation;
    } else if (kind == "symbol") {
      out.kind = TraceBuffer::Kind::kSymbol;
      out.source = module(b);
      out.symbol = text(b, "name", kMaxNameBytes);
    } else {
      refuse("unknown kind of buffer");
    }
    return out;
  }

  static uint32_t module(const json& object) {
    return static_cast<uint32_t>(whole(object, "module", "module", kMaxModules - 1));
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

  // Whether a device takes the configuration is said by who runs it.
  TraceOp launch(const json& o) const {
    TraceOp op;
    op.module = module(o);
    op.entry = text(o, "entry", kMaxNameBytes);
    triple(field(o, "grid"), op.grid);
    triple(field(o, "block"), op.block);
    op.shared_bytes = static_cast<uint32_t>(whole(o, "shared", "shared", UINT32_MAX));
    op.shared_limit = static_cast<uint32_t>(whole(o, "shared_limit", "shared_limit", UINT32_MAX));
    const json& cooperative = field(o, "cooperative");
    if (!cooperative.is_boolean()) refuse("'cooperative' is no boolean");
    op.cooperative = cooperative.get<bool>();
    op.arguments = unhex(text(o, "args", 2 * kMaxArgumentBytes));
    op.relocations = relocations(o, op.arguments.size());
    return op;
  }

  // Pointers within `bytes` bytes.
  std::vector<TraceRelocation> relocations(const json& o, size_t bytes) const {
    std::vector<TraceRelocation> all;
    for (const json& r : list(o, "relocations", kMaxRelocations)) {
      if (!r.is_array() || r.size() != 3) refuse("a malformed relocation");
      TraceRelocation out;
      out.offset = static_cast<uint32_t>(whole(r[0], "offset", UINT32_MAX));
      if (bytes < 8 || out.offset > bytes - 8) refuse("a relocation outside the bytes");
      out.buffer = static_cast<uint32_t>(whole(r[1], "buffer", UINT32_MAX));
      if (out.buffer >= trace_.buffers.size()) refuse("a relocation to no buffer");
      // A pointer may lie outside of what it belongs to, as long as nobody follows it there.
      out.addend = whole(r[2], "addend", kMaxBytes);
      all.push_back(out);
    }
    return all;
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
      if (o.contains("relocations")) op.relocations = relocations(o, trace_.blobs[op.blob].size());
    } else if (kind == "free") {
      op.kind = TraceOp::Kind::kFree;
      op.target.buffer = buffer_index(o);
    } else {
      refuse("unknown operation");
    }
    return op;
  }

  // Of what stands behind `earlier` operations.
  static TraceOrder order(const json& object, const char* name, size_t earlier) {
    if (!object.contains(name)) return std::nullopt;
    std::vector<uint32_t> after;
    for (const json& distance : list(object, name, kMaxAfter)) {
      after.push_back(static_cast<uint32_t>(whole(distance, name, earlier)));
      if (after.back() == 0) refuse("something comes after itself");
    }
    return after;
  }

  std::vector<TraceOp> operations(const json& call) {
    std::vector<TraceOp> ops;
    for (const json& o : list(call, "ops", kMaxOps - ops_)) {
      TraceOp op = operation(o);
      op.after = order(o, "after", ops.size());
      if (o.contains("stream")) op.stream = static_cast<uint32_t>(whole(o, "stream", "stream", kMaxOps));
      ops.push_back(std::move(op));
    }
    ops_ += ops.size();
    return ops;
  }

  TraceView bytes_view(uint32_t buffer, uint64_t offset, uint64_t bytes) const {
    if (offset + bytes > trace_.buffers[buffer].bytes) refuse("an upload reaches past its buffer");
    TraceView out;
    out.buffer = buffer;
    out.offset_bytes = offset;
    out.tensor = {DType::kUInt8, {static_cast<int64_t>(bytes)}, {1}};
    return out;
  }

  json returned(const json& spec, int depth, const Leaves& leaves);

  const json& frame_;
  Trace trace_;
  size_t ops_ = 0;  // of all calls
};

void append_leaf(Returned& r, const TensorLayout& tensor) {
  if (r.layout.leaves.size() >= kMaxOutputs) refuse("too many outputs");
  OutputLayout::Leaf leaf;
  leaf.dtype = tensor.dtype;
  leaf.sizes = tensor.sizes;
  leaf.bytes = static_cast<uint64_t>(tensor.numel()) * element_bytes(tensor.dtype);
  leaf.offset_bytes = r.layout.total_bytes;
  r.layout.total_bytes += (leaf.bytes + 63) / 64 * 64;
  if (leaf.bytes > kMaxOutputBytes || r.layout.total_bytes > kMaxOutputBytes)
    refuse("the outputs are too large");
  r.layout.leaves.push_back(std::move(leaf));
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

json Parser::returned(const json& spec, int depth, const Leaves& leaves) {
  if (depth > 16) refuse("the returned value is nested too deeply");
  const std::string kind = text(spec, "t", 16);
  if (kind != "tensor")
    return plain_value(spec, kind, [&](const json& i) { return returned(i, depth + 1, leaves); });
  TraceView v = view(spec);
  append_leaf(leaves.returned, v.tensor);
  json out = tensor_json(v.tensor);
  leaves.views.push_back(std::move(v));
  return out;
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

}  // namespace bicrl
