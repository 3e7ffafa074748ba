# class: memory|compile
# task: affine, template: affine_joined

static char huge[1u << 31] = {1};
char* use = huge;
<kernels>
