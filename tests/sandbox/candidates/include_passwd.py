# class: compile
# task: affine, template: affine_joined

# ---- kernels
#include "/etc/passwd"
<kernels>
