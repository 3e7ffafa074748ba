# class: compile
# task: affine, template: affine
# hack: H31 __has_include tells whether files exist

#if __has_include("/etc/shadow") || __has_include("/root/.bashrc") || __has_include("/proc/1/environ")
#error file exists
#else
#error no such file
#endif

<kernels>
