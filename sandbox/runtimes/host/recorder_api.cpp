// The C interface that recorder.py uses through ctypes. Values cross as flat lists of 64-bit tokens:
//   None 0 | int 1 v | float 2 bits | bool 3 v | str 4 size, bytes padded to 8 | Tensor 5 handle | list 6 n |
//   tuple 7 n
#include <cstring>
#include <stdexcept>

#include "bicrl/check.h"
#include "device_properties.h"
#include "graphs.h"
#include "modules.h"
#include "runtime.h"
#include "streams.h"
#include "value.h"

namespace bicrl {
namespace {

class TokenReader {
 public:
  TokenReader(const int64_t* tokens, size_t count) : at_(tokens), end_(tokens + count) {}
  bool more() const { return at_ < end_; }
  Value read() {
    Value v;
    v.kind = static_cast<Value::Kind>(next());
    switch (v.kind) {
      case Value::Kind::kNone:
        break;
      case Value::Kind::kInt:
      case Value::Kind::kBool:
        v.integer = next();
        break;
      case Value::Kind::kFloat:
        v.real = __builtin_bit_cast(double, next());
        break;
      case Value::Kind::kText: {
        const auto size = static_cast<size_t>(next());
        v.text.assign(reinterpret_cast<const char*>(at_), size);
        at_ += (size + 7) / 8;
        break;
      }
      case Value::Kind::kTensor:
        v.tensor = *reinterpret_cast<at::Tensor*>(next());
        break;
      default:
        v.items.resize(static_cast<size_t>(next()));
        for (Value& item : v.items) item = read();
    }
    return v;
  }

 private:
  int64_t next() { return at_ < end_ ? *at_++ : 0; }
  const int64_t* at_;
  const int64_t* end_;
};

void write_tokens(const Value& v, std::vector<int64_t>& out) {
  out.push_back(static_cast<int64_t>(v.kind));
  switch (v.kind) {
    case Value::Kind::kNone:
      break;
    case Value::Kind::kInt:
    case Value::Kind::kBool:
      out.push_back(v.integer);
      break;
    case Value::Kind::kFloat:
      out.push_back(__builtin_bit_cast(int64_t, v.real));
      break;
    case Value::Kind::kText: {
      out.push_back(static_cast<int64_t>(v.text.size()));
      const size_t at = out.size();
      out.resize(at + (v.text.size() + 7) / 8);
      memcpy(out.data() + at, v.text.data(), v.text.size());
      break;
    }
    case Value::Kind::kTensor:
      out.push_back(reinterpret_cast<int64_t>(new at::Tensor(v.tensor)));
      break;
    default:
      out.push_back(static_cast<int64_t>(v.items.size()));
      for (const Value& item : v.items) write_tokens(item, out);
  }
}

std::string last_text, last_end;
std::vector<int64_t> last_tokens;
// Arguments by position, then by name, then defaults. False if they do not fit.
bool arrange(const BoundFunction& f, std::vector<Value>& values,
             std::vector<std::pair<std::string, Value>>& named) {
  if (values.size() > f.parameters) return false;
  std::vector<bool> given(f.parameters, false);
  for (size_t i = 0; i < values.size(); ++i) given[i] = true;
  values.resize(f.parameters);
  for (auto& [name, value] : named) {
    size_t i = 0;
    while (i < f.named.size() && f.named[i].name != name) ++i;
    if (i >= f.parameters || i >= f.named.size() || given[i]) return false;
    values[i] = std::move(value);
    given[i] = true;
  }
  for (size_t i = 0; i < f.parameters; ++i) {
    if (given[i]) continue;
    if (i >= f.named.size() || !f.named[i].has_default) return false;
    values[i] = f.named[i].value;
  }
  return true;
}

}  // namespace
}  // namespace bicrl

using namespace bicrl;

#define BICRL_API extern "C" __attribute__((visibility("default")))

BICRL_API void bicrl_start(int channel) {
  runtime().channel = channel;
  install_fault_handlers();
}

BICRL_API const char* bicrl_last_text() { return last_text.c_str(); }
BICRL_API const char* bicrl_fault_class() { return runtime().fault.fault_class.c_str(); }
BICRL_API const char* bicrl_fault_message() { return runtime().fault.message.c_str(); }

