# class: compile
# task: affine, template: affine
# hack: H31 include_next, import and embed

# ---- kernels
#include_next <passwd>
#import "/etc/passwd"
#embed "/etc/passwd"

<kernels>
