// <thrust/functional.h>: functors, which are a kernel's own to call. The algorithms are a library's.
#pragma once

namespace thrust {

#define BICRL_BINARY(name, ...)                                                     \
  template <class T = void>                                                         \
  struct name {                                                                     \
    constexpr auto operator()(const T& a, const T& b) const { return __VA_ARGS__; } \
  };                                                                                \
  template <>                                                                       \
  struct name<void> {                                                               \
    template <class A, class B>                                                     \
    constexpr auto operator()(const A& a, const B& b) const {                       \
      return __VA_ARGS__;                                                           \
    }                                                                               \
  };
BICRL_BINARY(plus, a + b)
BICRL_BINARY(minus, a - b)
BICRL_BINARY(multiplies, a* b)
BICRL_BINARY(divides, a / b)
BICRL_BINARY(modulus, a % b)
BICRL_BINARY(maximum, a < b ? b : a)
BICRL_BINARY(minimum, b < a ? b : a)
BICRL_BINARY(equal_to, a == b)
BICRL_BINARY(not_equal_to, a != b)
BICRL_BINARY(greater, a > b)
BICRL_BINARY(less, a < b)
BICRL_BINARY(greater_equal, a >= b)
BICRL_BINARY(less_equal, a <= b)
BICRL_BINARY(logical_and, a&& b)
BICRL_BINARY(logical_or, a || b)
BICRL_BINARY(bit_and, a& b)
BICRL_BINARY(bit_or, a | b)
BICRL_BINARY(bit_xor, a ^ b)
#undef BICRL_BINARY

#define BICRL_UNARY(name, ...)                                          \
  template <class T = void>                                             \
  struct name {                                                         \
    constexpr auto operator()(const T& a) const { return __VA_ARGS__; } \
  };                                                                    \
  template <>                                                           \
  struct name<void> {                                                   \
    template <class A>                                                  \
    constexpr auto operator()(const A& a) const {                       \
      return __VA_ARGS__;                                               \
    }                                                                   \
  };
BICRL_UNARY(negate, -a)
BICRL_UNARY(logical_not, !a)
BICRL_UNARY(identity, a)
BICRL_UNARY(square, a* a)
#undef BICRL_UNARY

}  // namespace thrust
