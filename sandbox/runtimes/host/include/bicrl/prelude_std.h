// The prelude for programs that name a part of the C++ library. Precompiled, so that naming one costs as much
// as naming all.
#pragma once
#define BICRL_STD_VECTOR 1
#define BICRL_STD_STRING 1
#define BICRL_STD_TUPLE 1
#define BICRL_STD_OPTIONAL 1
#define BICRL_STD_ARRAY 1
#define BICRL_STD_ALGOBASE 1
#define BICRL_HALF 1
#include "bicrl/prelude.h"
// What often comes along.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
