// assert() for what host code keeps of device code, too.
#include "bicrl/device.h"
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : ::bicrl::failed_assertion(#condition, __FILE__, __LINE__))
#endif
