// Instances with names of every kind; g++ calls what NVRTC launches.
#ifdef __CUDACC_RTC__
#define LAUNCH(kernel, ...) kernel<<<1, 1>>>(__VA_ARGS__)
#else
#define LAUNCH(kernel, ...) kernel(__VA_ARGS__)
#endif

enum Color { kRed, kGreen };
enum class Mode : int { kA, kB };
struct Plain {
  float v;
};
template <class T, int n>
struct Nested {
  T v[n];
  struct Inner {
    int w;
  };
};

__global__ void plain(float* x) { x[0] = 1; }
extern "C" __global__ void unmangled(float* x) { x[0] = 1; }
static __global__ void internal(const float* x, float* y, int64_t n, size_t m) { y[n] = x[m]; }
template <class T>
static __global__ void internal_template(T* x) {
  x[0] = T(1);
}
template <class T, int n>
__global__ void typed(T* x) {
  x[n] = x[0];
}
template <Color c, Mode m, bool b, char t, unsigned u, long long l>
__global__ void valued(int* x) {
  x[0] = c + int(m) + b + t + int(u) + int(l);
}
template <class F>
__global__ void apply(F f, float* x) {
  x[0] = f(x[1]);
}
template <class... A>
__global__ void variadic(int* x, A... a) {
  x[0] = (int(a) + ... + 0);
}
template <class T>
__global__ void structured(T value, float* x) {
  x[0] = reinterpret_cast<const char&>(value);
}
template <template <class, int> class C>
__global__ void templated(C<float, 3>* x) {
  x[0].v[0] = 1;
}
template <float (*f)(float)>
__global__ void through(float* x) {
  x[0] = f(x[1]);
}
__global__ void accessor(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a, float* x) {
  x[0] = reinterpret_cast<const char&>(a);
}
static __device__ float half_of(float v) { return v / 2; }
__device__ float third_of(float v) { return v / 3; }

namespace {
__global__ void unnamed(float* x) { x[0] = 2; }
struct Local {
  __device__ float operator()(float v) const { return v + 1; }
};
template <class T>
__global__ void unnamed_template(T* x, const T* y, T** z) {
  x[0] = y[0] + z[0][0];
}
namespace deeper {
static __global__ void kernel(float* x) { x[0] = 3; }
}  // namespace deeper
}  // namespace

namespace ops {
__global__ void kernel(float* x) { x[0] = 4; }
static __global__ void internal(float* x) { x[0] = 5; }
namespace {
template <class T, class F>
__global__ void unnamed(F f, T* x, const Plain& (*)(T)) {
  x[0] = f(x[1]);
}
}  // namespace
inline namespace v2 {
template <int64_t n>
__global__ void versioned(float* x) {
  x[n] = 1;
}
}  // namespace v2
static __device__ float quarter_of(float v) { return v / 4; }
template <class F, float (*f)(float)>
__global__ void through(F g, float* x) {
  x[0] = f(g(x[1]));
}
struct Owner {
  template <class T>
  void launch(T* x) {
    auto add = [=](T v) { return v + T(1); };
    LAUNCH(apply, add, x);
  }
};
}  // namespace ops

void forward(at::Tensor tensor, std::vector<at::Tensor> list, const std::string& mode,
             std::optional<at::Tensor> more, std::tuple<int, at::Tensor> pair,
             std::function<int(float)> function, std::unordered_map<std::string, std::vector<int64_t>>& map,
             c10::ArrayRef<int64_t> sizes, float* x) {
  int* i = nullptr;
  LAUNCH(plain, x);
  LAUNCH(unmangled, x);
  LAUNCH(internal, x, x, 3, 4);
  LAUNCH(internal_template, x);
  LAUNCH((typed<float, 4>), x);
  LAUNCH((typed<int64_t, -1>), (int64_t*)nullptr);
  LAUNCH((typed<uint8_t, 40>), (uint8_t*)nullptr);
  LAUNCH((typed<c10::Half, 1>), (c10::Half*)nullptr);
  LAUNCH((typed<c10::BFloat16, 1>), (c10::BFloat16*)nullptr);
  LAUNCH((valued<kGreen, Mode::kB, true, 'c', 7u, -12345678901LL>), i);
  LAUNCH((apply<Local>), Local(), x);
  float factor = 2;
  LAUNCH(
      apply, [=](float v) { return v * factor; }, x);
  LAUNCH(
      apply, [](float v) { return v * v; }, x);
  LAUNCH(variadic, i, 1, 2.f, 'c', 3L);
  LAUNCH((structured<Nested<double, 2>>), (Nested<double, 2>{}), x);
  LAUNCH((structured<Nested<Local, 2>::Inner>), (Nested<Local, 2>::Inner{}), x);
  LAUNCH((structured<std::array<float, 4>>), (std::array<float, 4>{}), x);
  LAUNCH((structured<std::pair<int, float>>), (std::pair<int, float>{}), x);
  LAUNCH((templated<Nested>), (Nested<float, 3>*)nullptr);
  LAUNCH((through<half_of>), x);
  LAUNCH((through<third_of>), x);
  LAUNCH(accessor, {}, x);
  LAUNCH(unnamed, x);
  LAUNCH(unnamed_template, x, x, &x);
  LAUNCH(deeper::kernel, x);
  LAUNCH(ops::kernel, x);
  LAUNCH(ops::internal, x);
  LAUNCH((ops::unnamed<float, Local>), Local(), x, nullptr);
  LAUNCH(ops::versioned<5>, x);
  LAUNCH((through<ops::quarter_of>), x);
  LAUNCH((ops::through<Local, ops::quarter_of>), Local(), x);
  ops::Owner().launch(x);
  LAUNCH((typed<Plain, 2>), (Plain*)nullptr);
}
