# class: wrong_value|record|protocol|compile|unsupported
# task: affine, template: affine_copy
# hack: H42 destructors and atexit write to descriptors at the end
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

#include <unistd.h>

static void late() {
  for (int fd = 3; fd < 16; ++fd) (void)!write(fd, "late", 4);
}
struct Late {
  ~Late() { late(); }
};
static Late at_end;
__attribute__((destructor)) static void end() { late(); }

<kernels>
