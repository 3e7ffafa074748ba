// What the loader of traces (sandbox/gpu/loader/driver.h) needs of libcuda.so.1, for machines without a GPU:
// memory of the host, and kernels of tests/sandbox/gpu/gpu_programs.h by their names. What work there is in
// streams takes a time that its kind decides, in fake_streams.cpp. One thread at a time.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fake_driver/fake_streams.h"

using fake_driver::fills_are_under_way;
using fake_driver::state;

namespace {

constexpr unsigned kMostRowsOfGrid = 65535, kBlocksWithoutEnd = 1u << 30;
constexpr int kInvalidValue = 1, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700, kMisaligned = 716,
              kLaunchFailed = 719, kLost = 999;

// The visible devices, and the one that a number means, are configured as NVIDIA's are: "0,3" are two, by
// their places in the machine. Those from kOtherModels on are of another model. One is lost as long as there
// is a file of the name lost-PLACE beside this library.
constexpr int kOtherModels = 8, kNoDevice = 101, kUnavailableDevice = 46;

std::vector<int> places() {
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  std::vector<int> found;
  std::istringstream all(visible ? visible : "0");
  for (std::string one; std::getline(all, one, ',');) found.push_back(atoi(one.c_str()));
  return found;
}
int place = 0;  // of the one with a context

bool is_lost(int device) {
  Dl_info here{};
  if (dladdr(&place, &here) == 0) return false;
  return access((std::filesystem::path(here.dli_fname).parent_path() / ("lost-" + std::to_string(device)))
                    .c_str(),
                F_OK) == 0;
}

// The value that a file of the name beside this library holds; 0 without.
int setting(const char* name) {
  Dl_info here{};
  if (dladdr(&place, &here) == 0) return 0;
  std::ifstream file(std::filesystem::path(here.dli_fname).parent_path() / name);
  int value = 0;
  file >> value;
  return value;
}

uint32_t counter = 7;
std::set<std::string>& names() {
  static std::set<std::string> known;
  return known;
}

struct Configuration {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
};

struct Parameters {
  const char* bytes = nullptr;
  template <class T>
  T at(size_t offset) const {
    T value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
};

void twice(const Parameters& p) {
  const auto* x = reinterpret_cast<const float*>(p.at<uint64_t>(0));
  auto* y = reinterpret_cast<float*>(p.at<uint64_t>(8));
  for (int i = 0; i < 4; ++i) y[i] = i < p.at<int>(16) ? x[i] + x[i] : y[i];
}

// What no device lets a program know: how often it has been run.
int launches_of_cheats = 0;
constexpr int kHonestLaunches = 6;

// What a verifier checks itself with (sandbox/service/canary.cpp): a row's sum of squares for each block.
void row_squares(const Parameters& p, unsigned rows) {
  const auto* x = reinterpret_cast<const float*>(p.at<uint64_t>(0));
  auto* y = reinterpret_cast<float*>(p.at<uint64_t>(8));
  const int n = p.at<int>(16);
  for (unsigned row = 0; row < rows; ++row, x += n) y[row] = std::inner_product(x, x + n, x, 0.0f);
}

bool shared_is_poisoned = false;

// The fault shows when somebody has more for the device to do.
bool unmapped_under_a_fill = false;

int run(const std::string& kernel, const Parameters& p, unsigned blocks) {
  if (kernel.find("row_squares_kernel") != std::string::npos) {
    row_squares(p, blocks);
  } else if (blocks >= kBlocksWithoutEnd) {
    state = kNotReady;
  } else if (kernel == "twice" || kernel == "twice_slowly" || kernel == "twice_by_64" || kernel == "prints") {
    twice(p);
  } else if (kernel == "poison_shared") {
    shared_is_poisoned = true;
  } else if (kernel == "twice_of_poison") {
    if (shared_is_poisoned) twice(p);
    shared_is_poisoned = false;
  } else if (kernel == "twice_once") {
    if (counter == 7) twice(p);
    ++counter;
  } else if (kernel == "idles_later") {
    if (++launches_of_cheats <= kHonestLaunches) twice(p);
  } else if (kernel == "answers_again") {
    static float kept[4];
    if (++launches_of_cheats == 1) {
      twice(p);
      memcpy(kept, reinterpret_cast<const void*>(p.at<uint64_t>(8)), sizeof kept);
    }
    memcpy(reinterpret_cast<void*>(p.at<uint64_t>(8)), kept, sizeof kept);
  } else if (kernel == "dies_later") {
    if (++launches_of_cheats <= kHonestLaunches)
      twice(p);
    else
      state = kLost;
  } else if (kernel == "beyond") {
    reinterpret_cast<float*>(p.at<uint64_t>(8))[p.at<int>(16)] = 1;
  } else if (kernel == "count") {
    *reinterpret_cast<uint32_t*>(p.at<uint64_t>(8)) = ++counter;
  } else if (kernel == "endless") {
    state = kNotReady;
  } else if (kernel == "wild") {
    state = kIllegalAddress;
  } else if (kernel == "traps") {
    state = kLaunchFailed;
  } else if (kernel == "misaligned") {
    state = kMisaligned;
  } else if (kernel == "loses_device") {
    state = kLost;
  } else if (kernel == "silences_driver") {
    while (true) pause();
  } else if (kernel == "kills_loader") {
    abort();
  }
  return 0;
}

double milliseconds(const std::string& kernel) {
  if (kernel == "nothing") return 0.002;
  if (kernel == "twice_slowly") return 0.33;
  return kernel == "idles_later" && launches_of_cheats > kHonestLaunches ? 0.01 : 0.3;
}

// Whatever waits for the device waits for ever behind a kernel without end.
int answer() {
  if (is_lost(place)) state = kLost;
  while (state == kNotReady) pause();
  return state;
}

}  // namespace

extern "C" {
// As NVIDIA's: it opens a socket for other processes, and names its threads.
int cuInit(unsigned) {
  constexpr int kOperatingSystem = 304;
  char name[64];
  snprintf(name, sizeof name, "/proc/self/task/%d/comm", static_cast<int>(gettid()));
  const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), name_fd = open(name, O_WRONLY);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path + 1, "pretended-driver");
  const bool good = socket_fd >= 0 && name_fd >= 0 && write(name_fd, "driver", 6) == 6 &&
                    bind(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                    socket(AF_INET, SOCK_STREAM, 0) < 0;
  return good ? 0 : kOperatingSystem;
}
int cuDriverGetVersion(int* version) {
  const int older = setting("driver-version");
  return *version = older > 0 ? older : 13000, 0;
}
int cuDeviceGetCount(int* count) { return *count = static_cast<int>(places().size()), 0; }
int cuDeviceGet(int* device, int number) {
  const std::vector<int> all = places();
  if (number < 0 || number >= static_cast<int>(all.size())) return kNoDevice;
  return *device = all[static_cast<size_t>(number)], 0;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  snprintf(name, static_cast<size_t>(bytes), device < kOtherModels ? "Pretended GPU" : "Pretended other GPU");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 36:
      return *value = 1'000'000, 0;  // kHz of memory
    case 37:
      return *value = 512, 0;  // bits of its bus: 128 GB/s
    case 38:
      return *value = 1 << 20, 0;  // bytes of L2
    case 39:
      return *value = 2048, 0;  // threads of a multiprocessor
    case 75:
      return *value = 9, 0;
    case 76:
    case 88:
      return *value = 0, 0;
    case 97:
      return *value = 232448, 0;
    default:
      return *value = 2, 0;
  }
}
int cuDeviceGetPCIBusId(char* bus, int bytes, int device) {
  snprintf(bus, static_cast<size_t>(bytes), "0000:%02x:00.0", 0x18 + device);
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{1} << 30, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  place = device;
  return *context = &counter, is_lost(device) ? kUnavailableDevice : 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (const int refusal = setting("refuses-memory"); refusal != 0) return refusal;
  *address = reinterpret_cast<uint64_t>(aligned_alloc(512, (bytes + 511) / 512 * 512));
  return answer();
}
int cuMemFree_v2(uint64_t address) {
  free(reinterpret_cast<void*>(address));
  return answer();
}
// Shared memory: files of the host in place of handles.
int cuMemGetAllocationGranularity(size_t* bytes, const void*, int) { return *bytes = 2 << 20, 0; }
int cuMemCreate(unsigned long long* handle, size_t bytes, const void*, unsigned long long) {
  const int file = memfd_create("device", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return kInvalidValue;
  *handle = static_cast<unsigned long long>(file);
  return answer();
}
int cuMemRelease(unsigned long long handle) { return close(static_cast<int>(handle)), answer(); }
int cuMemExportToShareableHandle(void* descriptor, unsigned long long handle, int, unsigned long long) {
  *static_cast<int*>(descriptor) = dup(static_cast<int>(handle));
  return answer();
}
int cuMemImportFromShareableHandle(unsigned long long* handle, void* descriptor, int) {
  *handle = static_cast<unsigned long long>(dup(static_cast<int>(reinterpret_cast<intptr_t>(descriptor))));
  return answer();
}
int cuMemAddressReserve(uint64_t* address, size_t bytes, size_t, uint64_t, unsigned long long) {
  void* const place = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = reinterpret_cast<uint64_t>(place);
  return place == MAP_FAILED ? kInvalidValue : answer();
}
int cuMemAddressFree(uint64_t address, size_t bytes) {
  return munmap(reinterpret_cast<void*>(address), bytes) == 0 ? answer() : kInvalidValue;
}
int cuMemMap(uint64_t address, size_t bytes, size_t, unsigned long long handle, unsigned long long) {
  void* const place = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                           static_cast<int>(handle), 0);
  return place == MAP_FAILED ? kInvalidValue : answer();
}
int cuMemUnmap(uint64_t address, size_t bytes) {
  unmapped_under_a_fill |= fills_are_under_way;
  void* const place = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return place == MAP_FAILED ? kInvalidValue : answer();
}
int cuMemSetAccess(uint64_t address, size_t bytes, const void* access, size_t) {
  const bool writes = static_cast<const int*>(access)[2] == 3;
  const int allowed = writes ? PROT_READ | PROT_WRITE : PROT_READ;
  return mprotect(reinterpret_cast<void*>(address), bytes, allowed) == 0 ? answer() : kInvalidValue;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  fills_are_under_way = false;
  memcpy(reinterpret_cast<void*>(to), from, bytes);
  return answer();
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  fills_are_under_way = false;
  memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return answer();
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return answer();
}
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) {
  fills_are_under_way = true;
  memset(reinterpret_cast<void*>(to), value, count);
  return answer();
}
int cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count) {
  fills_are_under_way = true;
  for (size_t i = 0; i < count; ++i) memcpy(reinterpret_cast<char*>(to) + 2 * i, &value, 2);
  return answer();
}
int cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) {
  fills_are_under_way = true;
  for (size_t i = 0; i < count; ++i) memcpy(reinterpret_cast<char*>(to) + 4 * i, &value, 4);
  return answer();
}
int cuModuleLoadData(void** module, const void* code) {
  *module = const_cast<void*>(code);
  counter = 7;
  if (unmapped_under_a_fill) state = kIllegalAddress;
  if (const int refusal = setting("refuses-code"); refusal != 0) return refusal;
  return memcmp(code,
                "\x7f"
                "ELF",
                4) == 0
             ? answer()
             : 200;
}
int cuModuleUnload(void*) { return answer(); }
int cuModuleGetFunction(void** kernel, void*, const char* name) {
  *kernel = const_cast<std::string*>(&*names().insert(name).first);
  return answer();
}
int cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, void*, const char* name) {
  if (strcmp(name, "counter") != 0) return kNotFound;
  *address = reinterpret_cast<uint64_t>(&counter);
  *bytes = sizeof counter;
  return answer();
}
int cuFuncGetAttribute(int* value, int attribute, void* kernel) {
  const int most = *static_cast<const std::string*>(kernel) == "twice_by_64" ? 64 : 1024;
  *value = attribute == 0 ? most : 0;
  return answer();
}
int cuFuncSetAttribute(void*, int, int) { return answer(); }
int cuLaunchKernelEx(const void* configuration, void* kernel, void**, void** extra) {
  const auto* c = static_cast<const Configuration*>(configuration);
  if (c->grid[0] == 0 || c->block[0] == 0 || c->grid[1] > kMostRowsOfGrid) return kInvalidValue;
  if (state != 0) return answer();
  // A graph keeps the parameters.
  const std::string name = *static_cast<const std::string*>(kernel),
                    parameters(static_cast<const char*>(extra[1]), *static_cast<size_t*>(extra[3]));
  return fake_driver::enqueue(milliseconds(name),
                              [=, blocks = c->grid[0]] { return run(name, {parameters.data()}, blocks); });
}
int cuGetErrorName(int, const char** name) { return *name = "CUDA_ERROR_PRETENDED", 0; }
}
