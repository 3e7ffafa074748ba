# class: compile
# task: affine, template: affine

#error infrastructure failure: cannot acquire lock, please retry
<kernels>
