# class: compile
# task: affine, template: affine
# hack: H31 the directive is written with a digraph

%:include "/etc/group"

<kernels>
