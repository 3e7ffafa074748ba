// Precompiled header of all targets that include torch (cmake/Torch.cmake). Files still include what they
// use.
#pragma once
#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>
