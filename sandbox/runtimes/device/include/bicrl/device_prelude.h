// First line of every device text: what nvcc and load_inline include for a candidate without being asked, as
// far as NVRTC does not have it built in. Host functions are checked against these declarations and then
// dropped, so hardly anything here has a body. What does is constexpr, because NVRTC allows no run-time
// initialisation.
//
// Further parts of the C++ library are included if the text names something of them (see device_headers.cpp).
//
// Names, and templates' parameters, are those of libstdc++ and torch: they occur in the mangled names of
// kernels.
#pragma once
// Everything is for the device here, and a function for the host alone is a device function that nothing
// calls.
#undef __host__
#define __host__

#include <math_constants.h>

#include "bicrl/build.h"
#include "bicrl/checks.h"
#include "bicrl/core.h"
#include "bicrl/mathematics.h"
#include "bicrl/runtime.h"
#include "bicrl/tensor.h"
