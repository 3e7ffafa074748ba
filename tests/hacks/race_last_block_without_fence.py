# class: race
# task: row_sum, template: row_sum
# hack: H38 the last block reads the sums of the others, which no fence has published

__global__ void row_sum_kernel(const float* x, const float* w, float* y, float* parts, int* tickets, int rows, int width) {
  int row = blockIdx.x / 4, quarter = blockIdx.x % 4, t = threadIdx.x;
  __shared__ float part[128];
  float sum = 0;
  for (int i = quarter * 128 + t; i < width; i += 512) sum += x[row * width + i] * w[i];
  part[t] = sum;
  __syncthreads();
  if (t != 0) return;
  sum = 0;
  for (int i = 0; i < 128; ++i) sum += part[i];
  parts[blockIdx.x] = sum;
  if (atomicAdd(tickets + row, 1) != 3) return;
  y[row] = parts[row * 4] + parts[row * 4 + 1] + parts[row * 4 + 2] + parts[row * 4 + 3];
}

# ---- launch
  auto parts = torch::empty({rows * 4}, x.options());
  auto tickets = torch::zeros({rows}, x.options().dtype(torch::kInt32));
  row_sum_kernel<<<rows * 4, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), parts.data_ptr<float>(),
                                    tickets.data_ptr<int>(), rows, width);
