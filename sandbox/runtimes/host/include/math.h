// Lean <math.h>: see bicrl/math.h.
#pragma once
#include "bicrl/math.h"
