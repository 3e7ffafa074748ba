// Core of the C++ library that nearly every text or header of the shim needs.
#pragma once
#include "bicrl/integers.h"

namespace std {

template <class T, T v>
struct integral_constant {
  static constexpr T value = v;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const noexcept { return v; }
  constexpr T operator()() const noexcept { return v; }
};
template <bool b>
using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <class T>
struct type_identity {
  using type = T;
};
template <class A, class B>
struct is_same : false_type {};
template <class A>
struct is_same<A, A> : true_type {};
template <class A, class B>
inline constexpr bool is_same_v = is_same<A, B>::value;

template <class T>
struct remove_const : type_identity<T> {};
template <class T>
struct remove_const<const T> : type_identity<T> {};
template <class T>
struct remove_volatile : type_identity<T> {};
template <class T>
struct remove_volatile<volatile T> : type_identity<T> {};
template <class T>
struct remove_cv : remove_const<typename remove_volatile<T>::type> {};
template <class T>
struct remove_reference : type_identity<T> {};
template <class T>
struct remove_reference<T&> : type_identity<T> {};
template <class T>
struct remove_reference<T&&> : type_identity<T> {};
template <bool b, class A, class B>
struct conditional : type_identity<A> {};
template <class A, class B>
struct conditional<false, A, B> : type_identity<B> {};
template <bool b, class A, class B>
using conditional_t = typename conditional<b, A, B>::type;
template <bool b, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> : type_identity<T> {};
template <bool b, class T = void>
using enable_if_t = typename enable_if<b, T>::type;

template <class T>
T&& declval() noexcept;
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_reference_t = typename remove_reference<T>::type;

template <class T>
constexpr void swap(T& a, T& b) {
  T c = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(c);
}
template <class T, class U = T>
constexpr T exchange(T& a, U&& b) {
  T old = static_cast<T&&>(a);
  a = static_cast<U&&>(b);
  return old;
}
template <class T>
constexpr const T& as_const(T& t) {
  return t;
}
template <class T>
constexpr T* addressof(T& t) {
  return __builtin_addressof(t);
}
template <class T>
constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T>
constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T, class L>
constexpr const T& min(const T& a, const T& b, L less) {
  return less(b, a) ? b : a;
}
template <class T, class L>
constexpr const T& max(const T& a, const T& b, L less) {
  return less(a, b) ? b : a;
}
template <class T>
constexpr T min(initializer_list<T> list) {
  const T* least = list.begin();
  for (const T* p = least; p != list.end(); ++p)
    if (*p < *least) least = p;
  return *least;
}
template <class T>
constexpr T max(initializer_list<T> list) {
  const T* most = list.begin();
  for (const T* p = most; p != list.end(); ++p)
    if (*most < *p) most = p;
  return *most;
}
template <class T>
constexpr const T& clamp(const T& v, const T& low, const T& high) {
  return v < low ? low : high < v ? high : v;
}

}  // namespace std
