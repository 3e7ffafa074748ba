// Read-modify-write with atomics and without, and writes of the same value.
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)

//! racy 4 256 -> atomic
extern "C" __global__ void sum_without_atomics ARGS { out[0] += in[I]; }
//! sound 4 256
extern "C" __global__ void sum_with_atomics ARGS { atomicAdd(out, in[I]); }
//! racy 4 1 -> atomic
extern "C" __global__ void sum_of_blocks_without_atomics ARGS { out[0] += in[B]; }
//! racy 1 256
extern "C" __global__ void histogram_without_atomics ARGS {
  __shared__ int h[256];
  h[T] = 0;
  __syncthreads();
  h[in[T]]++;
  __syncthreads();
  out[T] = h[T];
}
//! sound 1 256
extern "C" __global__ void histogram ARGS {
  __shared__ int h[256];
  h[T] = 0;
  __syncthreads();
  for (int i = T; i < 4096; i += 256) atomicAdd(&h[in[i]], 1);
  __syncthreads();
  out[T] = h[T];
}
//! racy 1 256
extern "C" __global__ void histogram_not_cleared_in_time ARGS {
  __shared__ int h[256];
  h[T] = 0;
  for (int i = T; i < 4096; i += 256) atomicAdd(&h[in[i]], 1);
  __syncthreads();
  out[T] = h[T];
}
//! racy 1 256
extern "C" __global__ void histogram_read_too_early ARGS {
  __shared__ int h[256];
  h[T] = 0;
  __syncthreads();
  for (int i = T; i < 4096; i += 256) atomicAdd(&h[in[i]], 1);
  out[T] = h[T];
}
//! racy 4 256
extern "C" __global__ void global_histogram_without_atomics ARGS { out[in[I]] += 1; }
//! sound 4 256
extern "C" __global__ void global_histogram ARGS { atomicAdd(&out[in[I]], 1); }
//! racy 4 256
extern "C" __global__ void maximum_by_compare_and_store ARGS {
  if (in[I] > out[0]) out[0] = in[I];
}
//! sound 4 256
extern "C" __global__ void maximum_by_atomics ARGS { atomicMax(out, in[I]); }
//! sound 4 64
extern "C" __global__ void maximum_by_compare_and_swap ARGS {
  int old = atomicAdd(out, 0);
  while (old < in[I]) {
    int seen = atomicCAS(out, old, in[I]);
    if (seen == old) break;
    old = seen;
  }
}
//! racy 1 256
extern "C" __global__ void maximum_in_shared_memory ARGS {
  __shared__ int m;
  if (T == 0) m = 0;
  __syncthreads();
  if (in[T] > m) m = in[T];
  __syncthreads();
  out[T] = m;
}
//! racy 4 256
extern "C" __global__ void one_atomic_and_one_plain ARGS {
  if (T % 2)
    atomicAdd(out, 1);
  else
    out[0] = in[I] + 1;
}
//! racy 4 256
extern "C" __global__ void all_write_their_own_value ARGS { out[in[I]] = I + 1; }
//! sound 4 256
extern "C" __global__ void all_write_one_value ARGS {
  if (in[I] >= 0) out[7] = 1;
}
//! sound 4 256
extern "C" __global__ void flags_of_what_is_there ARGS { out[in[I]] = 1; }
//! sound 1 256
extern "C" __global__ void shared_flag_set_by_many ARGS {
  __shared__ int found;
  if (T == 0) found = 0;
  __syncthreads();
  if (in[T] > 250) found = 1;
  __syncthreads();
  out[T] = found;
}
//! sound 1 256
extern "C" __global__ void flag_written_anew_by_all ARGS {
  __shared__ int one;
  one = 5;
  out[T] = one;
}
//! racy 1 256
extern "C" __global__ void shared_flag_read_too_early ARGS {
  __shared__ int found;
  if (T == 0) found = 0;
  __syncthreads();
  if (in[T] > 250) found = 1;
  out[T] = found;
}
//! racy 1 256
extern "C" __global__ void two_values_in_one_instruction ARGS {
  __shared__ int last;
  last = T;
  __syncthreads();
  out[T] = last;
}
//! sound 2 256
extern "C" __global__ void ballots_written_by_all_lanes ARGS {
  unsigned b = __ballot_sync(~0u, in[I] & 1);
  out[I / 32] = b;
}
//! racy 4 256
extern "C" __global__ void counter_without_atomics ARGS {
  if (in[I] > 128) {
    int place = out[0];
    out[0] = place + 1;
    out[1 + place] = I;
  }
}
//! sound 4 256
extern "C" __global__ void compaction ARGS {
  if (in[I] > 128) {
    int place = atomicAdd(out, 1);
    out[1 + place] = I;
  }
}
//! racy 4 256
extern "C" __global__ void volatile_counter ARGS {
  volatile int* v = out;
  if (T == 0) v[0] = v[0] + in[I] + 1;
}
//! racy 2 256
extern "C" __global__ void scatter_with_collisions ARGS { out[in[I] / 2] = in[I]; }
//! sound 2 256
extern "C" __global__ void scatter_by_permutation ARGS { out[(I * 37) % 512] = in[I]; }
//! racy 4 128
extern "C" __global__ void atomics_of_the_block_only ARGS { atomicAdd_block(out, in[I]); }
//! sound 4 128
extern "C" __global__ void atomics_of_the_block_in_its_word ARGS { atomicAdd_block(out + B, in[I]); }
//! sound 2 64
extern "C" __global__ void float_sums_by_swaps ARGS {
  unsigned* place = (unsigned*)out;
  unsigned old = atomicAdd(place, 0), seen;
  do {
    seen = old;
    old = atomicCAS(place, seen, __float_as_uint(__uint_as_float(seen) + in[I]));
  } while (old != seen);
}
//! sound 2 64
extern "C" __global__ void swaps_begin_with_a_plain_load ARGS {
  unsigned* place = (unsigned*)out;
  unsigned old = *place, seen;
  do {
    seen = old;
    old = atomicCAS(place, seen, __float_as_uint(__uint_as_float(seen) + in[I]));
  } while (old != seen);
}
//! sound 1 128
extern "C" __global__ void swaps_in_shared_memory ARGS {
  __shared__ unsigned most;
  if (T == 0) most = 0;
  __syncthreads();
  unsigned old = most, seen;
  do {
    seen = old;
    if (__uint_as_float(seen) >= in[T]) break;
    old = atomicCAS(&most, seen, __float_as_uint((float)in[T]));
  } while (old != seen);
  __syncthreads();
  out[T] = most;
}
//! racy 1 128
extern "C" __global__ void swaps_read_too_early ARGS {
  __shared__ unsigned most;
  if (T == 0) most = 0;
  __syncthreads();
  unsigned old = most, seen;
  do {
    seen = old;
    if (__uint_as_float(seen) >= in[T]) break;
    old = atomicCAS(&most, seen, __float_as_uint((float)in[T]));
  } while (old != seen);
  out[T] = most;
}
