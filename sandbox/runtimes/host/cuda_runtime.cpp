// The CUDA runtime API on storages: memory, symbols, errors. What comes without a stream goes to the legacy
// one.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "device_properties.h"
#include "graphs.h"
#include "modules.h"
#include "runtime.h"
#include "streams.h"

namespace bicrl {
namespace {

std::set<void*> pinned;  // host memory that the runtime gave

View bytes_of(const Storage& s, const void* address, size_t bytes) {
  View v;
  v.storage = s.id;
  v.offset = static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) - s.address);
  v.type = c10::ScalarType::Byte;
  v.sizes = {static_cast<int64_t>(bytes)};
  v.strides = {1};
  return v;
}

// A driver looks at the allocator's segments only, so what misses a buffer's end hits its neighbour.
void require_fit(const Storage& s, const void* address, size_t bytes, const char* function) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - s.address;
  if (offset > s.bytes || bytes > s.bytes - offset)
    raise_fault("illegal_access", std::string(function) + " of " + std::to_string(bytes) +
                                      " bytes reaches beyond the end of a buffer");
}

// A piece of memory; rows of a rectangle follow each other.
struct Piece {
  cudaStream_t stream;
  size_t pitch, width, height;
};

cudaError_t fill_bytes(void* target, int value, const Piece& piece) {
  const cudaError_t refusal = admit(piece.stream);
  if (refusal != cudaSuccess) return noted(refusal);
  if (piece.height > 1 && piece.width > piece.pitch) return noted(cudaErrorInvalidValue);
  const OnStream on(piece.stream);
  for (size_t row = 0; row < piece.height; ++row) {
    const char* start = static_cast<char*>(target) + row * piece.pitch;
    const Storage* s = find_storage(start);
    if (!s) return noted(cudaErrorInvalidValue);
    require_fit(*s, start, piece.width, "cudaMemset");
    if (piece.width > 0) operate_fill(bytes_of(*s, start, piece.width), c10::Scalar(value & 0xff));
  }
  return cudaSuccess;
}

cudaError_t copy_bytes(cudaStream_t stream, void* target, const void* source, size_t bytes,
                       cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  const cudaError_t refusal = admit(stream);
  if (refusal != cudaSuccess) return noted(refusal);
  const OnStream on(stream);
  Storage* to = find_storage(target);
  Storage* from = find_storage(source);
  const bool to_host = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return noted(cudaErrorInvalidMemcpyDirection);
  if (to) require_fit(*to, target, bytes, "cudaMemcpy");
  if (from) require_fit(*from, source, bytes, "cudaMemcpy");
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_host = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if ((to ? to_host : to_device) || (from ? from_host : from_device)) return noted(cudaErrorInvalidValue);
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

// The host waits where it has one of the ends: not for a copy from device memory to device memory.
cudaError_t wait_for_copy(const void* target, const void* source) {
  if (find_storage(target) && find_storage(source)) return cudaSuccess;
  return noted(ask_stream(nullptr, Host::kWaits));
}

// A copy in the legacy stream.
cudaError_t copy_and_wait(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t refusal = refuse_in_captures(false);
  if (refusal != cudaSuccess) return noted(refusal);
  const cudaError_t error = copy_bytes(nullptr, target, source, bytes, kind);
  return error == cudaSuccess ? wait_for_copy(target, source) : error;
}

cudaError_t copy_rows(void* target, const void* source, const Piece& to, size_t source_pitch,
                      cudaMemcpyKind kind) {
  if (to.width > to.pitch || to.width > source_pitch) return noted(cudaErrorInvalidPitchValue);
  for (size_t row = 0; row < to.height; ++row) {
    const cudaError_t error =
        copy_bytes(to.stream, static_cast<char*>(target) + row * to.pitch,
                   static_cast<const char*>(source) + row * source_pitch, to.width, kind);
    if (error != cudaSuccess) return error;
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

cudaError_t allocate_on_device(void** pointer, size_t bytes) {
  const cudaError_t refusal = refuse_in_captures(false);
  return refusal == cudaSuccess ? allocate(pointer, bytes) : noted(refusal);
}

cudaError_t release(void* pointer) {
  if (!pointer) return cudaSuccess;
  Storage* s = find_storage(pointer);
  if (!s || s->address != reinterpret_cast<uintptr_t>(pointer)) return noted(cudaErrorInvalidValue);
  if (is_captured(stream_in_effect())) return cudaSuccess;  // the graph keeps its memory
  // It is gone, whatever tensors were made over it: its address is nobody's. Pointers to it may also lie in
  // memory that nobody sees here, so the executor takes it away as well.
  if (s->buffer >= 0) record_operation("{\"op\":\"free\",\"buffer\":" + std::to_string(s->buffer) + "}");
  runtime().by_address.erase(s->address);
  release_storage(s->id);
  return cudaSuccess;
}

cudaError_t release_in_order(void* pointer, cudaStream_t stream) {
  const cudaError_t refusal = admit(stream);
  if (refusal != cudaSuccess) return noted(refusal);
  const OnStream on(stream);
  return release(pointer);
}

cudaError_t allocate_host(void** pointer, size_t bytes) {
  *pointer = malloc(bytes);
  if (!*pointer) return noted(cudaErrorMemoryAllocation);
  pinned.insert(*pointer);
  return cudaSuccess;
}

cudaError_t free_host(void* pointer) {
  if (!pointer) return cudaSuccess;
  if (!pinned.erase(pointer)) return noted(cudaErrorInvalidValue);
  free(pointer);
  return cudaSuccess;
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (!find_function(kernel).symbol) return noted(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
    return value >= -1 && value <= 100 ? cudaSuccess : noted(cudaErrorInvalidValue);
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return noted(cudaErrorInvalidValue);
  if (value < 0 || value > static_cast<int>(kMaxSharedBytes)) return noted(cudaErrorInvalidValue);
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

cudaError_t set_cache_config(const void* kernel, cudaFuncCache config) {
  if (!find_function(kernel).symbol) return noted(cudaErrorInvalidDeviceFunction);
  return config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual
             ? cudaSuccess
             : noted(cudaErrorInvalidValue);
}

cudaError_t get_attributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (!find_function(kernel).symbol) return noted(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = static_cast<int>(kMaxThreads);
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(kDefaultSharedBytes);
  for (const auto& [known, limit] : runtime().shared_limits)
    if (known == kernel) attributes->maxDynamicSharedSizeBytes = limit;
  return cudaSuccess;
}

cudaError_t copy_to_symbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                           cudaMemcpyKind kind) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return noted(cudaErrorInvalidSymbol);
  return copy_and_wait(reinterpret_cast<char*>(s->address) + offset, source, bytes, kind);
}

cudaError_t copy_to_symbol_on(cudaStream_t stream, const void* symbol, const void* source, size_t bytes,
                              size_t offset, cudaMemcpyKind kind) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return noted(cudaErrorInvalidSymbol);
  return copy_bytes(stream, reinterpret_cast<char*>(s->address) + offset, source, bytes, kind);
}

cudaError_t copy_from_symbol(void* target, const void* symbol, size_t bytes, size_t offset,
                             cudaMemcpyKind kind) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return noted(cudaErrorInvalidSymbol);
  return copy_and_wait(target, reinterpret_cast<const char*>(s->address) + offset, bytes, kind);
}

cudaError_t symbol_address(void** pointer, const void* symbol) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return noted(cudaErrorInvalidSymbol);
  *pointer = reinterpret_cast<void*>(s->address);
  return cudaSuccess;
}

