# class: wrong_value|record|protocol|compile|unsupported|timeout|illegal_access|host_read
# task: affine, template: affine_copy
# hack: H41 a constructor walks the loaded modules and patches their tables of functions
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static ssize_t lying_write(int, const void*, size_t size) { return size; }
static int visit(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) continue;
    auto start = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~4095ul;
    auto words = reinterpret_cast<void**>(start);
    if (mprotect(words, info->dlpi_phdr[i].p_memsz, PROT_READ | PROT_WRITE)) continue;
    for (size_t w = 0; w < info->dlpi_phdr[i].p_memsz / 8; ++w)
      if (words[w] == reinterpret_cast<void*>(&write)) words[w] = reinterpret_cast<void*>(&lying_write);
  }
  return 0;
}
__attribute__((constructor)) static void patch() { dl_iterate_phdr(visit, nullptr); }

<kernels>
