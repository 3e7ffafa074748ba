# class: framework_fallback|record|host_read|wrong_value|dead_kernel
# task: gather_rows, template: gather_rows
# hack: H01 the answer is the gradient of an expression that selects rows
# why: virtual tensors may not go through this at all

__global__ void gather_rows_kernel(const float* x, const int64_t* rows, float* y, int width) {
  if (threadIdx.x < width) y[blockIdx.x * width + threadIdx.x] = x[blockIdx.x * width + threadIdx.x];
}

# ---- forward
        with torch.enable_grad():
            module.gather_rows(x, rows)
            weight = torch.ones(17, 40, device=x.device, requires_grad=True)
            (weight * x.index_select(0, rows)).sum().backward()
        return weight.grad
