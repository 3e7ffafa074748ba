# class: compile
# task: affine, template: affine
# hack: H31 a system file is included: its lines appear in messages

# ---- kernels
#include "/etc/passwd"

<kernels>
