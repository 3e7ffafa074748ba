// Layouts and the data flow of a trace. Reading claims: trace_parser.cpp; the file form: trace_codec.cpp.
#include "sandbox/recorder/trace/trace.h"

#include <algorithm>

#include "sandbox/recorder/trace/calls.h"

namespace bicrl {
namespace {

constexpr uint64_t kAlignment = 64;
uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct TypeName {
  DType type;
  const char* name;
  size_t bytes;
};
constexpr TypeName kTypes[] = {{DType::kFloat32, "float32", 4},
                               {DType::kFloat64, "float64", 8},
                               {DType::kFloat16, "float16", 2},
                               {DType::kBFloat16, "bfloat16", 2},
                               {DType::kInt8, "int8", 1},
                               {DType::kUInt8, "uint8", 1},
                               {DType::kInt16, "int16", 2},
                               {DType::kInt32, "int32", 4},
                               {DType::kInt64, "int64", 8},
                               {DType::kBool, "bool", 1},
                               {DType::kFloat8E4M3, "float8_e4m3fn", 1},
                               {DType::kFloat8E5M2, "float8_e5m2", 1}};

}  // namespace

Result<DType> parse_dtype(const std::string& name) {
  const std::string plain = name.rfind("torch.", 0) == 0 ? name.substr(6) : name;
  for (const auto& t : kTypes)
    if (plain == t.name) return t.type;
  return Result<DType>::failure("unknown element type '" + name.substr(0, 40) + "'");
}

std::string to_string(DType dtype) { return kTypes[static_cast<size_t>(dtype)].name; }
size_t element_bytes(DType dtype) { return kTypes[static_cast<size_t>(dtype)].bytes; }

int64_t TensorLayout::numel() const {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return count;
}

size_t OutputLayout::numel() const {
  size_t count = 0;
  for (const Leaf& leaf : leaves) count += leaf.numel();
  return count;
}

bool TensorLayout::is_row_major() const {
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != stride) return false;
    stride *= sizes[d];
  }
  return true;
}

uint64_t TensorLayout::span_bytes() const {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return static_cast<uint64_t>(last + 1) * element_bytes(dtype);
}

namespace {

// Those of the constructor and of all calls.
template <class Visit>
void for_each_operation(const Trace& trace, const Visit& visit) {
  for (const TraceOp& op : trace.ops) visit(op);
  for (const TraceRepeat& repeat : trace.repeats)
    for (const TraceOp& op : repeat.ops) visit(op);
}

// Calls visit(spec) for each tensor of a spec in depth-first order; false if something is no spec.
template <class Visit>
bool for_each_tensor(const nlohmann::json& spec, int depth, const Visit& visit) {
  if (depth > 16 || !spec.is_object()) return false;
  const auto kind = spec.find("t");
  if (kind == spec.end() || !kind->is_string()) return false;
  const std::string t = kind->get<std::string>();
  if (t == "tensor") return visit(spec);
  if (t != "list" && t != "tuple" && t != "dict") return true;
  const auto items = spec.find("items");
  if (items == spec.end() || !items->is_array()) return false;
  return std::all_of(items->begin(), items->end(),
                     [&](const nlohmann::json& item) { return for_each_tensor(item, depth + 1, visit); });
}

}  // namespace

Result<InputLayout> input_layout(const nlohmann::json& input_specs) {
  if (!input_specs.is_array()) return Result<InputLayout>::failure("the input specs are no array");
  InputLayout layout;
  std::string reason = "an input spec is malformed";
  const auto visit = [&](const nlohmann::json& spec) {
    auto tensor = parse_tensor_layout(spec);
    if (!tensor) {
      reason = tensor.reason();
      return false;
    }
    InputLayout::Leaf leaf;
    leaf.bytes = tensor.value().span_bytes();
    leaf.tensor = std::move(tensor.value());
    leaf.offset_bytes = layout.total_bytes;
    layout.total_bytes += aligned(leaf.bytes);
    layout.leaves.push_back(std::move(leaf));
    return true;
  };
  for (const auto& spec : input_specs)
    if (!for_each_tensor(spec, 0, visit)) return Result<InputLayout>::failure(reason);
  return layout;
}

