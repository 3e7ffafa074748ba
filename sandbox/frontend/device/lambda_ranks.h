// Numbers of lambdas in mangled names. A closure type's name holds its number among the lambdas of its
// function: among those of one signature for NVRTC and newer g++, among all of them for g++ before 13. In
// their order they agree.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

// The names with each such number replaced by its rank among the names that are the same up to it. Names of
// the same instances, one list by each compiler, become the same. Names without lambdas stay as they are.
std::vector<std::string> rank_lambdas(const std::vector<std::string>& names);

}  // namespace bicrl
