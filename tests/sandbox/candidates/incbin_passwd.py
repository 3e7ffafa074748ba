# class: compile|unsupported|correct
# task: affine, template: affine_joined

asm(".section .rodata\nsecret: .incbin \"/etc/passwd\"\n.previous");
<kernels>
