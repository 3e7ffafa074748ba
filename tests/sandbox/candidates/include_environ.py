# class: compile
# task: affine, template: affine_joined

# ---- kernels
#include "/proc/self/environ"
<kernels>