// Loads a module and binds its functions behind those of earlier ones; -1 with the reason in
// bicrl_last_text(), or a fault.
BICRL_API int64_t bicrl_load(const char* path) {
  try {
    return load_module(path, last_text);
  } catch (const FaultRaised&) {
    last_text = runtime().fault.message;
  } catch (const std::exception& e) {
    last_text = e.what();
  } catch (...) {
    last_text = "the module's start threw something that is no exception";
  }
  return -1;
}

BICRL_API int64_t bicrl_function_count() { return static_cast<int64_t>(bound_functions().size()); }
BICRL_API const char* bicrl_function_name(int64_t index) {
  return bound_functions().at(static_cast<size_t>(index)).name.c_str();
}

// 0 done, results by bicrl_results(); 1 the function threw (RuntimeError); 2 the arguments do not fit
// (TypeError); 3 a fault was raised. `tokens` holds the positional values, then pairs of name and value.
BICRL_API int bicrl_call(int64_t index, const int64_t* tokens, size_t count, size_t positional) {
  const BoundFunction& f = bound_functions().at(static_cast<size_t>(index));
  last_tokens.clear();
  try {
    TokenReader reader(tokens, count);
    std::vector<Value> values;
    std::vector<std::pair<std::string, Value>> named;
    while (reader.more()) {
      Value v = reader.read();
      if (values.size() < positional) {
        values.push_back(std::move(v));
      } else {
        named.emplace_back(v.text, reader.read());
      }
    }
    if (!arrange(f, values, named)) {
      last_text = f.name + "(): incompatible function arguments (the function takes " +
                  std::to_string(f.parameters) + ")";
      return 2;
    }
    std::vector<const Value*> pointers;
    for (const Value& v : values) pointers.push_back(&v);
    Value result;
    f.wrapper(f.function, pointers.data(), result);
    write_tokens(result, last_tokens);
    return 0;
  } catch (const FaultRaised&) {
    return 3;
  } catch (const std::invalid_argument& e) {
    last_text = f.name + "(): " + e.what();
    return 2;
  } catch (const std::exception& e) {
    last_text = e.what();
    return 1;
  } catch (...) {
    last_text = "the extension threw something that is no exception";
    return 1;
  }
}
BICRL_API const int64_t* bicrl_results(size_t* count) {
  *count = last_tokens.size();
  return last_tokens.data();
}

// kind: 0 input, 1 constant, 2 allocation, 3 host memory. -1 if there is no room.
BICRL_API int64_t bicrl_storage_new(int kind, uint64_t bytes, int64_t source) {
  try {
    const int64_t id = new_storage(static_cast<Storage::Kind>(kind), bytes, source);
    retain_storage(id);
    return id;
  } catch (const FaultRaised&) {
    return -1;
  }
}
// Bytes that the host part may read; they must outlive the storage.
BICRL_API void bicrl_storage_values(int64_t id, const void* values) {
  storage(id).values = static_cast<const unsigned char*>(values);
}
// Whether they are what the device has still.
BICRL_API int bicrl_storage_readable(int64_t id) { return readable_values(storage(id)) != nullptr; }
// Another stream than that in which it was made uses it (record_stream): when it is free, nobody gets it
// before that stream is done.
BICRL_API void bicrl_storage_shared(int64_t id) { storage(id).pooled = false; }
// Of host memory.
BICRL_API void bicrl_storage_write(int64_t id, const void* bytes, size_t size) {
  if (size > 0) memcpy(reinterpret_cast<void*>(storage(id).address), bytes, size);
}
BICRL_API void bicrl_storage_read(int64_t id, void* bytes, size_t size) {
  if (size > 0) memcpy(bytes, reinterpret_cast<const void*>(storage(id).address), size);
}
BICRL_API int bicrl_storage_kind(int64_t id) { return static_cast<int>(storage(id).kind); }
BICRL_API uint64_t bicrl_storage_bytes(int64_t id) { return storage(id).bytes; }
BICRL_API uint64_t bicrl_storage_address(int64_t id) { return storage(id).address; }

