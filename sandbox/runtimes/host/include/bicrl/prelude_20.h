// The prelude for programs that ask for C++20, with what torch's headers bring of it.
#pragma once
#include <bit>
#include <compare>
#include <concepts>
#include <numbers>
#include <numeric>
#include <ranges>
#include <span>
#include "bicrl/prelude_std.h"
