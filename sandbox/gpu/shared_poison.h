// Poison in the shared memory of every multiprocessor before a run: what a kernel never wrote there is a NaN,
// as it is in global memory, and not what another program has left. Not thread-safe; throws DriverError.
#pragma once
#include <string>

#include "sandbox/gpu/driver.h"

namespace bicrl::gpu {

// poison_shared(bytes, word): fills a block's dynamic shared memory.
constexpr const char* kSharedPoisonText = R"(.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 board[];
.visible .entry poison_shared(.param .u32 bytes, .param .u32 word) {
  .reg .pred %p<2>; .reg .b32 %r<7>;
  ld.param.u32 %r1, [bytes];
  ld.param.u32 %r2, [word];
  mov.u32 %r3, %tid.x;
  shl.b32 %r3, %r3, 2;
  mov.u32 %r4, board;
  mov.u32 %r5, %ntid.x;
  shl.b32 %r5, %r5, 2;
$next:
  setp.ge.u32 %p1, %r3, %r1;
  @%p1 bra $done;
  add.u32 %r6, %r4, %r3;
  st.volatile.shared.u32 [%r6], %r2;
  add.u32 %r3, %r3, %r5;
  bra $next;
$done:
  ret;
}
)";

class SharedPoison {
 public:
  // `machine_code`: of the text above. `driver` outlives this; the module stays loaded as long as the
  // context.
  SharedPoison(Driver& driver, std::string machine_code);
  // Waits until it is done.
  void spread();

 private:
  Driver& driver_;
  const std::string machine_code_;
  KernelHandle kernel_ = nullptr;
};

}  // namespace bicrl::gpu
