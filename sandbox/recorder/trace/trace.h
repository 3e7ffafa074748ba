// The launch trace: what a candidate's host part would do on a GPU, as recorded in a box. It comes from a
// process that ran candidate code, so it is a claim: parse() checks every size, index and range, and nothing
// follows from a trace but which of the candidate's own kernels run on what. Plain values, no shared state.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
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
  kBool,
  kFloat8E4M3,
  kFloat8E5M2
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
  bool is_row_major() const;  // one element behind the other, in order
};
// From {"t":"tensor","shape":[],"strides":[],"dtype":""}; strides may be absent (contiguous).
Result<TensorLayout> parse_tensor_layout(const nlohmann::json& spec);

// ---- Inputs. The leaves are the tensors of the input specs in depth-first order. A leaf's bytes are its
// storage from the first to the last element (span_bytes), gaps included. Test inputs and leaves start at
// multiples of 64.
struct InputLayout {
  struct Leaf {
    TensorLayout tensor;
    uint64_t offset_bytes = 0;  // within a test input
    uint64_t bytes = 0;
  };
  std::vector<Leaf> leaves;
  uint64_t total_bytes = 0;
};
Result<InputLayout> input_layout(const nlohmann::json& input_specs);  // the array "inputs" of the run frame
// A run of bytes of a leaf.
struct InputBytes {
  uint32_t leaf = 0;
  uint64_t begin = 0, end = 0;
};
// The executor's file of inputs. test_inputs[d][leaf] are the bytes of a leaf. Fails if a size differs.
Result<std::string> encode_inputs(const InputLayout& layout,
                                  const std::vector<std::vector<std::string>>& test_inputs);

// ---- Outputs. The leaves are the tensors of the returned value in depth-first order, stored contiguously.
struct OutputLayout {
  struct Leaf {
    DType dtype = DType::kFloat32;
    std::vector<int64_t> sizes;
    uint64_t offset_bytes = 0;  // within a test input
    uint64_t bytes = 0;
    size_t numel() const { return bytes / element_bytes(dtype); }
  };
  std::vector<Leaf> leaves;
  uint64_t total_bytes = 0;
  size_t numel() const;  // of all leaves
};

// What the host part returned: `structure` is the returned value as a spec ({"t":"tensor","shape","strides",
// "dtype"} | int | float | bool | str | none | list | tuple | dict), so it compares with the reference's.
struct Returned {
  nlohmann::json structure;
  OutputLayout layout;
};

struct TraceBuffer {
  enum class Kind : uint8_t { kInput, kConstant, kAllocation, kSymbol };
  Kind kind = Kind::kAllocation;
  uint64_t bytes = 0;
  uint32_t source = 0;   // leaf of the inputs; index of the blob; module of the symbol
  uint32_t tensors = 0;  // kInput: of which set of input tensors, see TraceRepeat
  std::string symbol;    // mangled name of a __device__ or __constant__ variable
};

struct TraceView {
  uint32_t buffer = 0;
  uint64_t offset_bytes = 0;
  TensorLayout tensor;
};

struct TraceRelocation {
  uint32_t offset = 0;  // of the pointer within the bytes that hold it
  uint32_t buffer = 0;
  uint64_t addend = 0;  // bytes from the start of the buffer
};

// What an operation, or the end of a call, comes directly after on a device: how many operations before it
// these stand in the trace. Nothing: after the operation before it. What stands before the call comes first.
using TraceOrder = std::optional<std::vector<uint32_t>>;

struct TraceOp {
  enum class Kind : uint8_t { kLaunch, kFill, kCopy, kUpload, kFree };
  Kind kind = Kind::kLaunch;
  TraceOrder after;
  uint32_t stream = 0;  // in which the host part says it is, or the branch of a graph; 0: the legacy stream
  // kLaunch
  uint32_t module = 0;  // number of the load_inline call
  std::string entry;    // mangled name of the kernel's instance
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  uint32_t shared_limit = 0;  // of its dynamic shared memory, as the host part has set it
  bool cooperative = false;
  std::string arguments;
  // kFree: target.buffer; kFill: target <- value (one element); kCopy: target <- source, converting; kUpload:
  // target <- blob
  TraceView target, source;
  std::string value;
  uint32_t blob = 0;
  std::vector<TraceRelocation> relocations;  // of the arguments, or of the uploaded bytes

  uint64_t blocks() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }  // of kLaunch
};

// A further call of forward, with other contents of its inputs, in the memory that the calls before it have
// left: it shows what a program keeps from one call to the next.
struct TraceRepeat {
  uint32_t tensors = 0;  // which set of input tensors it gets; the first call has set 0
  std::vector<TraceOp> ops;
  TraceOrder end_after;
  std::vector<TraceView> outputs;
  Returned returned;
};

// Every recording has so many repeats, and a run executes them wherever they count; further ones where they
// cost little.
inline constexpr size_t kCertainRepeats = 2;
inline constexpr size_t kMaxRepeats = 15;

struct Trace {
  InputLayout inputs;
  std::vector<TraceBuffer> buffers;
  std::vector<TraceOp> ops;     // of the constructor and the first call
  size_t construction_ops = 0;  // how many of them are the constructor's
  TraceOrder end_after;         // the end of the first call, when others may read its outputs
  std::vector<std::string> blobs;
  std::vector<TraceView> outputs;
  Returned returned;
  std::vector<TraceRepeat> repeats;

  // From the frame {"kind":"trace",...} and its blobs. `inputs` is what the candidate was given.
  static Result<Trace> parse(const nlohmann::json& frame, std::vector<std::string> blobs,
                             const InputLayout& inputs);
  // The executor's file of a trace (encoded anew from checked values), and back.
  std::string encode() const;
  static Result<Trace> decode(std::string_view bytes);
  // All launches, and no other operation, order or bytes: parameters may take hundreds of MiB. Fit to be
  // checked for what a device can launch, not to be run.
  Trace copy_launches() const;

  const OutputLayout& output_layout() const { return returned.layout; }
  int launches() const;                                 // without those of repeats
  std::vector<const TraceOp*> kernel_launches() const;  // likewise, in order
  uint32_t modules() const;                             // that launches and symbols name, at least
  uint64_t uploaded_bytes() const;  // from the host part, in all calls but those behind the certain repeats
  uint64_t buffer_bytes() const;    // what a run allocates, with the certain repeats if they must be executed
};

}  // namespace bicrl
