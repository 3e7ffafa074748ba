# class: compile
# task: affine, template: affine
# hack: H31 the directive is broken over lines

#inc\
lude \
"/etc/hostname"
#error hostname

<kernels>
