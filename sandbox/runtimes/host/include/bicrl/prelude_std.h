// The prelude for programs that name a part of the C++ library. Precompiled, so that naming one costs as much
// as naming all.
#pragma once
#define BICRL_STD 1
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bicrl/prelude.h"
// What often comes along.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
