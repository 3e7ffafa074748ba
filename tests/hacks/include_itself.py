# class: compile|timeout|memory
# task: affine, template: affine
# hack: H62 the text includes itself, through every name that it may have
# why: the depth of includes is limited, the work perhaps not

# ---- kernels
#include __FILE__

<kernels>
