// Random programs of unsigned arithmetic, loops, branches, switches, arrays and calls, as text that is CUDA
// and C++ alike and has no undefined behaviour. For comparing the interpreter with a compiler for this
// processor.
#pragma once
#include <cstdint>
#include <string>

namespace bicrl::ptx::testing {

// Functions `unsigned f0(unsigned t, const unsigned* in)` to f<count - 1>, of which later ones call earlier
// ones, each preceded by FUNCTION (a macro of the includer). `in` has 64 elements.
std::string random_functions(uint64_t seed, int count);

}  // namespace bicrl::ptx::testing
