// Resources of a multiprocessor that a kernel needs, from the metadata of its machine code (a cubin). Pure
// function.
//
// A cubin is an ELF file of 64 bits. Its section .nv.info is a list of records of four bytes and a value: a
// format byte (4: a value of as many bytes as the next half-word says), an attribute and that half-word.
// Attribute 0x2f holds a function's symbol and its registers, 0x12 its symbol and the least size of its
// stack. NVIDIA does not document it; cuobjdump -elf shows it under the names EIATTR_REGCOUNT and
// EIATTR_MIN_STACK_SIZE.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/error.h"

namespace bicrl {

struct KernelResources {
  uint32_t registers = 0;    // of a thread
  uint32_t stack_bytes = 0;  // of a thread: arrays, and registers that did not fit
  bool operator==(const KernelResources&) const = default;
};

// By entry, as PTX names it. Functions that are no kernels may be among them. Fails if it is no such file.
Result<std::map<std::string, KernelResources>> read_cubin_resources(std::string_view cubin);

}  // namespace bicrl
