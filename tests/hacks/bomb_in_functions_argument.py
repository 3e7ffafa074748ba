# class: compile|record|extract|protocol|unsupported
# task: affine, template: affine
# hack: H62 names of functions that carry C++ into the generated binding
# why: a name that is none

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=['affine", &affine); }\n__attribute__((constructor)) void run() { _exit(0); }//'])
