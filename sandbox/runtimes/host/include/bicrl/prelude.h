// First line of every split program: what nvcc and load_inline include for a candidate without being asked.
// The splitter defines BICRL_STD_* for each part of the C++ library that the program names.
#pragma once
#ifdef BICRL_STD_VECTOR
#include <vector>
#endif
#ifdef BICRL_STD_STRING
#include <string>
#endif
#ifdef BICRL_STD_TUPLE
#include <tuple>
#endif
#ifdef BICRL_STD_OPTIONAL
#include <optional>
#endif
#ifdef BICRL_STD_ARRAY
#include <array>
#endif
#include "bicrl/math.h"
#ifdef BICRL_STD_ALGOBASE
#include <bits/stl_algobase.h>
#endif
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bicrl/bindings.h"
#include "bicrl/check.h"
#ifdef BICRL_HALF
#include "bicrl/half.h"
#endif
