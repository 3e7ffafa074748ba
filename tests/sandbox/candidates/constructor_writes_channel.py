# class: protocol
# task: affine, template: affine_joined

# ---- kernels
#include <unistd.h>
__attribute__((constructor)) static void early() { for (int fd = 0; fd < 64; ++fd) (void)!write(fd, "forged", 6); }
<kernels>
