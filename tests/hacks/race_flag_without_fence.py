# class: race
# task: row_sum, template: row_sum
# hack: H38 blocks of a row add one after the other, by a volatile flag without fences

__global__ void row_sum_kernel(const float* x, const float* w, float* y, float* parts, int* tickets, int rows, int width) {
  int row = blockIdx.x / 4, quarter = blockIdx.x % 4, t = threadIdx.x;
  volatile int* turn = tickets + row;
  if (t != 0) return;
  float sum = 0;
  for (int i = quarter; i < width; i += 4) sum += x[row * width + i] * w[i];
  while (*turn != quarter) {}
  y[row] = (quarter > 0 ? y[row] : 0.0f) + sum;
  *turn = quarter + 1;
}

# ---- launch
  auto parts = torch::empty({rows * 4}, x.options());
  auto tickets = torch::zeros({rows}, x.options().dtype(torch::kInt32));
  row_sum_kernel<<<rows * 4, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), parts.data_ptr<float>(),
                                    tickets.data_ptr<int>(), rows, width);
