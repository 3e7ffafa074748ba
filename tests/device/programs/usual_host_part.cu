#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <torch/extension.h>
#include <vector>
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define CUDA_CHECK(err)                                  \
  if (err != cudaSuccess) {                              \
    printf("CUDA error: %s\n", cudaGetErrorString(err)); \
    exit(-1);                                            \
  }
template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
  return 1.0 / (1.0 + exp(-z));
}
__inline__ __device__ float warpReduceSum(float val) {
  for (int o = warpSize / 2; o > 0; o /= 2) val += __shfl_down_sync(0xffffffff, val, o);
  return val;
}
template <typename scalar_t>
__global__ void lltm(const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> gates,
                     torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> out) {
  const int n = blockIdx.y;
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < gates.size(2)) out[n][c] = sigmoid(gates[n][0][c]);
}
__global__ void conv(const float* __restrict__ in, const float* __restrict__ w,
                     const float* __restrict__ bias, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * w[0] + (bias ? bias[0] : 0.f);
}
__global__ void red(const float* x, float* y, int n) {
  __shared__ float s[32];
  float v = warpReduceSum(x[threadIdx.x]);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  y[0] = s[0];
}
std::vector<torch::Tensor> fwd(torch::Tensor x, torch::Tensor w, c10::optional<torch::Tensor> bias_opt,
                               std::vector<int64_t> stride, torch::IntArrayRef pad, const double eps,
                               bool flag = true) {
  CHECK_INPUT(x);
  CHECK_INPUT(w);
  TORCH_CHECK(x.dtype() == torch::kFloat32 && x.scalar_type() == at::ScalarType::Float, "float only");
  TORCH_CHECK(x.sizes()[0] == w.sizes()[1], "bad ", x.sizes(), " and ", w.sizes());
  const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
  c10::cuda::CUDAGuard g2(x.device());
  const auto batch = x.size(0), ch = x.size(1);
  auto options = torch::TensorOptions().dtype(torch::kFloat32).device(x.device());
  auto o2 = torch::TensorOptions().dtype(x.dtype()).device(torch::kCUDA, 0).requires_grad(false);
  auto out = torch::empty({batch, ch, (x.size(2) + 2 * pad[0] - 3) / stride[0] + 1}, options);
  auto z = torch::zeros({}, x.options());
  auto z1 = torch::zeros(x.sizes(), x.options());
  auto z2 = torch::full({1}, 3.0, o2);
  std::vector<int64_t> os = x.sizes().vec();
  os[1] = ch;
  auto q = torch::empty(os, x.options());
  at::Tensor cont = x.contiguous().view({-1, ch}).transpose(0, 1).contiguous();
  const float* b = bias_opt.has_value() ? bias_opt.value().data_ptr<float>() : nullptr;
  const float* b2 = bias_opt ? bias_opt->data_ptr<float>() : nullptr;
  int n = x.numel();
  int64_t n64 = x.numel();
  const int threads = 256;
  const dim3 blocks((n + threads - 1) / threads, 1);
  int nb = (int)std::ceil(n / 256.0);
  nb = std::min(n, 1024);
  int nb2 = std::min<int64_t>(n64, 65535);
  auto mx = std::max(n64, (int64_t)4);
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  auto stream2 = at::cuda::getCurrentCUDAStream();
  conv<<<blocks, threads, 0, stream>>>(x.data_ptr<float>(), (const float*)w.data_ptr(), b,
                                       out.data_ptr<float>(), n);
  conv<<<CEIL_DIV(n, threads), threads, threads * sizeof(float), stream2>>>(
      x.data<float>(), w.data_ptr<float>(), b2, out.mutable_data_ptr<float>(), n64);
  AT_DISPATCH_FLOATING_TYPES(x.type(), "lltm", ([&] {
                               lltm<scalar_t><<<blocks, threads>>>(
                                   x.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
                                   out.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
                             }));
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "v", [&]() {
    using acc = at::acc_type<scalar_t, true>;
    acc a = 0;
    (void)a;
  });
  red<<<1, 1024, 0, c10::cuda::getCurrentCUDAStream().stream()>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                                                  n);
  CUDA_CHECK(cudaGetLastError());
  cudaError_t err = cudaGetLastError();
  TORCH_CHECK(err == cudaSuccess, "failed: ", cudaGetErrorString(err));
  if (err != cudaSuccess) {
    std::cerr << "x" << std::endl;
    AT_ERROR("no ", err);
  }
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int sm = prop.multiProcessorCount;
  size_t smem = prop.sharedMemPerBlockOptin;
  int dev;
  cudaGetDevice(&dev);
  cudaDeviceGetAttribute(&sm, cudaDevAttrMultiProcessorCount, dev);
  auto sizes = x.sizes();
  for (auto s : sizes) n += s;
  for (size_t i = 0; i < sizes.size(); ++i) n += sizes[i];
  float* tmp;
  cudaMalloc(&tmp, n * sizeof(float));
  cudaMalloc((void**)&tmp, 4);
  cudaMemsetAsync(tmp, 0, 4, stream);
  cudaFree(tmp);
  auto idx = torch::empty({n}, x.options().dtype(torch::kInt64));
  std::string s = "a";
  s += std::to_string(n);
  std::array<int64_t, 2> ar{1, 2};
  auto v3 = x.view(ar);
  torch::Tensor y = x.to(torch::kFloat16).to(torch::kCUDA);
  bool same = x.sizes() == y.sizes() && x.device() == y.device();
  assert(same);
  float f = x.item<float>();
  if (x.is_cuda() == false) throw std::invalid_argument("x must be " + s);
  return {out, idx};
}
