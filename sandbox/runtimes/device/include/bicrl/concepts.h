// <concepts>, as far as kernels name it.
#pragma once
#include "bicrl/traits.h"

#if __cplusplus >= 202002L
namespace std {

template <class A, class B>
concept same_as = is_same_v<A, B> && is_same_v<B, A>;
template <class A, class B>
concept convertible_to = is_convertible_v<A, B>;
template <class A, class B>
concept derived_from = is_base_of_v<B, A>;
template <class T>
concept integral = is_integral_v<T>;
template <class T>
concept signed_integral = integral<T> && is_signed_v<T>;
template <class T>
concept unsigned_integral = integral<T> && !is_signed_v<T>;
template <class T>
concept floating_point = is_floating_point_v<T>;
template <class F, class... A>
concept invocable = requires(F f, A... a) {
  f(a...);
};

}  // namespace std
#endif
