# class: unsupported|compile|record
# task: affine, template: affine
# hack: H60 reads through a texture object
# why: textures are not part of this machine

__global__ void affine_kernel(cudaTextureObject_t texture, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(tex1Dfetch<float>(texture, i), 0.0f) * 2.0f + 1.0f;
}

# ---- launch
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = x.data_ptr<float>();
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = n * sizeof(float);
  cudaTextureDesc description = {};
  cudaTextureObject_t texture = 0;
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  affine_kernel<<<(n + 255) / 256, 256>>>(texture, y.data_ptr<float>(), n);
