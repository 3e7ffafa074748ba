# class: compile|unsupported|library_call|wrong_value
# task: affine, template: affine_copy
# hack: H31 linker flags: another entry, a wrapped symbol, a map file, a library path
# why: the kernel is wrong on purpose: a flag or text that is ignored must not make a right program

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_ldflags=["-Wl,--wrap=write", "-Wl,-Map=/etc/map",
                                    "-Wl,-init,affine", "-L/", "-l:libtorch_cpu.so"])
