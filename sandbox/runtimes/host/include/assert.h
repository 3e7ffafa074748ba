// assert() that works in kernels: a failed one ends the launch with its text.
#include "bicrl/device.h"
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : bicrl_trap(#condition, __FILE__, __LINE__))
#endif