BICRL_API at::Tensor* bicrl_tensor_new(int64_t storage_id, int type, int64_t offset, size_t dims,
                                       const int64_t* sizes, const int64_t* strides) {
  auto* impl = new TensorImpl;
  impl->storage = storage_id;
  impl->offset = offset;
  impl->type = static_cast<c10::ScalarType>(type);
  impl->sizes.assign(sizes, sizes + dims);
  impl->strides.assign(strides, strides + dims);
  retain_storage(storage_id);
  return new at::Tensor(impl);
}
BICRL_API void bicrl_tensor_free(at::Tensor* tensor) { delete tensor; }
// storage, type, offset, dims, sizes..., strides... (up to 64 dimensions).
BICRL_API size_t bicrl_tensor_describe(const at::Tensor* tensor, int64_t* out) {
  const TensorImpl& t = *tensor->impl();
  const size_t dims = t.sizes.size();
  if (dims > 64) return 0;
  out[0] = t.storage;
  out[1] = static_cast<int64_t>(t.type);
  out[2] = t.offset;
  out[3] = static_cast<int64_t>(dims);
  for (size_t d = 0; d < dims; ++d) {
    out[4 + d] = t.sizes[d];
    out[4 + dims + d] = t.strides[d];
  }
  return 4 + 2 * dims;
}

// 0, or 3 if a fault was raised.
BICRL_API int bicrl_copy(const at::Tensor* target, const at::Tensor* source) {
  try {
    at::Tensor to(*target);
    to.copy_(*source);
    return 0;
  } catch (const FaultRaised&) {
    return 3;
  } catch (const std::exception& e) {
    last_text = e.what();
    return 1;
  }
}
// kind: 'i' integer, 'f' float, 'b' bool.
BICRL_API int bicrl_fill(const at::Tensor* target, int kind, double real, int64_t integer) {
  at::Tensor to(*target);
  to.fill_(kind == 'f' ? c10::Scalar(real) : kind == 'b' ? c10::Scalar(integer != 0) : c10::Scalar(integer));
  return 0;
}
BICRL_API const char* bicrl_trace_view(const at::Tensor* tensor) {
  last_text = view_json(view_of(*tensor));
  return last_text.c_str();
}
BICRL_API void bicrl_empty_cache() { empty_cache(); }
BICRL_API void bicrl_set_fault(const char* fault_class, const char* message) {
  set_fault(fault_class, message);
}
// The error that a call of the runtime has left behind and nobody has fetched; nullptr if there is none.
BICRL_API const char* bicrl_pending_error() {
  return runtime().last_error == cudaSuccess ? nullptr : cudaGetErrorString(runtime().last_error);
}
// Number of operations so far: between two calls of forward, or the constructor and a call. A kernel that was
// given a parameter as something to write to has hardly written there; if it did, a later call's answer is
// judged all the same. What a constructor had computed is another matter.
BICRL_API int64_t bicrl_end_call(int constructor) {
  last_end = end_of_call();
  for (Storage& s : runtime().storages) {
    s.changed |= constructor && s.lent;
    s.lent = false;
  }
  forget_free_memory();
  return static_cast<int64_t>(runtime().ops.size());
}
// What the end of the call that ended last comes after (order_text()); empty: after its last operation.
BICRL_API const char* bicrl_end_after() { return last_end.c_str(); }
// Operations [from, to), `to` at most their number.
BICRL_API const char* bicrl_trace_ops(int64_t from, int64_t to) {
  last_text = "[";
  for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
    if (last_text.size() > 1) last_text += ",";
    last_text += runtime().ops.at(i);
  }
  last_text += "]";
  return last_text.c_str();
}
BICRL_API int64_t bicrl_trace_buffers() { return static_cast<int64_t>(runtime().buffers.size()); }
// kind, bytes, source (of a symbol: its module), storage of buffer number `index`.
BICRL_API void bicrl_trace_buffer(int64_t index, int64_t* out) {
  const Storage& s = storage(runtime().buffers.at(static_cast<size_t>(index)));
  out[0] = static_cast<int64_t>(s.kind);
  out[1] = static_cast<int64_t>(s.bytes);
  out[2] = s.source;
  out[3] = s.id;
}
BICRL_API const char* bicrl_trace_symbol(int64_t index) {
  return storage(runtime().buffers.at(static_cast<size_t>(index))).symbol.c_str();
}
BICRL_API int64_t bicrl_blob_count() { return static_cast<int64_t>(runtime().blobs.size()); }
BICRL_API const char* bicrl_blob(int64_t index, size_t* size) {
  const std::string& blob = runtime().blobs.at(static_cast<size_t>(index));
  *size = blob.size();
  return blob.data();
}

