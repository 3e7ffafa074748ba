// A kernel launch by the candidate's host part: checked as a GPU's driver checks it, then written down.
#include "bicrl/launch.h"

#include <cstdlib>
#include <cstring>

#include "device_properties.h"
#include "graphs.h"
#include "modules.h"
#include "runtime.h"
#include "sandbox/frontend/device/entry_names.h"
#include "streams.h"

namespace bicrl {
namespace {

// Longest argument block that CUDA takes.
constexpr unsigned kMaxArgumentBytes = 32764;

std::string triple(const dim3& d) {
  return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]";
}

uint64_t shared_limit(const void* kernel) {
  for (const auto& [known, limit] : runtime().shared_limits)
    if (known == kernel) return static_cast<uint64_t>(limit);
  return kDefaultSharedBytes;
}

// Only what a device's driver itself refuses; what depends on the kernel's code is for the executor.
const char* violated_limit(const LaunchConfig& config, uint64_t shared_bytes_limit) {
  const dim3 &grid = config.grid, &block = config.block;
  if (!grid.x || !grid.y || !grid.z) return "the grid is empty";
  if (!block.x || !block.y || !block.z) return "the block is empty";
  if (grid.x > kMaxGrid[0] || grid.y > kMaxGrid[1] || grid.z > kMaxGrid[2]) return "the grid is too large";
  if (block.x > kMaxThreads || block.y > kMaxThreads || block.z > kMaxThreads ||
      uint64_t{block.x} * block.y * block.z > kMaxThreads)
    return "more than 1024 threads in a block";
  if (block.z > kMaxBlockDepth) return "a block is deeper than 64 threads";
  if (config.shared_bytes > shared_bytes_limit) return "more dynamic shared memory than allowed";
  return nullptr;
}

ParameterList described{};
bool has_description = false;

}  // namespace

cudaError_t launch_bytes(const LaunchConfig& config, const void* kernel, const unsigned char* arguments,
                         const ParameterList& parameters) {
  Runtime& r = runtime();
  const SymbolPlace place = find_function(kernel);
  if (!place.symbol) {
    set_fault("launch", "the program launches something that is no kernel of its own");
    return r.last_error = cudaErrorInvalidDeviceFunction;
  }
  const uint64_t limit = shared_limit(kernel);
  const char* violation = violated_limit(config, limit);
  if (!violation && parameters.bytes > kMaxArgumentBytes) violation = "too many argument bytes";
  if (violation) {
    set_fault("launch", readable_name(place.symbol->name) + ": " + violation + " (grid " +
                            triple(config.grid) + ", block " + triple(config.block) + ", shared " +
                            std::to_string(config.shared_bytes) + ")");
    return r.last_error = cudaErrorInvalidConfiguration;
  }
  const cudaError_t refusal = admit(config.stream);
  if (refusal != cudaSuccess) return r.last_error = refusal;
  PointerScan scan(arguments, parameters.bytes);
  for (unsigned i = 0; i < parameters.count; ++i) {
    const Parameter& p = parameters.of[i];
    if (p.kind == 'p' || p.kind == 'c') {
      scan.pointer(p.offset, p.kind == 'p', true);
    } else {
      // Pointers hide in structures, and in integers that a kernel casts.
      scan.all_words((p.offset + 7) & ~7u, p.offset + p.bytes);
    }
  }
  const OnStream on(config.stream);
  record_operation(
      "{\"op\":\"launch\",\"module\":" + std::to_string(place.module) + ",\"entry\":\"" + place.symbol->name +
      "\",\"grid\":" + triple(config.grid) + ",\"block\":" + triple(config.block) +
      ",\"shared\":" + std::to_string(config.shared_bytes) + ",\"shared_limit\":" + std::to_string(limit) +
      ",\"cooperative\":" + (config.cooperative ? "true" : "false") + ",\"args\":\"" + hex_of(scan.bytes()) +
      "\",\"relocations\":" + scan.relocations() + "}");
  return cudaSuccess;
}

cudaError_t launch_pointers(const LaunchConfig& config, const void* kernel, void** arguments,
                            const ParameterList& parameters) {
  std::string bytes(parameters.bytes, '\0');
  for (unsigned i = 0; i < parameters.count; ++i)
    memcpy(bytes.data() + parameters.of[i].offset, arguments[i], parameters.of[i].bytes);
  return launch_bytes(config, kernel, reinterpret_cast<const unsigned char*>(bytes.data()), parameters);
}

cudaError_t launch_untyped(const LaunchConfig& config, const void* kernel, void** arguments) {
  if (!find_function(kernel).symbol) return launch_bytes(config, kernel, nullptr, {nullptr, 0, 0});
  has_description = false;
  reinterpret_cast<void (*)()>(const_cast<void*>(kernel))();
  if (!has_description)
    raise_fault("unsupported", "cudaLaunchKernel with a kernel whose parameters are not known");
  return launch_pointers(config, kernel, arguments, described);
}

void describe_kernel(const ParameterList& parameters) {
  described = parameters;
  has_description = true;
}

LaunchConfig launch_config(const cudaLaunchConfig_t& config) {
  LaunchConfig out(config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& a = config.attrs[i];
    if (a.id == cudaLaunchAttributeCooperative) out.cooperative = a.val.cooperative != 0;
    const auto& cluster = a.val.clusterDim;
    if (a.id == cudaLaunchAttributeClusterDimension && uint64_t{cluster.x} * cluster.y * cluster.z > 1)
      raise_fault("unsupported", "thread-block clusters");
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization &&
        a.val.programmaticStreamSerializationAllowed)
      raise_fault("unsupported", "programmatic stream serialization");
  }
  return out;
}

}  // namespace bicrl
