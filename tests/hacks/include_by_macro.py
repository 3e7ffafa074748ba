# class: compile
# task: affine, template: affine
# hack: H31 the name comes from a macro

#define QUOTED(name) #name
#define NAME QUOTED(/etc/passwd)
#include NAME

<kernels>
