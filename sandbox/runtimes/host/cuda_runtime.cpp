// The CUDA runtime API on storages: memory, symbols, streams and events, errors.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device_table.h"
#include "modules.h"
#include "runtime.h"

namespace bicrl {
namespace {

cudaError_t fail_with(cudaError_t error) { return runtime().last_error = error; }

View bytes_of(const Storage& s, const void* address, size_t bytes) {
  View v;
  v.storage = s.id;
  v.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) - s.address);
  v.type = c10::ScalarType::Byte;
  v.sizes = {static_cast<int64_t>(bytes)};
  v.strides = {1};
  return v;
}

bool fits(const Storage& s, const void* address, size_t bytes) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - s.address;
  return offset <= s.bytes && bytes <= s.bytes - offset;
}

cudaError_t copy_bytes(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  Storage* to = find_storage(target);
  Storage* from = find_storage(source);
  const bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
  if ((to && (to_host || !fits(*to, target, bytes))) || (from && !fits(*from, source, bytes)))
    return fail_with(cudaErrorInvalidValue);
  if (!to && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice))
    return fail_with(cudaErrorInvalidValue);
  if (to && from) {
    operate_copy(bytes_of(*to, target, bytes), bytes_of(*from, source, bytes));
  } else if (to) {
    operate_upload(to->id, reinterpret_cast<uintptr_t>(target) - to->address, source, bytes);
  } else if (from) {
    const unsigned char* values = readable_values(*from);
    if (!values) raise_fault("host_read", "the host part reads device data (cudaMemcpy)");
    memcpy(target, values + (reinterpret_cast<uintptr_t>(source) - from->address), bytes);
  } else {
    memmove(target, source, bytes);
  }
  return cudaSuccess;
}

// The device's copy of a variable; nullptr if the address is of none.
Storage* symbol_storage(const void* address) {
  const SymbolPlace place = find_variable(address);
  if (!place.symbol) return nullptr;
  Runtime& r = runtime();
  for (Storage& s : r.storages)
    if (s.kind == Storage::Kind::kSymbol && s.source == place.module && s.symbol == place.symbol->name)
      return &s;
  const int64_t id = new_storage(Storage::Kind::kSymbol, place.symbol->bytes, place.module);
  retain_storage(id);
  storage(id).symbol = place.symbol->name;
  return &storage(id);
}

}  // namespace

cudaError_t allocate(void** pointer, size_t bytes) {
  const int64_t id = new_storage(Storage::Kind::kAllocation, bytes);
  retain_storage(id);
  *pointer = reinterpret_cast<void*>(storage(id).address);
  return cudaSuccess;
}

cudaError_t allocate_host(void** pointer, size_t bytes) {
  *pointer = malloc(bytes);
  return *pointer ? cudaSuccess : fail_with(cudaErrorMemoryAllocation);
}

cudaError_t free_host(void* pointer) {
  free(pointer);
  return cudaSuccess;
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > static_cast<int>(kMaxSharedBytes)) return fail_with(cudaErrorInvalidValue);
  auto& limits = runtime().shared_limits;
  const int limit = std::max(value, static_cast<int>(kDefaultSharedBytes));
  for (auto& [known, old] : limits)
    if (known == kernel) {
      old = limit;
      return cudaSuccess;
    }
  limits.emplace_back(kernel, limit);
  return cudaSuccess;
}

cudaError_t get_attributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (!find_function(kernel).symbol) return fail_with(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = static_cast<int>(kMaxThreads);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(kDefaultSharedBytes);
  for (const auto& [known, limit] : runtime().shared_limits)
    if (known == kernel) attributes->maxDynamicSharedSizeBytes = limit;
  return cudaSuccess;
}

cudaError_t copy_to_symbol(const void* symbol, const void* source, size_t bytes, size_t offset) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return fail_with(cudaErrorInvalidSymbol);
  return copy_bytes(reinterpret_cast<char*>(s->address) + offset, source, bytes, cudaMemcpyDefault);
}

cudaError_t copy_from_symbol(void* target, const void* symbol, size_t bytes, size_t offset) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return fail_with(cudaErrorInvalidSymbol);
  return copy_bytes(target, reinterpret_cast<const char*>(s->address) + offset, bytes, cudaMemcpyDefault);
}

cudaError_t symbol_address(void** pointer, const void* symbol) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return fail_with(cudaErrorInvalidSymbol);
  *pointer = reinterpret_cast<void*>(s->address);
  return cudaSuccess;
}

cudaError_t symbol_size(size_t* bytes, const void* symbol) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return fail_with(cudaErrorInvalidSymbol);
  *bytes = s->bytes;
  return cudaSuccess;
}

}  // namespace bicrl

using namespace bicrl;

extern "C" {
cudaError_t cudaGetLastError() {
  const cudaError_t error = runtime().last_error;
  runtime().last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return runtime().last_error; }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidSymbol:
      return "invalid device symbol";
    case cudaErrorInvalidDeviceFunction:
      return "invalid device function";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    default:
      return "unknown error";
  }
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : cudaGetErrorString(error);
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemset(void* target, int value, size_t bytes) {
  Storage* s = find_storage(target);
  if (!s || !fits(*s, target, bytes)) return fail_with(cudaErrorInvalidValue);
  if (bytes > 0) operate_fill(bytes_of(*s, target, bytes), c10::Scalar(value & 0xff));
  return cudaSuccess;
}
cudaError_t cudaMemset2D(void* target, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemset(static_cast<char*>(target) + row * pitch, value, width);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return copy_bytes(target, source, bytes, kind);
}
cudaError_t cudaMemcpy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error = copy_bytes(static_cast<char*>(target) + row * target_pitch,
                                         static_cast<const char*>(source) + row * source_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  Storage* s = find_storage(pointer);
  if (!s || s->address != reinterpret_cast<uintptr_t>(pointer)) return fail_with(cudaErrorInvalidValue);
  // What allocate() made is gone: its address is nobody's. Pointers to it may also lie in memory that nobody
  // sees here, so the executor takes it away as well.
  if (s->references == 1) {
    if (s->buffer >= 0) record_operation("{\"op\":\"free\",\"buffer\":" + std::to_string(s->buffer) + "}");
    runtime().by_address.erase(s->address);
  }
  release_storage(s->id);
  return cudaSuccess;
}
}

cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t) {
  return cudaMemset(target, value, bytes);
}
cudaError_t cudaMemset2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t) {
  return cudaMemset2D(target, pitch, value, width, height);
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(target, source, bytes, kind);
}
cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(target, target_pitch, source, source_pitch, width, height, kind);
}

namespace {
// Streams and events are numbers that are not null.
uintptr_t next_handle = 0x100;
}  // namespace
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = reinterpret_cast<cudaStream_t>(next_handle += 8);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(next_handle += 8);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0.001f;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
