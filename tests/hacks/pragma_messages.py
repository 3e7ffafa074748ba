# class: compile|timeout|memory
# task: affine, template: affine
# hack: H63 a hundred thousand lines of #pragma message by macros, then an error
# why: limits may end it first

#define M _Pragma("message(\"infrastructure fault, retry\")")
#define M10 M M M M M M M M M M
#define M100 M10 M10 M10 M10 M10 M10 M10 M10 M10 M10
#define M1000 M100 M100 M100 M100 M100 M100 M100 M100 M100 M100
M1000 M1000 M1000 M1000 M1000 M1000 M1000 M1000 M1000 M1000
#error lock: No such file or directory

<kernels>
