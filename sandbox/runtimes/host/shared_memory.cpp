#include "shared_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine.h"

namespace bicrl {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kCanary = 0xc5;
constexpr size_t kDynamicPages = (kMaxSharedBytes + kPage - 1) / kPage + 1;  // one stays closed

struct Section {
  unsigned char* begin;
  size_t bytes;
};
struct SharedMemory {
  unsigned char* dynamic = nullptr;
  unsigned bytes = 0;
  size_t open_pages = 0;
  std::vector<Section> sections;
  size_t largest_section = 0;
};
SharedMemory& shared() {
  static SharedMemory one = [] {
    SharedMemory m;
    void* p = mmap(nullptr, kDynamicPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) abort();
    m.dynamic = static_cast<unsigned char*>(p);
    return m;
  }();
  return one;
}

}  // namespace

void find_static_shared(const char* module_path, uintptr_t module_base) {
  SharedMemory& m = shared();
  m.sections.clear();
  m.largest_section = 0;
  const int fd = open(module_path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat info {};
  void* map = fstat(fd, &info) == 0 && info.st_size > 0
                  ? mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0)
                  : MAP_FAILED;
  close(fd);
  if (map == MAP_FAILED) return;
  const auto size = static_cast<size_t>(info.st_size);
  const auto* file = static_cast<const unsigned char*>(map);
  Elf64_Ehdr header;
  if (size >= sizeof header) {
    memcpy(&header, file, sizeof header);
    const size_t table = header.e_shoff, count = header.e_shnum;
    if (header.e_shentsize == sizeof(Elf64_Shdr) && table < size &&
        count <= (size - table) / sizeof(Elf64_Shdr) && header.e_shstrndx < count) {
      std::vector<Elf64_Shdr> sections(count);
      memcpy(sections.data(), file + table, count * sizeof(Elf64_Shdr));
      const Elf64_Shdr& names = sections[header.e_shstrndx];
      constexpr char kPrefix[] = "bicrl_shared_";
      for (const auto& s : sections) {
        const size_t name = names.sh_offset + s.sh_name;
        if (name + sizeof kPrefix > size || memcmp(file + name, kPrefix, sizeof kPrefix - 1) != 0) continue;
        m.sections.push_back({reinterpret_cast<unsigned char*>(module_base + s.sh_addr), s.sh_size});
        if (s.sh_size > m.largest_section) m.largest_section = s.sh_size;
      }
    }
  }
  munmap(map, size);
}

const char* prepare_shared(unsigned bytes) {
  SharedMemory& m = shared();
  if (m.largest_section > kDefaultSharedLimit) return "a __shared__ variable is larger than 48 KB";
  const size_t pages = (bytes + kPage - 1) / kPage;
  if (pages >= kDynamicPages) return "more dynamic shared memory than allowed";
  if (pages > m.open_pages) {
    if (mprotect(m.dynamic, pages * kPage, PROT_READ | PROT_WRITE) != 0) abort();
  } else if (pages < m.open_pages) {
    if (mprotect(m.dynamic + pages * kPage, (m.open_pages - pages) * kPage, PROT_NONE) != 0) abort();
  }
  m.open_pages = pages;
  m.bytes = bytes;
  memset(m.dynamic + bytes, kCanary, pages * kPage - bytes);
  return nullptr;
}

void poison_shared(unsigned char pattern) {
  SharedMemory& m = shared();
  memset(m.dynamic, pattern, m.bytes);
  for (const auto& s : m.sections) memset(s.begin, pattern, s.bytes);
}

bool shared_overrun() {
  const SharedMemory& m = shared();
  for (size_t i = m.bytes; i < m.open_pages * kPage; ++i)
    if (m.dynamic[i] != kCanary) return true;
  return false;
}

bool in_shared(const void* address) {
  const SharedMemory& m = shared();
  const auto* p = static_cast<const unsigned char*>(address);
  return p >= m.dynamic && p < m.dynamic + kDynamicPages * kPage;
}

}  // namespace bicrl

extern "C" void* bicrl_dynamic_shared() { return bicrl::shared().dynamic; }
extern "C" unsigned bicrl_dynamic_shared_size() { return bicrl::shared().bytes; }
