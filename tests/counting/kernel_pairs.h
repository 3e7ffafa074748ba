// Thirty pieces of work, each in a slow and a fast form, and by how much a person who knows GPUs would expect
// the fast one to be faster.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/counting/counted_kernel.h"

namespace bicrl::testing {

using KernelForm = std::function<void(CountedKernel&)>;

struct KernelPair {
  std::string name;
  std::string text;
  KernelForm slow, fast;
  double least = 1, most = 1;  // expected: slow over fast
};
const std::vector<KernelPair>& kernel_pairs();

}  // namespace bicrl::testing
