// Stacks and the switch between them. A fiber is never destroyed while its stack is in use; stacks are
// reused.
#pragma once
#include <cstddef>

namespace bicrl {

// The saved stack pointer of a suspended fiber.
struct Fiber {
  void* stack_pointer = nullptr;
};

// Suspends the running code into `from` and goes on in `to`.
void switch_fiber(Fiber& from, const Fiber& to);

// Stacks with a guard page each, mapped when first used. Entry functions must not return.
class StackPool {
 public:
  StackPool(size_t count, size_t stack_bytes);
  // Makes fiber number `index` start `entry` on its own stack when it is switched to.
  void prepare(Fiber& fiber, size_t index, void (*entry)());
  // True if the address is in the guard page below one of the stacks.
  bool in_guard(const void* address) const;

 private:
  size_t count_, stack_bytes_, pitch_;
  unsigned char* base_ = nullptr;
  size_t usable_ = 0;
};

}  // namespace bicrl
