#include <sys/mman.h>

#include <cstring>

#include "runtime.h"

namespace bicrl {
namespace {
constexpr size_t kPage = 4096;
// Nothing is ever mapped here: above what a heap reaches, below what the kernel gives out by itself.
constexpr uintptr_t kVirtualBase = 0x2b6d00000000;
constexpr uintptr_t kVirtualEnd = 0x2c6d00000000;
constexpr unsigned char kFreshPattern = 0xff;

size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
}  // namespace

Runtime& runtime() {
  static Runtime one;
  return one;
}

void set_fault(const char* fault_class, const std::string& message) {
  Fault& fault = runtime().fault;
  if (!fault.fault_class.empty()) return;
  fault.fault_class = fault_class;
  fault.message = message.substr(0, 1000);
}

void raise_fault(const char* fault_class, const std::string& message) {
  set_fault(fault_class, message);
  throw FaultRaised();
}

GuardedMemory map_guarded(size_t bytes, bool end_aligned, size_t guard_bytes) {
  GuardedMemory m;
  const size_t inner = pages(bytes ? bytes : 1);
  m.mapping_bytes = inner + 2 * guard_bytes;
  void* p = mmap(nullptr, m.mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return {};
  m.mapping = p;
  unsigned char* low = static_cast<unsigned char*>(p) + guard_bytes;
  if (mprotect(low, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(p, m.mapping_bytes);
    return {};
  }
  // Vector loads need 16-byte alignment; a buffer whose size is no multiple of 16 ends up to 15 bytes early.
  m.data = end_aligned ? low + ((inner - bytes) & ~size_t{15}) : low;
  return m;
}

int64_t new_storage(Storage::Kind kind, uint64_t bytes, int64_t source) {
  Runtime& r = runtime();
  Storage s;
  s.id = static_cast<int64_t>(r.storages.size());
  s.kind = kind;
  s.bytes = bytes;
  s.source = source;
  if (kind == Storage::Kind::kHost) {
    s.host_bytes.resize(bytes);
    r.storages.push_back(std::move(s));
    r.storages.back().address = reinterpret_cast<uintptr_t>(r.storages.back().host_bytes.data());
    return r.storages.back().id;
  }
  if (r.mode == Mode::kDirect) {
    const GuardedMemory m = map_guarded(bytes, true);
    if (!m.mapping) raise_fault("memory", "no memory for " + std::to_string(bytes) + " bytes");
    s.mapping = m.mapping;
    s.mapping_bytes = m.mapping_bytes;
    s.address = reinterpret_cast<uintptr_t>(m.data);
    if (kind == Storage::Kind::kAllocation) memset(m.data, kFreshPattern, bytes);
    mprotect(static_cast<char*>(m.mapping) + kGuardBytes, m.mapping_bytes - 2 * kGuardBytes, PROT_NONE);
  } else {
    if (r.next_address == 0) r.next_address = kVirtualBase;
    s.address = r.next_address;
    if (bytes > kVirtualEnd - r.next_address - 2 * kPage)
      raise_fault("memory", "the program allocates more memory than a GPU has");
    r.next_address += pages(bytes) + kPage;
  }
  r.by_address[s.address] = s.id;
  r.storages.push_back(std::move(s));
  return r.storages.back().id;
}

Storage& storage(int64_t id) { return runtime().storages.at(static_cast<size_t>(id)); }

void retain_storage(int64_t id) { ++storage(id).references; }

void release_storage(int64_t id) {
  Storage& s = storage(id);
  if (--s.references > 0) return;
  if (s.kind == Storage::Kind::kHost) {
    s.host_bytes = {};
  } else if (s.mapping) {
    runtime().by_address.erase(s.address);
    munmap(s.mapping, s.mapping_bytes);
    s.mapping = nullptr;
  }
}

Storage* find_storage(const void* address) {
  Runtime& r = runtime();
  const auto a = reinterpret_cast<uintptr_t>(address);
  auto next = r.by_address.upper_bound(a);
  if (next == r.by_address.begin()) return nullptr;
  Storage& s = storage(std::prev(next)->second);
  return a - s.address <= s.bytes ? &s : nullptr;
}

bool in_module(const void* address) {
  const Runtime& r = runtime();
  const auto a = reinterpret_cast<uintptr_t>(address);
  return a >= r.module_base && a < r.module_end;
}

void protect_storages(bool accessible) {
  Runtime& r = runtime();
  if (r.mode != Mode::kDirect) return;
  for (const auto& s : r.storages)
    if (s.mapping)
      mprotect(static_cast<char*>(s.mapping) + kGuardBytes, s.mapping_bytes - 2 * kGuardBytes,
               accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

int64_t add_blob(const void* bytes, size_t size) {
  Runtime& r = runtime();
  r.blobs.emplace_back(static_cast<const char*>(bytes), size);
  return static_cast<int64_t>(r.blobs.size()) - 1;
}

int64_t buffer_index(Storage& s) {
  Runtime& r = runtime();
  if (s.buffer < 0) {
    s.buffer = static_cast<int64_t>(r.buffers.size());
    r.buffers.push_back(s.id);
  }
  return s.buffer;
}

bool contains_device_pointer(const void* bytes, size_t size) {
  const auto* p = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uintptr_t word;
    memcpy(&word, p + i, 8);
    if (word >= kVirtualBase && word < runtime().next_address) return true;
  }
  return false;
}

}  // namespace bicrl
