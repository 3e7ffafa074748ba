// The launch trace: what a candidate's host part would do on a GPU, as recorded in a box. It comes from a
// process that ran candidate code, so it is a claim: parse() checks every size, index and range, and
// check_producers() says where the outputs come from. Plain values, no shared state.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace bicrl {

enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kUInt8,
  kInt16,
  kInt32,
  kInt64,
  kBool
};
Result<DType> parse_dtype(const std::string& name);  // PyTorch's names: "float32", "int64", "bool", ...
std::string to_string(DType dtype);
size_t element_bytes(DType dtype);

// A strided tensor; `span_bytes` is the smallest storage that holds it.
struct TensorLayout {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements, none negative
  int64_t numel() const;
  uint64_t span_bytes() const;
};
// From {"t":"tensor","shape":[],"strides":[],"dtype":""}; strides may be absent (contiguous).
Result<TensorLayout> parse_tensor_layout(const nlohmann::json& spec);

// ---- Inputs. The leaves are the tensors of the input specs in depth-first order. A leaf's bytes are its
// storage from the first to the last element (span_bytes), gaps included. Draws and leaves start at multiples
// of 64.
struct InputLayout {
  struct Leaf {
    TensorLayout tensor;
    uint64_t offset_bytes = 0;  // within a draw
    uint64_t bytes = 0;
  };
  std::vector<Leaf> leaves;
  uint64_t draw_bytes = 0;
};
Result<InputLayout> input_layout(const nlohmann::json& input_specs);  // the array "inputs" of the run frame
// The replay program's file of inputs. draws[d][leaf] are the bytes of a leaf. Fails if a size differs.
Result<std::string> encode_inputs(const InputLayout& layout,
                                  const std::vector<std::vector<std::string>>& draws);

// ---- Outputs. The leaves are the tensors of the returned value in depth-first order, stored contiguously.
struct OutputLayout {
  struct Leaf {
    DType dtype = DType::kFloat32;
    std::vector<int64_t> sizes;
    uint64_t offset_bytes = 0;  // within a draw
    uint64_t bytes = 0;
  };
  std::vector<Leaf> leaves;
  uint64_t draw_bytes = 0;
};

// Where an output's elements come from, as far as a trace tells.
enum class Producer { kKernel, kInput, kConstant, kFill, kNothing };
std::string to_string(Producer producer);

// What the host part returned: `structure` is the returned value as a spec ({"t":"tensor","shape","strides",
// "dtype"} | int | float | bool | str | none | list | tuple | dict), so it compares with the reference's.
struct Returned {
  nlohmann::json structure;
  OutputLayout layout;
  std::vector<Producer> producers;  // one for each leaf
};

struct ProducerCheck {
  std::string fault_class;  // empty, or "dead_kernel"
  std::string reason;
};

struct TraceBuffer {
  enum class Kind : uint8_t { kInput, kConstant, kAllocation };
  Kind kind = Kind::kAllocation;
  uint64_t bytes = 0;
  uint32_t source = 0;  // leaf of the inputs, or index of the blob
};

struct TraceView {
  uint32_t buffer = 0;
  uint64_t offset_bytes = 0;
  TensorLayout tensor;
};

struct TraceRelocation {
  uint32_t offset = 0;  // of the pointer within the argument bytes
  int64_t buffer = -1;  // -1: the module itself (globals)
  uint64_t addend = 0;  // bytes from the start of the buffer or the module
  bool writable = false;
};

struct TraceOp {
  enum class Kind : uint8_t { kLaunch, kFill, kCopy, kUpload, kSymbolUpload, kSymbolCopy };
  Kind kind = Kind::kLaunch;
  // kLaunch
  std::string kernel;               // name at the launch site
  uint64_t entry = 0, invoker = 0;  // offsets from the module's base
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  std::string arguments;
  std::vector<TraceRelocation> relocations;
  // kFill: target <- value (one element); kCopy: target <- source, converting; kUpload: target <- blob
  TraceView target, source;
  std::string value;
  uint32_t blob = 0;
  // kSymbolUpload: module + symbol_offset <- blob; kSymbolCopy: <- source
  uint64_t symbol_offset = 0;
};

struct Trace {
  InputLayout inputs;
  std::vector<TraceBuffer> buffers;
  std::vector<TraceOp> ops;
  std::vector<std::string> blobs;
  std::vector<TraceView> outputs;
  Returned returned;

  // From the frame {"kind":"trace",...} and its blobs. `inputs` is what the candidate was given.
  static Result<Trace> parse(const nlohmann::json& frame, std::vector<std::string> blobs,
                             const InputLayout& inputs);
  // The replay program's file of a trace (encoded anew from checked values), and back.
  std::string encode() const;
  static Result<Trace> decode(std::string_view bytes);

  const OutputLayout& output_layout() const { return returned.layout; }
  ProducerCheck check_producers() const;
  int launches() const;
  uint64_t buffer_bytes() const;  // what a replay allocates
};

// The last frame of the direct tier, {"kind":"result",...}: outputs lie in `bytes` as `returned.layout` says.
struct DirectResult {
  Returned returned;
  std::string bytes;
  ProducerCheck check_producers() const;
};
Result<DirectResult> parse_direct_result(const nlohmann::json& frame, std::vector<std::string> blobs);

}  // namespace bicrl
