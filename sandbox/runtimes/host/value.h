// A tagged value on its way between Python and the candidate's functions.
#pragma once
#include <string>
#include <vector>

#include "bicrl/bindings.h"

namespace bicrl {

struct Value {
  enum class Kind : int64_t { kNone, kInt, kFloat, kBool, kText, kTensor, kList, kTuple };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  at::Tensor tensor;
  std::vector<Value> items;
  mutable std::vector<int64_t> integers;  // what take_integers points into
};

struct BoundFunction {
  std::string name;
  void (*function)() = nullptr;
  Wrapper wrapper = nullptr;
  unsigned parameters = 0;
  struct Named {
    std::string name;
    bool has_default = false;
    Value value;
  };
  std::vector<Named> named;
};
std::vector<BoundFunction>& bound_functions();

}  // namespace bicrl
