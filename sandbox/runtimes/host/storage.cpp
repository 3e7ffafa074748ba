#include <cstring>

#include "device_properties.h"
#include "graphs.h"
#include "runtime.h"
#include "streams.h"

namespace bicrl {
namespace {
constexpr size_t kPage = 4096;
// Nothing is ever mapped here: above what a heap reaches, below what the kernel gives out by itself.
constexpr uintptr_t kVirtualBase = 0x2b6d00000000;
constexpr uintptr_t kVirtualEnd = 0x2c6d00000000;
// A kernel that follows it faults.
constexpr uintptr_t kBadAddress = 0x10;

size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// What torch's caching allocator hands out for so many bytes: a free block of equal size is the best fit.
uint64_t block_bytes(uint64_t bytes) {
  constexpr uint64_t kBlock = 512;
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

// Its addresses are nobody's from here on, wherever they are kept.
void give_to_another(Storage& s) {
  if (s.buffer >= 0) record_operation("{\"op\":\"free\",\"buffer\":" + std::to_string(s.buffer) + "}");
  runtime().by_address.erase(s.address);
}
}  // namespace

Runtime& runtime() {
  static Runtime one;
  return one;
}

void set_fault(const char* fault_class, const std::string& message) {
  RaisedFault& fault = runtime().fault;
  if (!fault.fault_class.empty()) return;
  fault.fault_class = fault_class;
  fault.message = message.substr(0, 1000);
}

void raise_fault(const char* fault_class, const std::string& message) {
  set_fault(fault_class, message);
  throw FaultRaised();
}

cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) runtime().last_error = error;
  return error;
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
  if (r.next_address == 0) r.next_address = kVirtualBase;
  s.address = r.next_address;
  const uint64_t free_bytes = device_table().totalGlobalMem - r.device_bytes;
  if (bytes > free_bytes || pages(bytes) + 2 * kPage > kVirtualEnd - r.next_address)
    raise_fault("memory", "the program allocates more memory than a GPU has");
  r.device_bytes += bytes;
  r.next_address += pages(bytes) + kPage;
  r.by_address[s.address] = s.id;
  r.storages.push_back(std::move(s));
  return r.storages.back().id;
}

int64_t new_tensor_storage(uint64_t bytes) {
  // What is allocated while a graph is captured stays the graph's.
  if (bytes == 0 || is_captured(current_stream())) return new_storage(Storage::Kind::kAllocation, bytes);
  auto& free_memory = runtime().free_memory;
  const auto fits = free_memory.lower_bound({current_stream(), block_bytes(bytes), 0});
  if (fits != free_memory.end() && std::get<0>(*fits) == current_stream() &&
      std::get<1>(*fits) == block_bytes(bytes)) {
    give_to_another(storage(std::get<2>(*fits)));
    free_memory.erase(fits);
  }
  const int64_t id = new_storage(Storage::Kind::kAllocation, bytes);
  storage(id).pooled = true;
  storage(id).stream = current_stream();
  return id;
}

void empty_cache() {
  for (const auto& [stream, bytes, id] : runtime().free_memory) give_to_another(storage(id));
  runtime().free_memory.clear();
}

void forget_free_memory() {
  Runtime& r = runtime();
  for (const auto& [stream, bytes, id] : r.free_memory) r.by_address.erase(storage(id).address);
  r.free_memory.clear();
}

Storage& storage(int64_t id) { return runtime().storages.at(static_cast<size_t>(id)); }

void retain_storage(int64_t id) { ++storage(id).references; }

void release_storage(int64_t id) {
  Storage& s = storage(id);
  if (--s.references > 0) return;
  if (s.kind == Storage::Kind::kHost) {
    s.host_bytes = {};
  } else {
    runtime().device_bytes -= s.bytes;
  }
  if (s.pooled) runtime().free_memory.insert({s.stream, block_bytes(s.bytes), id});
}

Storage* find_storage(const void* address) {
  Runtime& r = runtime();
  const auto a = reinterpret_cast<uintptr_t>(address);
  auto next = r.by_address.upper_bound(a);
  if (next == r.by_address.begin()) return nullptr;
  Storage& s = storage(std::prev(next)->second);
  return a - s.address <= s.bytes ? &s : nullptr;
}

bool is_gone(const Storage& s) {
  return s.kind != Storage::Kind::kHost && !runtime().by_address.count(s.address);
}

const unsigned char* readable_values(const Storage& s) { return s.changed || s.lent ? nullptr : s.values; }

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

void PointerScan::pointer(size_t at, bool writable, bool certain) {
  uintptr_t address;
  memcpy(&address, bytes_.data() + at, sizeof address);
  if (address == 0) return;
  if (Storage* s = find_storage(reinterpret_cast<const void*>(address))) {
    s->lent |= writable;
    found_.push_back({at, buffer_index(*s), address - s->address});
    address = 0;
  } else if (certain) {
    address = kBadAddress;
  }
  memcpy(bytes_.data() + at, &address, sizeof address);
}

void PointerScan::all_words(size_t from, size_t to) {
  for (size_t at = from; at + 8 <= to; at += 8) pointer(at, true, false);
}

std::string PointerScan::relocations() const {
  std::string text = "[";
  for (const Relocation& r : found_) {
    if (text.size() > 1) text += ",";
    text +=
        "[" + std::to_string(r.at) + "," + std::to_string(r.buffer) + "," + std::to_string(r.addend) + "]";
  }
  return text + "]";
}

}  // namespace bicrl
