// Check of whether a reference does nothing but put elements of its inputs at other places. Layout is all of
// the work then, and copies of the framework must not do it. Pure functions.
#pragma once
#include <vector>

#include "sandbox/oracle/oracle.h"

namespace bicrl {

// Whether output `leaf` holds, on two test inputs, the elements of the same places of the inputs, or the same
// constants (a choice by value, as a maximum makes it, takes other places on other test inputs). Looks at
// some hundred elements, and knows them by their values; false where these do not tell places apart.
bool only_rearranges(const InputLayout& inputs, const OutputLayout::Leaf& leaf, size_t leaf_index,
                     const TestInput& one, const TestInput& other);

// The same on two plain test inputs, which are as the task makes them; false if there are not two.
bool only_rearranges(const InputLayout& inputs, const OutputLayout::Leaf& leaf, size_t leaf_index,
                     const std::vector<TestInput>& test_inputs);

}  // namespace bicrl
