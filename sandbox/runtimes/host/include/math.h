// Lean <math.h>: see bicrl/math.h.
#pragma once
#ifdef BICRL_REAL_MATH
#include_next <math.h>
#else
#include "bicrl/math.h"
#endif
