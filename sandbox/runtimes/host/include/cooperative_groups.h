// Stand-in; see bicrl/groups.h.
#pragma once
#include "bicrl/groups.h"
