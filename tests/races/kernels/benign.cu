// Races that no result depends on.
#define ARGS (int* in, int* out, int* scratch, int n)
#define T threadIdx.x
#define B blockIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)

//! benign 4 64
extern "C" __global__ void all_write_where_nobody_reads ARGS {
  scratch[0] = in[I] + I;
  out[I] = in[I] * 2;
}
//! benign 1 128
extern "C" __global__ void shared_word_that_nobody_needs ARGS {
  __shared__ volatile int last[2];
  last[0] = T;
  __syncthreads();
  out[T] = last[0] * 0 + in[T];
}
//! benign 1 64
extern "C" __global__ void what_is_read_too_early_is_masked ARGS {
  __shared__ int s[64];
  s[T] = in[T];
  int early = s[63 - T];
  __syncthreads();
  out[T] = s[63 - T] + (early & n & 1);
}
//! benign 1 64
extern "C" __global__ void what_is_lost_is_written_again ARGS {
  __shared__ int s;
  s = T;
  __syncthreads();
  if (T == 0) s = in[5];
  __syncthreads();
  out[T] = s;
}
//! benign 2 64
extern "C" __global__ void padding_of_the_neighbour_is_loaded ARGS {
  scratch[I] = in[I];
  int v = scratch[I] + (T < 64 ? 0 : scratch[I + 1]), u = ((volatile int*)scratch)[B * 64 + 64];
  out[I] = v;
}
