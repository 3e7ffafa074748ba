// Stand-in; see bicrl/half.h.
#pragma once
#include "bicrl/half.h"
