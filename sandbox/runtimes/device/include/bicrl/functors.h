// <functional>, without std::function
#pragma once
#include "bicrl/core.h"

namespace std {

template <class T>
struct less {
  constexpr bool operator()(const T& a, const T& b) const { return a < b; }
};
template <class T>
struct greater {
  constexpr bool operator()(const T& a, const T& b) const { return a > b; }
};
template <class T>
struct equal_to {
  constexpr bool operator()(const T& a, const T& b) const { return a == b; }
};
template <class T = void>
struct plus {
  constexpr T operator()(const T& a, const T& b) const { return a + b; }
};
template <>
struct plus<void> {
  template <class A, class B>
  constexpr auto operator()(A&& a, B&& b) const {
    return a + b;
  }
};
template <class T = void>
struct multiplies {
  constexpr T operator()(const T& a, const T& b) const { return a * b; }
};
template <>
struct multiplies<void> {
  template <class A, class B>
  constexpr auto operator()(A&& a, B&& b) const {
    return a * b;
  }
};

}  // namespace std
