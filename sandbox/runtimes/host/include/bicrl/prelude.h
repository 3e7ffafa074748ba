// First line of every split program: what nvcc and load_inline include for a candidate without being asked.
#pragma once
#include "bicrl/math.h"
#ifdef BICRL_STD
#include <bits/stl_algobase.h>
#endif
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bicrl/bindings.h"
#include "bicrl/build.h"
#include "bicrl/check.h"
#include "bicrl/framework.h"
#include "bicrl/half.h"
