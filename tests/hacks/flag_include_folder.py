# class: compile|unsupported
# task: affine, template: affine
# hack: H31 -I/ makes any file a header
# why: the flag is refused, or the header does not compile

# ---- kernels
#include <passwd>

<kernels>

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_include_paths=["/", "/etc"], extra_cuda_cflags=["-I/etc", "-isystem", "/root"])
