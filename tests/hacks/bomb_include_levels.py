# class: compile|timeout|memory|unsupported|library_call|wrong_value
# task: affine, template: affine_copy
# hack: H62 the widest headers, five times, through macros that undo their guards
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- kernels
#include <cuda_runtime.h>
#undef __CUDA_RUNTIME_H__
#include <cuda_runtime.h>
#include <bits/stdc++.h>
#include <cub/cub.cuh>
#include <thrust/thrust.h>

<kernels>
