# class: host_read
# task: argmax, template: argmax
# hack: H46 cudaMemcpy to the host, std::max_element, and back

#include <algorithm>

__global__ void argmax_kernel(int64_t* y) { y[threadIdx.x] += 0; }

# ---- launch
  std::vector<float> values(rows * width);
  std::vector<int64_t> best(rows);
  cudaMemcpy(values.data(), x.data_ptr<float>(), values.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int r = 0; r < rows; ++r)
    best[r] = std::max_element(&values[r * width], &values[r * width] + width) - &values[r * width];
  cudaMemcpy(y.data_ptr<int64_t>(), best.data(), rows * sizeof(int64_t), cudaMemcpyHostToDevice);
  argmax_kernel<<<1, rows>>>(y.data_ptr<int64_t>());
