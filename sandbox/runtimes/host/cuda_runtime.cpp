// The CUDA runtime API on recorded or direct storages.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bicrl/check.h"
#include "engine.h"
#include "runtime.h"
#include "shared_memory.h"

namespace bicrl {
namespace {

constexpr cudaDeviceProp kDevice = {"NVIDIA H100 80GB HBM3",
                                    85899345920,
                                    49152,
                                    kMaxSharedBytes,
                                    233472,
                                    65536,
                                    65536,
                                    32,
                                    1024,
                                    {1024, 1024, 64},
                                    {2147483647, 65535, 65535},
                                    9,
                                    0,
                                    132,
                                    2048,
                                    52428800,
                                    32};

cudaError_t set_error(cudaError_t error) {
  if (error != cudaSuccess) runtime().last_error = error;
  return error;
}

cudaError_t take_error() {
  const cudaError_t error = runtime().last_error;
  runtime().last_error = cudaSuccess;
  return error;
}

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
  return reinterpret_cast<uintptr_t>(address) - s.address + bytes <= s.bytes;
}

void no_kernel(const char* what) {
  if (kernel_running()) raise_fault("unsupported", std::string(what) + " in device code");
}

cudaError_t copy_bytes(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return cudaSuccess;
  Storage* to = find_storage(target);
  Storage* from = find_storage(source);
  if ((to && !fits(*to, target, bytes)) || (from && !fits(*from, source, bytes)))
    return set_error(cudaErrorInvalidValue);
  if (!to && kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyHostToHost && in_module(target))
    return copy_to_symbol(target, source, bytes, 0, cudaMemcpyDefault);
  if (to && from) {
    operate_copy(bytes_of(*to, target, bytes), bytes_of(*from, source, bytes));
  } else if (to) {
    operate_upload(to->id, reinterpret_cast<uintptr_t>(target) - to->address, source, bytes);
  } else if (from) {
    if (runtime().mode == Mode::kRecord) raise_fault("needs_data", "cudaMemcpy reads device data");
    DeviceAccess access;
    memcpy(target, source, bytes);
  } else {
    memcpy(target, source, bytes);
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t allocate(void** pointer, size_t bytes) {
  no_kernel("an allocation");
  const int64_t id = new_storage(Storage::Kind::kAllocation, bytes);
  retain_storage(id);
  *pointer = reinterpret_cast<void*>(storage(id).address);
  return cudaSuccess;
}

cudaError_t allocate_host(void** pointer, size_t bytes) {
  *pointer = malloc(bytes);
  return *pointer ? cudaSuccess : set_error(cudaErrorMemoryAllocation);
}

cudaError_t free_host(void* pointer) {
  free(pointer);
  return cudaSuccess;
}

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || value > static_cast<int>(kMaxSharedBytes)) return set_error(cudaErrorInvalidValue);
  auto& limits = runtime().shared_limits;
  for (auto& [known, limit] : limits)
    if (known == kernel) {
      limit = std::max(value, static_cast<int>(kDefaultSharedLimit));
      return cudaSuccess;
    }
  limits.emplace_back(kernel, std::max(value, static_cast<int>(kDefaultSharedLimit)));
  return cudaSuccess;
}

cudaError_t copy_to_symbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                           cudaMemcpyKind) {
  Runtime& r = runtime();
  if (!in_module(symbol)) return set_error(cudaErrorInvalidValue);
  auto* target = static_cast<unsigned char*>(const_cast<void*>(symbol)) + offset;
  Storage* from = find_storage(source);
  if (from && !fits(*from, source, bytes)) return set_error(cudaErrorInvalidValue);
  if (r.mode == Mode::kDirect) {
    DeviceAccess access;
    memcpy(target, source, bytes);
    return cudaSuccess;
  }
  const std::string place =
      ",\"symbol\":" + std::to_string(reinterpret_cast<uintptr_t>(target) - r.module_base) +
      ",\"bytes\":" + std::to_string(bytes);
  if (from) {
    r.ops.push_back("{\"op\":\"symbol_copy\"" + place +
                    ",\"source\":" + view_json(bytes_of(*from, source, bytes)) + "}");
  } else {
    if (contains_device_pointer(source, bytes))
      raise_fault("unsupported", "the program copies device pointers into a global variable");
    r.ops.push_back("{\"op\":\"symbol_upload\"" + place +
                    ",\"blob\":" + std::to_string(add_blob(source, bytes)) + "}");
  }
  return cudaSuccess;
}

cudaError_t copy_from_symbol(void* target, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
  if (runtime().mode == Mode::kRecord) raise_fault("needs_data", "cudaMemcpyFromSymbol reads device data");
  DeviceAccess access;
  memcpy(target, static_cast<const unsigned char*>(symbol) + offset, bytes);
  return cudaSuccess;
}

cudaError_t blocks_per_multiprocessor(int* blocks, int threads, size_t shared_bytes) {
  if (threads < 1 || threads > 1024) return set_error(cudaErrorInvalidValue);
  int n = 2048 / threads;
  if (shared_bytes > 0) n = std::min(n, static_cast<int>(233472 / shared_bytes));
  *blocks = std::min(n, 32);
  return cudaSuccess;
}

}  // namespace bicrl

using namespace bicrl;

extern "C" {
cudaError_t cudaGetLastError() { return take_error(); }
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
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    default:
      return "unknown error";
  }
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : cudaGetErrorString(error);
}
cudaError_t cudaDeviceSynchronize() {
  no_kernel("cudaDeviceSynchronize");
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : set_error(cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = 49152;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = 233472;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(kMaxSharedBytes);
      break;
    default:
      return set_error(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = kDevice;
  return cudaSuccess;
}
cudaError_t cudaMemset(void* target, int value, size_t bytes) {
  Storage* s = find_storage(target);
  if (!s || !fits(*s, target, bytes)) return set_error(cudaErrorInvalidValue);
  if (bytes > 0) operate_fill(bytes_of(*s, target, bytes), c10::Scalar(value & 0xff));
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
  if (!s || s->address != reinterpret_cast<uintptr_t>(pointer)) return set_error(cudaErrorInvalidValue);
  release_storage(s->id);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = size_t{64} << 30;
  *total_bytes = kDevice.totalGlobalMem;
  return cudaSuccess;
}
}

cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t) {
  return cudaMemset(target, value, bytes);
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(target, source, bytes, kind);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
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
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0.001f;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

namespace at::cuda {
const cudaDeviceProp* getCurrentDeviceProperties() { return &kDevice; }
}  // namespace at::cuda
