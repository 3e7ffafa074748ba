# class: library_call|record|unsupported|compile|framework_fallback
# task: affine, template: affine
# hack: H09 dlopen of libtorch_cpu and a search for at::relu's symbol
# why: a symbol of real tensors called with the shim's: whatever happens, it is no answer

#include <dlfcn.h>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  void* library = dlopen("libtorch_cpu.so", RTLD_NOW);
  void* relu = library ? dlsym(library, "_ZN2at4_ops4relu4callERKNS_6TensorE") : dlsym(RTLD_DEFAULT, "at_relu");
  TORCH_CHECK(relu, "no symbol");
  return reinterpret_cast<torch::Tensor (*)(const torch::Tensor&)>(relu)(x);
}
