// Poison in the shared memory of every multiprocessor before a run, and before each call that is timed: what
// a kernel never wrote there is a NaN, as it is in global memory, and not what another program or call has
// left. Not thread-safe; throws DriverError.
#pragma once
#include <string>

#include "sandbox/gpu/loader/driver.h"

namespace bicrl::gpu {

// poison_shared(bytes, word, arrived, blocks): fills a block's dynamic shared memory, and stays until so many
// blocks have (0: goes at once), or for a tenth of a second, which is counted behind `arrived`: one that was
// done could make room for another on its multiprocessor, which another one lacks then.
constexpr const char* kSharedPoisonText = R"(.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 board[];
.visible .entry poison_shared(.param .u32 bytes, .param .u32 word, .param .u64 arrived, .param .u32 blocks) {
  .reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<4>;
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
  bar.sync 0;
  mov.u32 %r7, %tid.x;
  setp.ne.u32 %p1, %r7, 0;
  @%p1 ret;
  ld.param.u64 %rd1, [arrived];
  ld.param.u32 %r8, [blocks];
  red.global.add.u32 [%rd1], 1;
  mov.u64 %rd2, %globaltimer;
  add.u64 %rd2, %rd2, 100000000;
$wait:
  ld.volatile.global.u32 %r9, [%rd1];
  setp.ge.u32 %p1, %r9, %r8;
  @%p1 ret;
  mov.u64 %rd3, %globaltimer;
  setp.lt.u64 %p2, %rd3, %rd2;
  @%p2 bra $wait;
  red.global.add.u32 [%rd1+4], 1;
  ret;
}
)";

class SharedPoison {
 public:
  // `machine_code`: of the text above. `driver` outlives this; the module stays loaded as long as the
  // context.
  SharedPoison(Driver& driver, std::string machine_code);
  // Waits until it is done. Throws if blocks did not meet, time and again.
  void spread();

 private:
  // Blocks that stay until `arrivals` of them have arrived.
  void launch(uint32_t blocks, uint32_t threads, uint32_t bytes, uint32_t arrivals);
  Driver& driver_;
  const std::string machine_code_;
  KernelHandle kernel_ = nullptr;
  DeviceAddress arrived_ = 0;  // two words: blocks that came, and that gave up; goes with the context
};

}  // namespace bicrl::gpu
