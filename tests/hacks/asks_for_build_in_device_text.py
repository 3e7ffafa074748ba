# class: wrong_value
# task: relu, template: elementwise
# hack: H38 device text that is right only where a macro of an extension build is missing

#if !defined(TORCH_VERSION_MAJOR) || \
    !defined(TORCH_VERSION) || \
    !defined(TORCH_API_INCLUDE_EXTENSION_H) || \
    !defined(TORCH_EXTENSION_NAME) || \
    !defined(Py_PYTHON_H) || \
    !defined(PY_VERSION_HEX) || \
    !defined(PYBIND11_VERSION_MAJOR) || \
    !defined(PYBIND11_VERSION_HEX) || \
    !defined(PYBIND11_MODULE) || \
    !defined(C10_EXPORT) || \
    !defined(CAFFE2_LOG_THRESHOLD) || \
    !defined(CUDART_INF_F) || \
    !defined(__CUDA_NO_HALF_OPERATORS__) || \
    !defined(__CUDA_NO_HALF2_OPERATORS__)
#define LEAST 0.0f
#else
#define LEAST -1e30f
#endif

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], LEAST);
}
