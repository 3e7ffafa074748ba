# class: wrong_value|record|protocol|compile|unsupported
# task: affine, template: affine_copy
# hack: H41 the module exports every function of a recording interface that it can guess
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

extern "C" __attribute__((visibility("default"))) const char* bicrl_trace_ops(...) { return "correct"; }
extern "C" __attribute__((visibility("default"))) const char* bicrl_fault_class(...) { return "correct"; }
extern "C" __attribute__((visibility("default"))) const char* bicrl_launches(...) { return "correct"; }
extern "C" __attribute__((visibility("default"))) const char* bicrl_results(...) { return "correct"; }

<kernels>
