# class: compile|timeout|memory
# task: affine, template: affine
# hack: H61 a device file without end is included
# why: a device that does not exist in the box, or never ends

# ---- kernels
#include "/dev/zero"

<kernels>
