// Stand-in; see bicrl/prelude.h.
#pragma once
#include "bicrl/prelude.h"
