// Blocks of one launch.
#include <cooperative_groups.h>
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)

//! racy 8 32 -> blocks of one launch have no order
extern "C" __global__ void carry_from_the_block_before ARGS {
  int v = in[I];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (T >= d) v += u;
  }
  int carry = B > 0 ? scratch[B - 1] : 0;
  if (T == 31) scratch[B] = v + carry;
  out[I] = v + carry;
}
//! racy 8 128
extern "C" __global__ void stencil_in_place ARGS {
  int l = I > 0 ? in[I - 1] : 0, r = in[I + 1];
  in[I] = (l + r) / 2;
}
//! sound 8 128
extern "C" __global__ void stencil ARGS {
  int l = I > 0 ? in[I - 1] : 0, r = in[I + 1];
  out[I] = (l + r) / 2;
}
//! sound 8 128
extern "C" __global__ void in_place ARGS { in[I] = in[I] * 2 + 1; }
//! racy 8 128
extern "C" __global__ void reversed_in_place ARGS {
  int v = in[1023 - I];
  in[I] = v;
}
//! racy 8 64
extern "C" __global__ void shift_in_place ARGS {
  int v = in[I + 64];
  in[I] = v;
}
//! racy 8 128
extern "C" __global__ void scratch_within_a_launch ARGS {
  scratch[I] = in[I] + 1;
  out[I] = scratch[1023 - I];
}
//! sound 8 128
extern "C" __global__ void scratch_of_the_block ARGS {
  scratch[I] = in[I] + 1;
  __syncthreads();
  out[I] = scratch[B * 128 + 127 - T];
}
//! racy 8 128
extern "C" __global__ void scratch_of_the_block_without_barrier ARGS {
  scratch[I] = in[I] + 1;
  out[I] = scratch[B * 128 + 127 - T];
}
//! racy 8 128
extern "C" __global__ void block_barrier_for_all_blocks ARGS {
  scratch[I] = in[I];
  __syncthreads();
  out[I] = scratch[(I + 128) % 1024];
}
//! racy 2 64
extern "C" __global__ void blocks_overlap_by_one ARGS { out[B * 63 + T] = in[I] + B; }
//! racy 2 128
extern "C" __global__ void first_block_clears ARGS {
  if (B == 0 && T < 64) out[T] = 0;
  atomicAdd(&out[in[I] % 64], 1);
}
//! sound 8 32
extern "C" __global__ void last_block_sums ARGS {
  __shared__ bool last;
  int v = in[I];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (T == 0) {
    scratch[1 + B] = v;
    __threadfence();
    unsigned ticket = atomicInc((unsigned*)scratch, gridDim.x);
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last && T == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += scratch[1 + i];
    out[0] = sum;
    scratch[0] = 0;
  }
}
//! racy 8 32
extern "C" __global__ void last_block_sums_without_fence ARGS {
  __shared__ bool last;
  int v = in[I];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (T == 0) {
    scratch[1 + B] = v;
    unsigned ticket = atomicInc((unsigned*)scratch, gridDim.x);
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last && T == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += scratch[1 + i];
    out[0] = sum;
  }
}
//! racy 8 32
extern "C" __global__ void last_block_sums_fence_too_early ARGS {
  __shared__ bool last;
  int v = in[I];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (T == 0) {
    __threadfence();
    scratch[1 + B] = v;
    unsigned ticket = atomicInc((unsigned*)scratch, gridDim.x);
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last && T == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += scratch[1 + i];
    out[0] = sum;
  }
}
//! racy 8 32
extern "C" __global__ void last_block_sums_block_fence ARGS {
  __shared__ bool last;
  if (T == 0) {
    scratch[1 + B] = in[B];
    __threadfence_block();
    last = atomicInc((unsigned*)scratch, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && T == 0) {
    int sum = 0;
    for (int i = 0; i < gridDim.x; ++i) sum += scratch[1 + i];
    out[0] = sum;
  }
}
//! sound 8 64
extern "C" __global__ void all_fence_then_one_takes_the_ticket ARGS {
  __shared__ bool last;
  scratch[64 + I] = in[I];
  __threadfence();
  __syncthreads();
  if (T == 0) last = atomicAdd(scratch, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    int sum = 0;
    for (int i = T; i < gridDim.x * 64; i += 64) sum += scratch[64 + i];
    out[T] = sum;
  }
}
//! sound 4 32
extern "C" __global__ void flag_with_fence ARGS {
  volatile int* flag = scratch;
  if (B == 0) {
    if (T == 0) {
      out[1] = in[5];
      __threadfence();
      flag[0] = 1;
    }
  } else if (T == 0) {
    while (flag[0] == 0) {
    }
    __threadfence();
    out[2 + B] = out[1] + 1;
  }
}
//! racy 4 32 -> __threadfence
extern "C" __global__ void flag_without_fence ARGS {
  volatile int* flag = scratch;
  if (B == 0) {
    if (T == 0) {
      out[1] = in[5];
      flag[0] = 1;
    }
  } else if (T == 0) {
    while (flag[0] == 0) {
    }
    out[2 + B] = out[1] + 1;
  }
}
//! racy 4 32
extern "C" __global__ void flag_by_atomics_without_fence ARGS {
  if (B == 0) {
    if (T == 0) {
      out[1] = in[5];
      atomicExch(scratch, 1);
    }
  } else if (T == 0) {
    while (atomicAdd(scratch, 0) == 0) {
    }
    out[2 + B] = out[1] + 1;
  }
}
//! sound 8 32
extern "C" __global__ void chain_of_blocks ARGS {
  volatile int* flag = scratch;
  if (T == 0) {
    while (flag[0] != B) {
    }
    __threadfence();
    out[0] += in[B];
    __threadfence();
    flag[0] = B + 1;
  }
}
//! racy 8 32
extern "C" __global__ void chain_of_blocks_without_fence ARGS {
  volatile int* flag = scratch;
  if (T == 0) {
    while (flag[0] != B) {
    }
    out[0] += in[B];
    flag[0] = B + 1;
  }
}
//! sound 8 32
extern "C" __global__ void lock ARGS {
  if (T == 0) {
    while (atomicCAS(scratch, 0, 1) != 0) {
    }
    __threadfence();
    out[0] = out[0] * 3 + in[B];
    __threadfence();
    atomicExch(scratch, 0);
  }
}
//! racy 8 32
extern "C" __global__ void lock_without_fence ARGS {
  if (T == 0) {
    while (atomicCAS(scratch, 0, 1) != 0) {
    }
    out[0] = out[0] * 3 + in[B];
    atomicExch(scratch, 0);
  }
}
//! racy 8 32
extern "C" __global__ void two_locks_for_one_word ARGS {
  if (T == 0) {
    while (atomicCAS(scratch + B % 2, 0, 1) != 0) {
    }
    __threadfence();
    out[0] = out[0] * 3 + in[B];
    __threadfence();
    atomicExch(scratch + B % 2, 0);
  }
}
//! sound 4 64 cooperative
extern "C" __global__ void grid_barrier ARGS {
  auto grid = cooperative_groups::this_grid();
  scratch[I] = in[I] + 1;
  grid.sync();
  int v = scratch[255 - I];
  grid.sync();
  scratch[I] = v;
  grid.sync();
  out[I] = scratch[(I + 64) % 256];
}
//! racy 4 64 cooperative
extern "C" __global__ void grid_barrier_once_too_few ARGS {
  auto grid = cooperative_groups::this_grid();
  scratch[I] = in[I] + 1;
  grid.sync();
  int v = scratch[255 - I];
  scratch[I] = v;
  grid.sync();
  out[I] = scratch[(I + 64) % 256];
}
//! sound 4 64
extern "C" __global__ void own_grid_barrier ARGS {
  scratch[64 + I] = in[I];
  __syncthreads();
  if (T == 0) {
    __threadfence();
    atomicAdd(scratch, 1);
    while (atomicAdd(scratch, 0) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  out[I] = scratch[64 + 255 - I];
}
//! racy 4 64
extern "C" __global__ void own_grid_barrier_without_fence ARGS {
  scratch[64 + I] = in[I];
  __syncthreads();
  if (T == 0) {
    atomicAdd(scratch, 1);
    while (atomicAdd(scratch, 0) < gridDim.x) {
    }
  }
  __syncthreads();
  out[I] = scratch[64 + 255 - I];
}
//! sound 4 64
extern "C" __global__ void weights_read_by_all ARGS {
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += in[i] * in[64 + I];
  out[I] = sum;
}
//! racy 4 64
extern "C" __global__ void weights_scaled_by_one_block ARGS {
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += in[i];
  if (B == 3) in[T] = sum + T;
  out[I] = sum;
}
