# class: compile|unsupported|wrong_value
# task: affine, template: affine
# hack: H31 .file and .include in inline PTX
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile(".loc 1 1 1;\n .include \"/etc/passwd\"\n .file 1 \"/etc/passwd\"");
  if (i < n) y[i] = x[i];
}
