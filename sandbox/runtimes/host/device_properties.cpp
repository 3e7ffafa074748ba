#include "device_properties.h"

#include <algorithm>
#include <cstring>

#include "runtime.h"

namespace bicrl {
namespace {

cudaDeviceProp make_table() {
  cudaDeviceProp p{};
  strcpy(p.name, "NVIDIA H100 80GB HBM3");
  p.totalGlobalMem = size_t{80} << 30;
  p.sharedMemPerBlock = kDefaultSharedBytes;
  p.sharedMemPerBlockOptin = kMaxSharedBytes;
  p.sharedMemPerMultiprocessor = 228 << 10;
  p.reservedSharedMemPerBlock = 1024;
  p.totalConstMem = 64 << 10;
  p.memPitch = 2147483647;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.maxThreadsPerBlock = kMaxThreads;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = kMaxThreads;
  p.maxThreadsDim[2] = kMaxBlockDepth;
  for (int d = 0; d < 3; ++d) p.maxGridSize[d] = static_cast<int>(kMaxGrid[d]);
  p.major = 9;
  p.multiProcessorCount = 16;
  p.maxThreadsPerMultiProcessor = 2048;
  p.l2CacheSize = 50 << 20;
  p.persistingL2CacheMaxSize = 32 << 20;
  // So many blocks of a cooperative launch the executor can hold at once.
  p.maxBlocksPerMultiProcessor = 4;
  p.memoryBusWidth = 5120;
  p.asyncEngineCount = 3;
  p.concurrentKernels = p.cooperativeLaunch = p.unifiedAddressing = p.canMapHostMemory = 1;
  p.ECCEnabled = 1;
  return p;
}

}  // namespace

const cudaDeviceProp& device_table() {
  static const cudaDeviceProp table = make_table();
  return table;
}

cudaError_t blocks_per_multiprocessor(int* blocks, int threads, size_t shared_bytes) {
  const cudaDeviceProp& p = device_table();
  if (threads < 1 || threads > p.maxThreadsPerBlock) return noted(cudaErrorInvalidValue);
  int n = p.maxThreadsPerMultiProcessor / threads;
  if (shared_bytes > 0) n = std::min(n, static_cast<int>(p.sharedMemPerMultiprocessor / shared_bytes));
  *blocks = std::min(n, p.maxBlocksPerMultiProcessor);
  return cudaSuccess;
}

cudaError_t potential_block_size(int* grid, int* block, int limit) {
  const cudaDeviceProp& p = device_table();
  *block = limit > 0 ? std::min(limit, p.maxThreadsPerBlock) : p.maxThreadsPerBlock;
  *grid =
      p.multiProcessorCount * std::min(p.maxThreadsPerMultiProcessor / *block, p.maxBlocksPerMultiProcessor);
  return cudaSuccess;
}

}  // namespace bicrl

using namespace bicrl;

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return noted(cudaErrorInvalidDevice);
  const cudaDeviceProp& p = device_table();
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
    case cudaDevAttrMaxBlockDimZ:
      return *value = p.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX], cudaSuccess;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return *value = p.maxGridSize[attribute - cudaDevAttrMaxGridDimX], cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return *value = static_cast<int>(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrTotalConstantMemory:
      return *value = static_cast<int>(p.totalConstMem), cudaSuccess;
    case cudaDevAttrWarpSize:
      return *value = p.warpSize, cudaSuccess;
    case cudaDevAttrMaxRegistersPerBlock:
      return *value = p.regsPerBlock, cudaSuccess;
    case cudaDevAttrClockRate:
      return *value = 1980000, cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrConcurrentKernels:
      return *value = p.concurrentKernels, cudaSuccess;
    case cudaDevAttrMemoryClockRate:
      return *value = 2619000, cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      return *value = p.memoryBusWidth, cudaSuccess;
    case cudaDevAttrL2CacheSize:
      return *value = p.l2CacheSize, cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return *value = p.maxThreadsPerMultiProcessor, cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
      return *value = p.unifiedAddressing, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      return *value = p.minor, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return *value = static_cast<int>(p.sharedMemPerMultiprocessor), cudaSuccess;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return *value = p.regsPerMultiprocessor, cudaSuccess;
    case cudaDevAttrCooperativeLaunch:
      return *value = p.cooperativeLaunch, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return *value = static_cast<int>(p.sharedMemPerBlockOptin), cudaSuccess;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return *value = p.maxBlocksPerMultiProcessor, cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return *value = static_cast<int>(p.reservedSharedMemPerBlock), cudaSuccess;
  }
  return noted(cudaErrorInvalidValue);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return noted(cudaErrorInvalidDevice);
  *properties = device_table();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : noted(cudaErrorInvalidDevice); }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDA_VERSION, cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  constexpr size_t kMaxStack = 512 << 10;  // of a thread
  switch (limit) {
    case cudaLimitStackSize:
      return value <= kMaxStack ? cudaSuccess : noted(cudaErrorInvalidValue);
    case cudaLimitPrintfFifoSize:
    case cudaLimitMallocHeapSize:
    case cudaLimitPersistingL2CacheSize:
      return value <= device_table().totalGlobalMem ? cudaSuccess : noted(cudaErrorMemoryAllocation);
  }
  return noted(cudaErrorUnsupportedLimit);
}
cudaError_t cudaDeviceReset() {
  raise_fault("illegal_access", "cudaDeviceReset destroys PyTorch's context and all tensors with it");
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = size_t{64} << 30;
  *total_bytes = device_table().totalGlobalMem;
  return cudaSuccess;
}

namespace at::cuda {
const cudaDeviceProp* getCurrentDeviceProperties() { return &device_table(); }
}  // namespace at::cuda
