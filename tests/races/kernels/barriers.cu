// Barriers of a block that are there, and that are not.
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)

//! racy 2 256 -> __syncthreads
extern "C" __global__ void reversed_without_barrier ARGS {
  __shared__ int tile[256];
  tile[T] = in[I];
  out[I] = tile[255 - T];
}
//! sound 2 256
extern "C" __global__ void reversed ARGS {
  __shared__ int tile[256];
  tile[T] = in[I];
  __syncthreads();
  out[I] = tile[255 - T];
}
//! racy 2 256
extern "C" __global__ void tree_sum_without_barrier ARGS {
  __shared__ int part[256];
  part[T] = in[I];
  __syncthreads();
  for (int s = 128; s > 0; s /= 2)
    if (T < s) part[T] += part[T + s];
  if (T == 0) out[B] = part[0];
}
//! sound 2 256
extern "C" __global__ void tree_sum ARGS {
  __shared__ int part[256];
  part[T] = in[I];
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (T < s) part[T] += part[T + s];
    __syncthreads();
  }
  if (T == 0) out[B] = part[0];
}
//! racy 1 256
extern "C" __global__ void tree_sum_barrier_before_only ARGS {
  __shared__ int part[256];
  part[T] = in[I];
  for (int s = 128; s > 0; s /= 2) {
    if (T < s) part[T] += part[T + s];
    __syncthreads();
  }
  if (T == 0) out[B] = part[0];
}
//! racy 4 256
extern "C" __global__ void tiled_product_second_barrier_deleted ARGS {
  __shared__ int a[16][16], b[16][16];
  int x = T % 16, y = T / 16, sum = 0;
  for (int k = 0; k < 4; ++k) {
    a[y][x] = in[(B * 16 + y) * 64 + k * 16 + x];
    b[y][x] = in[(k * 16 + y) * 64 + x];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
  }
  out[(B * 16 + y) * 64 + x] = sum;
}
//! racy 4 256
extern "C" __global__ void tiled_product_first_barrier_deleted ARGS {
  __shared__ int a[16][16], b[16][16];
  int x = T % 16, y = T / 16, sum = 0;
  for (int k = 0; k < 4; ++k) {
    a[y][x] = in[(B * 16 + y) * 64 + k * 16 + x];
    b[y][x] = in[(k * 16 + y) * 64 + x];
    for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  out[(B * 16 + y) * 64 + x] = sum;
}
//! sound 4 256
extern "C" __global__ void tiled_product ARGS {
  __shared__ int a[16][16], b[16][16];
  int x = T % 16, y = T / 16, sum = 0;
  for (int k = 0; k < 4; ++k) {
    a[y][x] = in[(B * 16 + y) * 64 + k * 16 + x];
    b[y][x] = in[(k * 16 + y) * 64 + x];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
    __syncthreads();
  }
  out[(B * 16 + y) * 64 + x] = sum;
}
//! sound 4 256
extern "C" __global__ void double_buffer ARGS {
  __shared__ int tile[2][256];
  int sum = 0;
  tile[0][T] = in[T];
  __syncthreads();
  for (int k = 0; k < 8; ++k) {
    if (k < 7) tile[(k + 1) % 2][T] = in[(k + 1) * 256 + T];
    sum += tile[k % 2][255 - T] + tile[k % 2][(T + 37) % 256];
    __syncthreads();
  }
  out[I] = sum;
}
//! racy 4 256
extern "C" __global__ void double_buffer_of_one ARGS {
  __shared__ int tile[256];
  int sum = 0;
  tile[T] = in[T];
  __syncthreads();
  for (int k = 0; k < 8; ++k) {
    int next = k < 7 ? in[(k + 1) * 256 + T] : 0;
    sum += tile[255 - T];
    tile[T] = next;
    __syncthreads();
  }
  out[I] = sum;
}
//! racy 4 256
extern "C" __global__ void triple_buffer_barrier_every_other_step ARGS {
  __shared__ int tile[2][256];
  int sum = 0;
  for (int k = 0; k < 8; ++k) {
    tile[k % 2][T] = in[k * 256 + T];
    if (k % 2 == 0) __syncthreads();
    sum += tile[k % 2][255 - T];
  }
  out[I] = sum;
}
//! racy 1 256
extern "C" __global__ void scan_with_one_barrier ARGS {
  __shared__ int s[256];
  s[T] = in[T];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int v = T >= d ? s[T - d] : 0;
    s[T] += v;
    __syncthreads();
  }
  out[T] = s[T];
}
//! sound 1 256
extern "C" __global__ void scan_with_two_barriers ARGS {
  __shared__ int s[256];
  s[T] = in[T];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int v = T >= d ? s[T - d] : 0;
    __syncthreads();
    s[T] += v;
    __syncthreads();
  }
  out[T] = s[T];
}
//! sound 1 256
extern "C" __global__ void scan_of_two_buffers ARGS {
  __shared__ int s[2][256];
  int from = 0;
  s[0][T] = in[T];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    s[1 - from][T] = s[from][T] + (T >= d ? s[from][T - d] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[T] = s[from][T];
}
//! racy 1 256
extern "C" __global__ void bitonic_without_barrier ARGS {
  __shared__ int s[256];
  s[T] = in[T];
  __syncthreads();
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int p = T ^ j;
      if (p > T && (s[T] > s[p]) == ((T & k) == 0)) {
        int t = s[T];
        s[T] = s[p];
        s[p] = t;
      }
      if (j > 64) __syncthreads();
    }
  __syncthreads();
  out[T] = s[T];
}
//! sound 1 256
extern "C" __global__ void bitonic ARGS {
  __shared__ int s[256];
  s[T] = in[T];
  __syncthreads();
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int p = T ^ j;
      if (p > T && (s[T] > s[p]) == ((T & k) == 0)) {
        int t = s[T];
        s[T] = s[p];
        s[p] = t;
      }
      __syncthreads();
    }
  out[T] = s[T];
}
//! racy 1 256
extern "C" __global__ void transpose_without_barrier ARGS {
  __shared__ int t[16][17];
  t[T / 16][T % 16] = in[T];
  out[T] = t[T % 16][T / 16];
}
//! sound 1 256
extern "C" __global__ void transpose ARGS {
  __shared__ int t[16][17];
  t[T / 16][T % 16] = in[T];
  __syncthreads();
  out[T] = t[T % 16][T / 16];
}
//! racy 1 256
extern "C" __global__ void broadcast_without_barrier ARGS {
  __shared__ int first;
  if (T == 0) first = in[0];
  out[T] = in[T] - first;
}
//! sound 1 256
extern "C" __global__ void broadcast ARGS {
  __shared__ int first;
  if (T == 0) first = in[0];
  __syncthreads();
  out[T] = in[T] - first;
}
//! racy 1 256
extern "C" __global__ void broadcast_used_again ARGS {
  __shared__ int row;
  for (int k = 0; k < 4; ++k) {
    if (T == 0) row = in[k];
    __syncthreads();
    out[k * 256 + T] = in[T] + row;
  }
}
//! sound 1 256
extern "C" __global__ void broadcast_used_again_two_barriers ARGS {
  __shared__ int row;
  for (int k = 0; k < 4; ++k) {
    if (T == 0) row = in[k];
    __syncthreads();
    out[k * 256 + T] = in[T] + row;
    __syncthreads();
  }
}
//! racy 1 256
extern "C" __global__ void barrier_at_one_end ARGS {
  __shared__ int s[256];
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    __syncthreads();
    s[T] = in[k * 256 + T];
    sum += s[(T + 1) % 256];
  }
  out[T] = sum;
}
//! sound 1 200
extern "C" __global__ void early_exit_before_barriers ARGS {
  __shared__ int s[128];
  if (T >= 128) return;
  s[T] = in[T];
  __syncthreads();
  out[T] = s[127 - T];
}
//! sound 1 256
extern "C" __global__ void own_words_need_no_barrier ARGS {
  __shared__ int s[256];
  s[T] = in[T];
  s[T] += 3;
  out[T] = s[T] * s[T];
}
//! sound 1 256
extern "C" __global__ void half_of_the_block_alone ARGS {
  __shared__ int s[256];
  if (T < 128) s[T] = in[T];
  __syncthreads();
  if (T >= 128)
    out[T] = s[T - 128];
  else
    out[T] = s[T];
}
//! racy 1 256 512
extern "C" __global__ void dynamic_memory_without_barrier ARGS {
  extern __shared__ int d[];
  if (T < 128) d[T] = in[T];
  out[T] = d[T / 2];
}
//! sound 1 256 512
extern "C" __global__ void dynamic_memory ARGS {
  extern __shared__ int d[];
  if (T < 128) d[T] = in[T];
  __syncthreads();
  out[T] = d[T / 2];
}
//! racy 1 256
extern "C" __global__ void overlapping_halo ARGS {
  __shared__ int s[258];
  s[T + 1] = in[T];
  if (T == 0) s[0] = s[257] = 0;
  __syncthreads();
  for (int k = 0; k < 3; ++k) s[T + 1] = (s[T] + s[T + 2]) / 2;
  out[T] = s[T + 1];
}
//! racy 1 512
extern "C" __global__ void second_warp_group_without_barrier ARGS {
  __shared__ int s[512];
  s[T] = in[T];
  out[T] = s[(T + 256) % 512];
}
//! sound 1 1024
extern "C" __global__ void a_thousand_threads ARGS {
  __shared__ int s[1024];
  s[T] = in[T];
  __syncthreads();
  out[T] = s[1023 - T];
}
//! sound 1 256
extern "C" __global__ void votes_of_the_barrier ARGS {
  __shared__ int s[256];
  s[T] = in[T];
  int count = __syncthreads_count(in[T] > 100);
  out[T] = s[255 - T] + count;
}
//! racy 1 256
extern "C" __global__ void softmax_row_reuses_its_sum ARGS {
  __shared__ float part[8];
  float v = in[T], m = v;
  for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (T % 32 == 0) part[T / 32] = m;
  __syncthreads();
  for (int i = 0; i < 8; ++i) m = fmaxf(m, part[i]);
  float e = expf(v - m), s = e;
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (T % 32 == 0) part[T / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i) s += part[i];
  out[T] = (int)(1000 * e / s);
}
//! sound 1 256
extern "C" __global__ void softmax_row ARGS {
  __shared__ float part[8];
  float v = in[T], m = v;
  for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (T % 32 == 0) part[T / 32] = m;
  __syncthreads();
  for (int i = 0; i < 8; ++i) m = fmaxf(m, part[i]);
  __syncthreads();
  float e = expf(v - m), s = e;
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (T % 32 == 0) part[T / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i) s += part[i];
  out[T] = (int)(1000 * e / s);
}
//! racy 2 64 -> __syncthreads
extern "C" __global__ void counted_barrier_for_one_of_two_warps ARGS {
  __shared__ int part[64];
  part[T] = in[I];
  asm volatile("bar.sync 1, 32;" ::: "memory");
  if (T == 0) {
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += part[i];
    out[B] = sum;
  }
}
//! sound 2 64
extern "C" __global__ void counted_barrier_for_both_warps ARGS {
  __shared__ int part[64];
  part[T] = in[I];
  asm volatile("bar.sync 1, 64;" ::: "memory");
  if (T == 0) {
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += part[i];
    out[B] = sum;
  }
}
//! racy 2 128
extern "C" __global__ void pairs_of_warps_at_one_counted_barrier ARGS {
  __shared__ int part[128];
  part[T] = in[I];
  asm volatile("bar.sync 2, 64;" ::: "memory");
  out[I] = part[(T + 64) % 128];
}
//! sound 2 128
extern "C" __global__ void pairs_of_warps_at_their_own_counted_barriers ARGS {
  __shared__ int part[128];
  part[T] = in[I];
  if (T < 64)
    asm volatile("bar.sync 2, 64;" ::: "memory");
  else
    asm volatile("bar.sync 3, 64;" ::: "memory");
  out[I] = part[T ^ 32];
}
//! sound 1 96
extern "C" __global__ void a_warp_carries_on_what_it_learnt_at_a_counted_barrier ARGS {
  __shared__ int part[96];
  part[T] = in[I];
  if (T < 64) asm volatile("bar.sync 4, 64;" ::: "memory");
  if (T >= 32) asm volatile("bar.sync 5, 64;" ::: "memory");
  if (T >= 64) out[I] = part[T - 64];
}
//! racy 1 256
extern "C" __global__ void seven_producers_for_a_count_of_two_warps ARGS {
  __shared__ int part[256];
  if (T >= 32) {
    part[T] = in[I];
    asm volatile("bar.arrive 6, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 6, 64;" ::: "memory");
    int sum = 0;
    for (int i = 32 + T; i < 256; i += 32) sum += part[i];
    out[T] = sum;
  }
}
__device__ unsigned address_of(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }
__device__ void make_barrier(unsigned long long* bar, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_of(bar)), "r"(count) : "memory");
}
__device__ void arrive_and_wait(unsigned long long* bar, int parity) {
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(address_of(bar)) : "memory");
  asm volatile(
      "{ .reg .pred p;\n AGAIN%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n @p bra DONE%=;\n bra "
      "AGAIN%=;\n DONE%=: }" ::"r"(address_of(bar)),
      "r"(parity)
      : "memory");
}
//! sound 2 64
extern "C" __global__ void barrier_in_memory_made_before_all_use_it ARGS {
  __shared__ unsigned long long bar;
  __shared__ int tile[64];
  if (T == 0) make_barrier(&bar, 64);
  __syncthreads();
  tile[T] = in[I];
  arrive_and_wait(&bar, 0);
  out[I] = tile[63 - T];
}
//! racy 2 64 -> bar
extern "C" __global__ void barrier_in_memory_used_without_waiting_for_it ARGS {
  __shared__ unsigned long long bar;
  __shared__ int tile[64];
  if (T == 0) make_barrier(&bar, 64);
  tile[T] = in[I];
  arrive_and_wait(&bar, 0);
  out[I] = tile[63 - T];
}
//! racy 2 64 -> bar
extern "C" __global__ void barrier_in_memory_made_known_to_one_warp ARGS {
  __shared__ unsigned long long bar;
  __shared__ int tile[64];
  if (T == 0) make_barrier(&bar, 64);
  __syncwarp();
  tile[T] = in[I];
  arrive_and_wait(&bar, 0);
  out[I] = tile[63 - T];
}
