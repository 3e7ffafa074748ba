// Inside of libbicrl_host.so: one process-wide state, because a box runs one candidate. Single-threaded.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bicrl/cuda_api.h"
#include "bicrl/tensor.h"

namespace bicrl {

enum class Mode {
  kRecord,  // storages are addresses without memory; launches are written down
  kDirect,  // storages hold data; launches run at once
  kReplay   // the replay program: no tensors, launches run from a trace
};

// A fault of the candidate; the host part must not be able to catch it and go on.
struct Fault {
  std::string fault_class;  // empty: none so far. The first one stays.
  std::string message;
};
// Thrown to leave a host function after set_fault. Not a std::exception: candidates catch those.
struct FaultRaised {};

// Memory of one tensor storage. Addresses of virtual storages are far from everything that is mapped, so that
// a touch is a SIGSEGV that tells which storage was meant.
struct Storage {
  enum class Kind : uint8_t { kInput, kConstant, kAllocation, kHost };
  int64_t id = 0;
  Kind kind = Kind::kAllocation;
  uint64_t bytes = 0;
  uintptr_t address = 0;
  int64_t source = -1;                    // leaf of the inputs
  int64_t buffer = -1;                    // number in the trace, given at the first use
  const unsigned char* values = nullptr;  // small parameters: bytes that the host part may read
  void* mapping = nullptr;                // direct mode: pages with guards
  size_t mapping_bytes = 0;
  int references = 0;
  // What has written it, for direct results: see Producer in sandbox/trace.h.
  bool kernel_wrote = false, filled = false, uploaded = false, copied_input = false;
  std::string host_bytes;  // kHost: data of a CPU tensor that the candidate made
};

struct TensorImpl {
  int references = 1;
  int64_t storage = 0;
  int64_t offset = 0;  // elements
  std::vector<int64_t> sizes, strides;
  c10::ScalarType type = c10::ScalarType::Float;
};

// Everything the process remembers. Storages live for ever in record mode (they cost nothing).
struct Runtime {
  Mode mode = Mode::kRecord;
  Fault fault;
  cudaError_t last_error = cudaSuccess;
  int channel = -1;  // where the signal handler writes its last frame; -1: nowhere
  std::vector<Storage> storages;
  std::map<uintptr_t, int64_t> by_address;
  std::vector<std::string> blobs;
  std::vector<std::string> ops;  // JSON texts
  uint64_t launches = 0;
  uintptr_t next_address = 0;
  uintptr_t module_base = 0, module_end = 0;
  std::vector<std::pair<const void*, int>> shared_limits;  // cudaFuncSetAttribute
  std::vector<int64_t> buffers;                            // storage of each buffer of the trace
};
Runtime& runtime();

// Sets the first fault; later ones are consequences.
void set_fault(const char* fault_class, const std::string& message);
// Ends a host function at once with a fault: throws an exception that candidates have no reason to catch.
[[noreturn]] void raise_fault(const char* fault_class, const std::string& message);

// ---- storage.cpp
int64_t new_storage(Storage::Kind kind, uint64_t bytes, int64_t source = -1);
void retain_storage(int64_t id);
void release_storage(int64_t id);
Storage& storage(int64_t id);
Storage* find_storage(const void* address);  // nullptr if the address belongs to none
bool in_module(const void* address);
void protect_storages(bool accessible);  // direct mode: only running kernels may touch device memory
int64_t add_blob(const void* bytes, size_t size);
int64_t buffer_index(Storage& storage);
bool contains_device_pointer(const void* bytes, size_t size);

// Opens device memory for the time of an operation in direct mode.
class DeviceAccess {
 public:
  DeviceAccess() { protect_storages(true); }
  ~DeviceAccess() { protect_storages(false); }
};

// Memory between guard pages, end-aligned (the byte after it faults) or start-aligned.
struct GuardedMemory {
  void* mapping = nullptr;
  size_t mapping_bytes = 0;
  unsigned char* data = nullptr;
};
// `guard_bytes`, whole pages, lie closed on either side.
constexpr size_t kGuardBytes = 1 << 20;
GuardedMemory map_guarded(size_t bytes, bool end_aligned, size_t guard_bytes = kGuardBytes);

// ---- faults.cpp
void install_fault_handlers();

// ---- operations.cpp: what changes device memory, recorded or done.
struct View {
  int64_t storage = 0;
  int64_t offset = 0;  // elements
  c10::ScalarType type = c10::ScalarType::Float;
  std::vector<int64_t> sizes, strides;
};
void operate_fill(const View& target, const c10::Scalar& value);
void operate_copy(const View& target, const View& source);
void operate_upload(int64_t storage, uint64_t offset_bytes, const void* bytes, size_t size);
std::string view_json(const View& view);
const char* type_name(c10::ScalarType type);
// Strided copy with conversion between memory, used by direct mode and by the replay program.
void copy_elements(unsigned char* target, const int64_t* target_strides, c10::ScalarType target_type,
                   const unsigned char* source, const int64_t* source_strides, c10::ScalarType source_type,
                   const int64_t* sizes, size_t dims);
void fill_elements(unsigned char* target, const int64_t* strides, const int64_t* sizes, size_t dims,
                   const void* element, size_t element_bytes);
void encode_scalar(const c10::Scalar& value, c10::ScalarType type, unsigned char* bytes);

View view_of(const at::Tensor& tensor);
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes);

}  // namespace bicrl
