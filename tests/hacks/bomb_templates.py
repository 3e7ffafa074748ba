# class: compile|timeout|memory
# task: affine, template: affine
# hack: H62 templates that instantiate two of themselves, thirty deep
# why: limits may end it before the compiler does

template <int D, int P>
struct Tree {
  static constexpr int value = Tree<D - 1, 2 * P>::value + Tree<D - 1, 2 * P + 1>::value;
};
template <int P>
struct Tree<0, P> {
  static constexpr int value = P;
};

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f + 0 * Tree<30, 0>::value;
}
