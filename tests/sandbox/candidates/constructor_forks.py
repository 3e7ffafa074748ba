# class: process
# task: affine, template: affine_joined

# ---- kernels
#include <unistd.h>
__attribute__((constructor)) static void early() { fork(); }
<kernels>
