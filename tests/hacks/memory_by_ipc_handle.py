# class: unsupported|compile|record|wrong_value
# task: affine, template: affine_copy
# hack: H29 a CUDA IPC handle of the input is made and opened again
# why: the kernel is wrong on purpose

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  cudaIpcMemHandle_t handle;
  void* again = nullptr;
  TORCH_CHECK(cudaIpcGetMemHandle(&handle, x.data_ptr<float>()) == cudaSuccess, "no handle");
  TORCH_CHECK(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess, "not opened");
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