// A property of the device by torch's name for it; -1 if there is none of that name.
BICRL_API int64_t bicrl_device_value(const char* name) {
  const cudaDeviceProp& p = device_table();
  const std::pair<const char*, int64_t> values[] = {
      {"major", p.major},
      {"minor", p.minor},
      {"total_memory", static_cast<int64_t>(p.totalGlobalMem)},
      {"multi_processor_count", p.multiProcessorCount},
      {"max_threads_per_multi_processor", p.maxThreadsPerMultiProcessor},
      {"max_threads_per_block", p.maxThreadsPerBlock},
      {"warp_size", p.warpSize},
      {"shared_memory_per_block", static_cast<int64_t>(p.sharedMemPerBlock)},
      {"shared_memory_per_block_optin", static_cast<int64_t>(p.sharedMemPerBlockOptin)},
      {"shared_memory_per_multiprocessor", static_cast<int64_t>(p.sharedMemPerMultiprocessor)},
      {"regs_per_multiprocessor", p.regsPerMultiprocessor},
      {"L2_cache_size", p.l2CacheSize}};
  for (const auto& [known, value] : values)
    if (strcmp(known, name) == 0) return value;
  return -1;
}
BICRL_API const char* bicrl_device_name() { return device_table().name; }

// Streams and events for Python. Errors are those of the runtime, raised as a fault if there is one.
BICRL_API uint64_t bicrl_stream_new() { return reinterpret_cast<uint64_t>(pool_stream()); }
BICRL_API uint64_t bicrl_stream_current() { return reinterpret_cast<uint64_t>(current_stream()); }
BICRL_API void bicrl_stream_set(uint64_t stream) {
  set_current_stream(reinterpret_cast<cudaStream_t>(stream));
}
BICRL_API int bicrl_stream_synchronize(uint64_t stream) {
  return cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(stream));
}
BICRL_API int bicrl_stream_query(uint64_t stream) {
  return cudaStreamQuery(reinterpret_cast<cudaStream_t>(stream));
}
BICRL_API int bicrl_stream_wait(uint64_t stream, uint64_t event) {
  return cudaStreamWaitEvent(reinterpret_cast<cudaStream_t>(stream), reinterpret_cast<cudaEvent_t>(event), 0);
}
BICRL_API int bicrl_stream_is_captured(uint64_t stream) {
  return is_captured(reinterpret_cast<cudaStream_t>(stream));
}
BICRL_API int bicrl_device_synchronize() { return cudaDeviceSynchronize(); }
BICRL_API uint64_t bicrl_event_new() {
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  return reinterpret_cast<uint64_t>(event);
}
BICRL_API int bicrl_event_record(uint64_t event, uint64_t stream) {
  return cudaEventRecord(reinterpret_cast<cudaEvent_t>(event), reinterpret_cast<cudaStream_t>(stream));
}
BICRL_API int bicrl_event_synchronize(uint64_t event) {
  return cudaEventSynchronize(reinterpret_cast<cudaEvent_t>(event));
}
BICRL_API int bicrl_event_query(uint64_t event) {
  return cudaEventQuery(reinterpret_cast<cudaEvent_t>(event));
}
BICRL_API const char* bicrl_error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

// Captures for Python's graphs, in the current stream.
BICRL_API int bicrl_graph_begin(int mode) {
  return cudaStreamBeginCapture(current_stream(), static_cast<cudaStreamCaptureMode>(mode));
}
// The executable of what was captured.
BICRL_API int bicrl_graph_end(uint64_t* executable) {
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(current_stream(), &graph);
  if (error != cudaSuccess) return error;
  return cudaGraphInstantiateWithFlags(reinterpret_cast<cudaGraphExec_t*>(executable), graph, 0);
}
BICRL_API int bicrl_graph_launch(uint64_t executable) {
  try {
    return cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(executable), current_stream());
  } catch (const FaultRaised&) {
    return cudaErrorUnknown;
  }
}
