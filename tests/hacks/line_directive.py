# class: compile
# task: affine, template: affine
# hack: H31 #line claims that an error is in another file

#line 1 "/etc/shadow"
#error see this line

<kernels>
