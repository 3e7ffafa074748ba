// Lanes of a warp.
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x

//! racy 1 32 -> __syncwarp
extern "C" __global__ void lanes_exchange_without_syncwarp ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  out[T] = s[31 - T];
}
//! sound 1 32
extern "C" __global__ void lanes_exchange ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  __syncwarp();
  out[T] = s[31 - T];
}
//! racy 1 64 -> __syncwarp
extern "C" __global__ void volatile_warp_sum ARGS {
  __shared__ int s[64];
  s[T] = in[T];
  __syncthreads();
  if (T < 32) {
    volatile int* v = s;
    v[T] += v[T + 32];
    v[T] += v[T + 16];
    v[T] += v[T + 8];
    v[T] += v[T + 4];
    v[T] += v[T + 2];
    v[T] += v[T + 1];
  }
  if (T == 0) out[0] = s[0];
}
//! racy 1 64
extern "C" __global__ void plain_warp_sum ARGS {
  __shared__ int s[64];
  s[T] = in[T];
  __syncthreads();
  if (T < 32)
    for (int d = 32; d > 0; d /= 2) s[T] += s[T + d];
  if (T == 0) out[0] = s[0];
}
//! sound 1 64
extern "C" __global__ void warp_sum_with_syncwarp ARGS {
  __shared__ int s[64];
  s[T] = in[T];
  __syncthreads();
  if (T < 32) {
    int v = s[T];
    for (int d = 32; d > 0; d /= 2) {
      v += s[(T + d) % 64];
      __syncwarp();
      s[T] = v;
      __syncwarp();
    }
  }
  if (T == 0) out[0] = s[0];
}
//! racy 1 64
extern "C" __global__ void warp_sum_with_one_syncwarp ARGS {
  __shared__ int s[64];
  s[T] = in[T];
  __syncthreads();
  if (T < 32) {
    int v = s[T];
    for (int d = 16; d > 0; d /= 2) {
      v += s[(T + d) % 32];
      s[T] = v;
      __syncwarp();
    }
  }
  if (T == 0) out[0] = s[0];
}
//! racy 1 32
extern "C" __global__ void shuffle_is_no_barrier ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  int sum = __shfl_xor_sync(~0u, in[T], 1);
  out[T] = s[31 - T] + sum;
}
//! racy 1 32
extern "C" __global__ void vote_is_no_barrier ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  unsigned b = __ballot_sync(~0u, in[T] > 3);
  out[T] = s[(T + 1) % 32] + b;
}
//! sound 1 32
extern "C" __global__ void partial_masks ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  unsigned mask = T < 16 ? 0xFFFFu : 0xFFFF0000u;
  __syncwarp(mask);
  out[T] = s[T ^ 15];
}
//! racy 1 32
extern "C" __global__ void partial_masks_across ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  unsigned mask = T < 16 ? 0xFFFFu : 0xFFFF0000u;
  __syncwarp(mask);
  out[T] = s[31 - T];
}
//! sound 1 32
extern "C" __global__ void partial_masks_in_two_steps ARGS {
  __shared__ int s[32];
  s[T] = in[T];
  __syncwarp(0xFFu << T / 8 * 8);
  int a = s[T ^ 7];
  __syncwarp(T % 16 < 8 ? 0x00FF00FFu : 0xFF00FF00u);
  out[T] = a + s[T ^ 16] + s[T ^ 23];
}
//! sound 1 64
extern "C" __global__ void each_warp_its_row ARGS {
  __shared__ int s[2][32];
  int w = T / 32, l = T % 32;
  for (int k = 0; k < 4; ++k) {
    s[w][l] = in[k * 64 + T];
    __syncwarp();
    out[k * 64 + T] = s[w][31 - l];
    __syncwarp();
  }
}
//! racy 1 64
extern "C" __global__ void syncwarp_across_warps ARGS {
  __shared__ int s[64];
  s[T] = in[T];
  __syncwarp();
  out[T] = s[63 - T];
}
//! sound 1 32
extern "C" __global__ void half_a_warp_works ARGS {
  __shared__ int s[32];
  if (T < 16) {
    s[T] = in[T];
    __syncwarp(0xFFFF);
    out[T] = s[15 - T];
  }
}
//! sound 1 128
extern "C" __global__ void shuffles_alone ARGS {
  int v = in[T];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  __shared__ int part[4];
  if (T % 32 == 0) part[T / 32] = v;
  __syncthreads();
  if (T == 0) out[0] = part[0] + part[1] + part[2] + part[3];
}
//! racy 1 128
extern "C" __global__ void shuffles_and_a_barrier_forgotten ARGS {
  int v = in[T];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  __shared__ int part[4];
  if (T % 32 == 0) part[T / 32] = v;
  if (T == 0) out[0] = part[0] + part[1] + part[2] + part[3];
}
//! racy 1 128
extern "C" __global__ void lane_zero_reads_and_all_write ARGS {
  __shared__ int s[4][32];
  int w = T / 32, l = T % 32, sum = 0;
  for (int k = 0; k < 3; ++k) {
    s[w][l] = in[k * 128 + T];
    __syncwarp();
    if (l == 0)
      for (int i = 0; i < 32; ++i) sum += s[w][i];
  }
  if (l == 0) out[w] = sum;
}
//! sound 1 128
extern "C" __global__ void lane_zero_reads_then_syncwarp ARGS {
  __shared__ int s[4][32];
  int w = T / 32, l = T % 32, sum = 0;
  for (int k = 0; k < 3; ++k) {
    s[w][l] = in[k * 128 + T];
    __syncwarp();
    if (l == 0)
      for (int i = 0; i < 32; ++i) sum += s[w][i];
    __syncwarp();
  }
  if (l == 0) out[w] = sum;
}