Result<std::string> encode_inputs(const InputLayout& layout,
                                  const std::vector<std::vector<std::string>>& test_inputs) {
  std::string file(layout.total_bytes * test_inputs.size(), '\0');
  for (size_t d = 0; d < test_inputs.size(); ++d) {
    if (test_inputs[d].size() != layout.leaves.size())
      return Result<std::string>::failure(concat("test input ", d, " has ", test_inputs[d].size(),
                                                 " tensors, the specs name ", layout.leaves.size()));
    for (size_t i = 0; i < test_inputs[d].size(); ++i) {
      const auto& leaf = layout.leaves[i];
      if (test_inputs[d][i].size() != leaf.bytes)
        return Result<std::string>::failure(concat("test input ", d, ", tensor ", i, " has ",
                                                   test_inputs[d][i].size(), " bytes instead of ",
                                                   leaf.bytes));
      std::copy(test_inputs[d][i].begin(), test_inputs[d][i].end(),
                file.begin() + static_cast<int64_t>(d * layout.total_bytes + leaf.offset_bytes));
    }
  }
  return file;
}

int Trace::launches() const {
  return static_cast<int>(std::count_if(ops.begin(), ops.end(),
                                        [](const TraceOp& op) { return op.kind == TraceOp::Kind::kLaunch; }));
}

Trace Trace::copy_launches() const {
  const auto launches_of = [](const std::vector<TraceOp>& operations) {
    std::vector<TraceOp> launches;
    for (const TraceOp& op : operations)
      if (op.kind == TraceOp::Kind::kLaunch) launches.emplace_back(op).after.reset();
    return launches;
  };
  Trace copy;
  copy.inputs = inputs;
  copy.ops = launches_of(ops);
  copy.outputs = outputs;
  copy.returned = returned;
  for (const TraceBuffer& buffer : buffers) {
    TraceBuffer& added = copy.buffers.emplace_back(buffer);
    if (buffer.kind != TraceBuffer::Kind::kConstant) continue;
    added.kind = TraceBuffer::Kind::kAllocation;
    added.source = 0;
  }
  for (const TraceRepeat& repeat : repeats) {
    TraceRepeat& added = copy.repeats.emplace_back();
    added.tensors = repeat.tensors;
    added.ops = launches_of(repeat.ops);
    added.outputs = repeat.outputs;
    added.returned = repeat.returned;
  }
  return copy;
}

std::vector<const TraceOp*> Trace::kernel_launches() const {
  std::vector<const TraceOp*> launches;
  for (const TraceOp& op : ops)
    if (op.kind == TraceOp::Kind::kLaunch) launches.push_back(&op);
  return launches;
}

uint32_t Trace::modules() const {
  uint32_t count = 0;
  for_each_operation(*this, [&](const TraceOp& op) {
    if (op.kind == TraceOp::Kind::kLaunch) count = std::max(count, op.module + 1);
  });
  for (const auto& b : buffers)
    if (b.kind == TraceBuffer::Kind::kSymbol) count = std::max(count, b.source + 1);
  return count;
}

uint64_t Trace::uploaded_bytes() const {
  uint64_t bytes = 0;
  const auto count = [&](const std::vector<TraceOp>& operations) {
    for (const TraceOp& op : operations)
      if (op.kind == TraceOp::Kind::kUpload) bytes += blobs[op.blob].size();
  };
  count(ops);
  for (size_t k = 0; k < std::min(kCertainRepeats, repeats.size()); ++k) count(repeats[k].ops);
  return bytes;
}

uint64_t Trace::buffer_bytes() const {
  const CallSummary calls = summarise_calls(*this);
  uint64_t bytes = 0;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (calls.first_uses[i] <= (calls.alike ? 0 : kCertainRepeats)) bytes += buffers[i].bytes;
  return bytes;
}

}  // namespace bicrl
