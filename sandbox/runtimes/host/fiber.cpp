#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

// Saves the registers that a call preserves, exchanges stack pointers, restores. Floating-point control words are
// the same for all fibers of a kernel, so they are not touched.
#if defined(__x86_64__)
asm(R"(
.text
.globl bicrl_switch_stack
.hidden bicrl_switch_stack
.type bicrl_switch_stack,@function
bicrl_switch_stack:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size bicrl_switch_stack,.-bicrl_switch_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl bicrl_switch_stack
.hidden bicrl_switch_stack
.type bicrl_switch_stack,%function
bicrl_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size bicrl_switch_stack,.-bicrl_switch_stack
)");
#else
#error "no fiber switch for this processor"
#endif
extern "C" void bicrl_switch_stack(void** save, void* restore);

namespace bicrl {
namespace {
constexpr size_t kPage = 4096;
// Different tops keep the hot ends of the stacks out of one another's cache sets.
constexpr size_t kStagger = 320;
}  // namespace

void switch_fiber(Fiber& from, const Fiber& to) { bicrl_switch_stack(&from.stack_pointer, to.stack_pointer); }

StackPool::StackPool(size_t count, size_t stack_bytes)
    : count_(count), stack_bytes_(stack_bytes), pitch_(stack_bytes + kPage) {
  void* base = mmap(nullptr, pitch_ * count_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) abort();
  base_ = static_cast<unsigned char*>(base);
}

void StackPool::prepare(Fiber& fiber, size_t index, void (*entry)()) {
  unsigned char* low = base_ + index * pitch_ + kPage;
  if (index >= usable_) {  // fibers are taken in ascending order
    if (mprotect(low, stack_bytes_, PROT_READ | PROT_WRITE) != 0) abort();
    usable_ = index + 1;
  }
  auto top = reinterpret_cast<uintptr_t>(low + stack_bytes_) - (index % 24) * kStagger;
  top &= ~uintptr_t{63};
  auto* slot = reinterpret_cast<void**>(top);
#if defined(__x86_64__)
  *--slot = nullptr;  // return address of entry: it never returns; also puts the stack at 8 modulo 16
  *--slot = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--slot = nullptr;
#else
  slot -= 20;
  for (int i = 0; i < 20; ++i) slot[i] = nullptr;
  slot[11] = reinterpret_cast<void*>(entry);
#endif
  fiber.stack_pointer = slot;
}

bool StackPool::in_guard(const void* address) const {
  const auto* p = static_cast<const unsigned char*>(address);
  if (p < base_ || p >= base_ + pitch_ * count_) return false;
  return static_cast<size_t>(p - base_) % pitch_ < kPage;
}

}  // namespace bicrl
