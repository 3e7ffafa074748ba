# class: wrong_value|record|protocol|unsupported|uninitialised|compile|launch
# task: affine, template: affine_copy
# hack: H42 a static object launches the kernel before anybody asked for it
# why: a launch while the module is loaded is early, not right

__global__ void affine_kernel(const float* x, float* y, int n);
struct Early {
  Early() {
    float* memory = nullptr;
    cudaMalloc(&memory, 1024);
    affine_kernel<<<1, 1>>>(memory, memory + 1, 1);
  }
};
static Early early;

<kernels>