cudaError_t symbol_size(size_t* bytes, const void* symbol) {
  const Storage* s = symbol_storage(symbol);
  if (!s) return noted(cudaErrorInvalidSymbol);
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
    case cudaErrorInvalidPitchValue:
      return "invalid pitch argument";
    case cudaErrorInvalidMemcpyDirection:
      return "invalid copy direction for memcpy";
    case cudaErrorUnsupportedLimit:
      return "limit is not supported on this architecture";
    case cudaErrorNotPermitted:
      return "operation not permitted";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorIllegalState:
      return "the operation cannot be performed in the present state";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureMerge:
      return "operation would result in a merge of separate capture sequences";
    case cudaErrorStreamCaptureUnmatched:
      return "capture was not ended in the same stream as it began";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorStreamCaptureImplicit:
      return "operation would make the legacy stream depend on a capturing blocking stream";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
    default:
      return "unknown error";
  }
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : cudaGetErrorString(error);
}
cudaError_t cudaMemset(void* target, int value, size_t bytes) {
  return fill_bytes(target, value, {nullptr, bytes, bytes, 1});
}
cudaError_t cudaMemset2D(void* target, size_t pitch, int value, size_t width, size_t height) {
  return fill_bytes(target, value, {nullptr, pitch, width, height});
}
cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return copy_and_wait(target, source, bytes, kind);
}
cudaError_t cudaMemcpy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  const cudaError_t refusal = refuse_in_captures(false);
  if (refusal != cudaSuccess) return noted(refusal);
  const cudaError_t error =
      copy_rows(target, source, {nullptr, target_pitch, width, height}, source_pitch, kind);
  return error == cudaSuccess ? wait_for_copy(target, source) : error;
}
cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  const cudaError_t refusal = refuse_in_captures(false);
  if (refusal != cudaSuccess) return noted(refusal);
  wait_for_device();
  return release(pointer);
}
}

cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream) {
  return fill_bytes(target, value, {stream, bytes, bytes, 1});
}
cudaError_t cudaMemset2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return fill_bytes(target, value, {stream, pitch, width, height});
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_bytes(stream, target, source, bytes, kind);
}
cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows(target, source, {stream, target_pitch, width, height}, source_pitch, kind);
}
