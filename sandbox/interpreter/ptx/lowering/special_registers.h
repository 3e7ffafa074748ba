// Names of special registers (section "Special Registers").
#pragma once
#include <optional>
#include <string_view>

#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// The operand that a name stands for: "%tid.x". Registers of clusters are as in a launch without clusters:
// those of the grid, or numbers. Nothing if there is no such register, or it is not supported.
std::optional<Operand> parse_special_register(std::string_view name);

}  // namespace bicrl::ptx
