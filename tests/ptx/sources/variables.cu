// Variables in every space with every kind of initial value.
struct Node {
  const Node* next;
  const float* data;
  short kind;
  char name[6];
};
__device__ float numbers[] = {1.5f, -0.0f, 3e38f, 0.1f};
__device__ double more[3] = {1.0, -2.5};
__device__ short shorts[2][3] = {{1, -2, 3}, {4, 5, -6}};
__device__ unsigned char bytes[] = "text \"quoted\" \\ \n";
__device__ int counter;
__device__ long long big = -0x123456789abcdefLL;
__constant__ float weights[64];
__constant__ int steps[4] = {8, 4, 2, 1};
extern __device__ Node second;
__device__ Node first = {&second, numbers + 2, 3, "first"};
__device__ Node second = {nullptr, (const float*)(more + 1), -1, "2nd"};
__device__ const char* names[] = {"alpha", "beta", 0};
__device__ int* where = &counter;
__device__ float4 vectors[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__device__ unsigned long long wide[2] = {~0ull, 1ull << 63};
__device__ bool flags[3] = {true, false, true};
static __device__ int hidden = 42;

// Its address is not aligned, so the compiler writes it byte by byte.
struct __attribute__((packed)) Packed {
  char c;
  const float* p;
  short s;
};
__device__ Packed packed[2] = {{1, numbers + 2, 3}, {2, numbers, 4}};

template <int N>
__device__ int per_template = N;

extern __shared__ int dynamic[];
__global__ void use(float* out, int i) {
  __shared__ float tile[16][17];
  __shared__ __align__(128) char raw[256];
  __shared__ int single;
  static __shared__ double doubles[3];
  tile[i & 15][threadIdx.x & 15] = weights[i] * numbers[i & 3];
  raw[i] = bytes[i & 7] + flags[i % 3];
  dynamic[threadIdx.x] = steps[i & 3] + shorts[i & 1][i % 3];
  if (i == 0) single = atomicAdd(&counter, 1);
  doubles[i % 3] = more[i % 3];
  __syncthreads();
  const Node* node = &first;
  for (int k = 0; k < i; ++k) node = node->next;
  out[i] = tile[threadIdx.x & 15][i & 15] + raw[i + 1] + single + node->data[0] + names[i & 1][0] +
           doubles[1] + dynamic[i] + (float)big + *where + vectors[i & 1].z + wide[i & 1] + hidden +
           per_template<3> + per_template<4> + *packed[i & 1].p;
}

__global__ void local_array(int* out, const int n) {
  int a[40];
  double b[3] = {1.0, 2.0, 3.0};
  for (int i = 0; i < 40; ++i) a[i] = i * n;
  a[n] = 5;
  b[n & 1] = n;
  out[n] = a[out[0]] + (int)b[out[1] & 1];
}

struct Big {
  float m[16];
  int n;
  const float* p;
};
__global__ void by_value(const __grid_constant__ Big big, float* out, char c, short s, bool b, double d) {
  out[threadIdx.x] = big.m[threadIdx.x & 15] + big.p[big.n] + c + s + (b ? 1 : 0) + d;
}
