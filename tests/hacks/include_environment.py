# class: compile
# task: affine, template: affine
# hack: H31 the compiler's environment is included

# ---- kernels
#include </proc/self/environ>

<kernels>
