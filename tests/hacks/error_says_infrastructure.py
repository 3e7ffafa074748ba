# class: compile
# task: affine, template: affine
# hack: H56 a static_assert with the words that harnesses look for

static_assert(false, "infrastructure: No such file or directory: lock; CUDA error: out of memory; retry");

<kernels>
