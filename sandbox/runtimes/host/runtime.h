// Inside of libbicrl_host.so: one process-wide state, because a box runs one candidate. Single-threaded.
//
// Device memory has addresses and no bytes. What would change it is written down as an operation of the
// trace.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bicrl/cuda_api.h"
#include "bicrl/tensor.h"

namespace bicrl {

// A fault of the candidate; the host part must not be able to catch it and go on.
struct RaisedFault {
  std::string fault_class;  // empty: none so far. The first one stays.
  std::string message;
};
// Thrown to leave a host function after set_fault. Not a std::exception: candidates catch those.
struct FaultRaised {};

// Memory of one tensor storage. Device addresses are far from everything that is mapped, so that a touch is
// a SIGSEGV that shows that device memory was meant.
struct Storage {
  enum class Kind : uint8_t { kInput, kConstant, kAllocation, kHost, kSymbol };
  int64_t id = 0;
  Kind kind = Kind::kAllocation;
  uint64_t bytes = 0;
  uintptr_t address = 0;
  int64_t source = -1;                    // kInput: leaf of the inputs; kSymbol: the module
  std::string symbol;                     // kSymbol: the variable's mangled name
  int64_t buffer = -1;                    // number in the trace, given at the first use
  const unsigned char* values = nullptr;  // small parameters: bytes that the host part may read
  bool changed = false;                   // `values` may no longer be what the device has
  bool lent = false;                      // nor may they be: a kernel of this call may write there
  bool pooled = false;                    // torch's allocator gives it to another tensor when it is free,
  cudaStream_t stream = nullptr;          // that is made while this is the current stream
  int references = 0;
  std::string host_bytes;  // kHost: data of a CPU tensor that the candidate made
};

struct TensorImpl {
  int references = 1;
  int64_t storage = 0;
  int64_t offset = 0;  // elements
  std::vector<int64_t> sizes, strides;
  c10::ScalarType type = c10::ScalarType::Float;
};

// Everything the process remembers. Storages live for ever (they cost nothing).
struct Runtime {
  RaisedFault fault;
  cudaError_t last_error = cudaSuccess;
  int channel = -1;  // where the signal handler writes its last frame; -1: nowhere
  std::vector<Storage> storages;
  std::map<uintptr_t, int64_t> by_address;
  std::vector<std::string> blobs;
  std::vector<std::string> ops;  // JSON texts
  uintptr_t next_address = 0;
  uint64_t device_bytes = 0;                               // allocated and not freed
  std::vector<std::pair<const void*, int>> shared_limits;  // cudaFuncSetAttribute
  std::vector<int64_t> buffers;                            // storage of each buffer of the trace
  // Of torch's allocator: stream, rounded bytes, storage.
  std::set<std::tuple<cudaStream_t, uint64_t, int64_t>> free_memory;
};
Runtime& runtime();

// Sets the first fault; later ones are consequences.
void set_fault(const char* fault_class, const std::string& message);
// Ends a host function at once with a fault: throws an exception that candidates have no reason to catch.
[[noreturn]] void raise_fault(const char* fault_class, const std::string& message);

// An error of the runtime's API is what cudaGetLastError() returns; returns it. Success changes nothing.
cudaError_t noted(cudaError_t error);

// ---- storage.cpp
int64_t new_storage(Storage::Kind kind, uint64_t bytes, int64_t source = -1);
// Memory for a tensor. If torch's allocator would take that of a tensor that is gone, nobody may use the old
// one's addresses from now on.
int64_t new_tensor_storage(uint64_t bytes);
void retain_storage(int64_t id);
void release_storage(int64_t id);
// Memory that became free in earlier calls of forward has other owners by now.
void forget_free_memory();
Storage& storage(int64_t id);
Storage* find_storage(const void* address);  // nullptr if the address belongs to none
bool is_gone(const Storage& storage);        // freed, or given to another tensor
int64_t add_blob(const void* bytes, size_t size);
int64_t buffer_index(Storage& storage);
// The bytes of a small parameter that nothing has changed yet, else nullptr.
const unsigned char* readable_values(const Storage& storage);

// Pointers to device memory among bytes, as relocations of the trace.
class PointerScan {
 public:
  PointerScan(const void* bytes, size_t size) : bytes_(static_cast<const char*>(bytes), size) {}
  // The word at `at`, if it is such a pointer. Null pointers and other numbers stay. A `certain` pointer to
  // host memory becomes an address at which a kernel faults, as it does on a GPU.
  void pointer(size_t at, bool writable, bool certain);
  void all_words(size_t from, size_t to);
  const std::string& bytes() const { return bytes_; }
  std::string relocations() const;

 private:
  struct Relocation {
    size_t at;
    int64_t buffer;
    uint64_t addend;
  };
  std::string bytes_;
  std::vector<Relocation> found_;
};

// ---- faults.cpp
void install_fault_handlers();

// ---- graphs.cpp: operations go into the graph that is being captured, else into the trace.
// Raises a fault if there are too many.
void record_operation(std::string json);
// Bytes as an operation's JSON holds them.
std::string hex_of(std::string_view bytes);

// ---- operations.cpp: what changes device memory besides kernels.
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
// Strided copy with conversion between host memory.
void copy_elements(unsigned char* target, const int64_t* target_strides, c10::ScalarType target_type,
                   const unsigned char* source, const int64_t* source_strides, c10::ScalarType source_type,
                   const int64_t* sizes, size_t dims);

View view_of(const at::Tensor& tensor);
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes);

}  // namespace bicrl
