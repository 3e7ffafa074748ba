// <type_traits>, <utility>. move, forward and initializer_list are built into NVRTC.
#pragma once
#include "bicrl/core.h"

namespace std {

template <class... T>
using void_t = void;

#define BICRL_TRAIT(name) \
  template <class T>      \
  inline constexpr bool name##_v = name<T>::value;
#define BICRL_TYPE(name) \
  template <class T>     \
  using name##_t = typename name<T>::type;

template <class T>
struct remove_cvref : remove_cv<typename remove_reference<T>::type> {};
template <class T>
struct remove_pointer : type_identity<T> {};
template <class T>
struct remove_pointer<T*> : type_identity<T> {};
template <class T>
struct remove_pointer<T* const> : type_identity<T> {};
template <class T>
struct add_pointer : type_identity<typename remove_reference<T>::type*> {};
template <class T>
struct add_const : type_identity<const T> {};
template <class T>
struct remove_extent : type_identity<T> {};
template <class T>
struct remove_extent<T[]> : type_identity<T> {};
template <class T, size_t n>
struct remove_extent<T[n]> : type_identity<T> {};
BICRL_TYPE(remove_cvref)
BICRL_TYPE(remove_pointer)
BICRL_TYPE(add_pointer)
BICRL_TYPE(add_const)
BICRL_TYPE(remove_extent)
template <class T, class... U>
inline constexpr bool bicrl_one_of = (is_same_v<T, U> || ...);
template <class T>
struct is_integral : bool_constant<bicrl_one_of<remove_cv_t<T>, bool, char, signed char, unsigned char, short,
                                                unsigned short, int, unsigned, long, unsigned long, long long,
                                                unsigned long long, wchar_t, char16_t, char32_t>> {};
template <class T>
struct is_floating_point : bool_constant<bicrl_one_of<remove_cv_t<T>, float, double, long double>> {};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T>
struct is_pointer : bool_constant<!is_same_v<remove_pointer_t<T>, T>> {};
template <class T>
struct is_const : false_type {};
template <class T>
struct is_const<const T> : true_type {};
template <class T>
struct is_reference : bool_constant<!is_same_v<remove_reference_t<T>, T>> {};
template <class T>
struct is_lvalue_reference : false_type {};
template <class T>
struct is_lvalue_reference<T&> : true_type {};
template <class T>
struct is_void : bool_constant<is_same_v<remove_cv_t<T>, void>> {};
template <class T>
struct is_array : bool_constant<!is_same_v<remove_extent_t<T>, T>> {};
template <class T, bool = is_arithmetic<T>::value>
struct bicrl_is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T>
struct bicrl_is_signed<T, false> : false_type {};
template <class T>
struct is_signed : bicrl_is_signed<T> {};
template <class T>
struct is_unsigned : bool_constant<is_arithmetic<T>::value && !is_signed<T>::value> {};
template <class T>
struct is_class : bool_constant<__is_class(T)> {};
template <class T>
struct is_enum : bool_constant<__is_enum(T)> {};
template <class T>
struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class A, class B>
struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B>
inline constexpr bool is_base_of_v = is_base_of<A, B>::value;
BICRL_TRAIT(is_integral)
BICRL_TRAIT(is_floating_point)
BICRL_TRAIT(is_arithmetic)
BICRL_TRAIT(is_pointer)
BICRL_TRAIT(is_const)
BICRL_TRAIT(is_reference)
BICRL_TRAIT(is_lvalue_reference)
BICRL_TRAIT(is_void)
BICRL_TRAIT(is_array)
BICRL_TRAIT(is_signed)
BICRL_TRAIT(is_unsigned)
BICRL_TRAIT(is_class)
BICRL_TRAIT(is_enum)
BICRL_TRAIT(is_trivially_copyable)
#undef BICRL_TRAIT
template <class T>
struct underlying_type {
  using type = __underlying_type(T);
};
BICRL_TYPE(underlying_type)
template <class... T>
struct conjunction : bool_constant<(T::value && ...)> {};
template <class... T>
inline constexpr bool conjunction_v = conjunction<T...>::value;
template <class... T>
struct disjunction : bool_constant<(T::value || ...)> {};
template <class... T>
inline constexpr bool disjunction_v = disjunction<T...>::value;
template <class T>
struct negation : bool_constant<!T::value> {};

template <class T>
struct make_unsigned;
template <class T>
struct make_signed;
#define BICRL_SIGNS(S, U)                        \
  template <>                                    \
  struct make_unsigned<S> : type_identity<U> {}; \
  template <>                                    \
  struct make_unsigned<U> : type_identity<U> {}; \
  template <>                                    \
  struct make_signed<S> : type_identity<S> {};   \
  template <>                                    \
  struct make_signed<U> : type_identity<S> {};
BICRL_SIGNS(signed char, unsigned char)
BICRL_SIGNS(short, unsigned short)
BICRL_SIGNS(int, unsigned)
BICRL_SIGNS(long, unsigned long)
BICRL_SIGNS(long long, unsigned long long)
#undef BICRL_SIGNS
BICRL_TYPE(make_unsigned)
BICRL_TYPE(make_signed)

template <class A, class B>
struct is_convertible {
  static true_type test(B);
  static false_type test(...);
  static constexpr bool value = decltype(test(declval<A>()))::value;
};
template <class A, class B>
inline constexpr bool is_convertible_v = is_convertible<A, B>::value;
template <class T, bool = is_array<remove_reference_t<T>>::value>
struct bicrl_decay : remove_cv<remove_reference_t<T>> {};
template <class T>
struct bicrl_decay<T, true> : type_identity<remove_extent_t<remove_reference_t<T>>*> {};
template <class R, class... A>
struct bicrl_decay<R(A...), false> : type_identity<R (*)(A...)> {};
template <class R, class... A>
struct bicrl_decay<R (&)(A...), false> : type_identity<R (*)(A...)> {};
template <class T>
struct decay : bicrl_decay<T> {};
BICRL_TYPE(decay)
#undef BICRL_TYPE
template <class... T>
struct common_type;
template <class T>
struct common_type<T> : decay<T> {};
template <class A, class B>
struct common_type<A, B> : decay<decltype(true ? declval<A>() : declval<B>())> {};
template <class A, class B, class C, class... D>
struct common_type<A, B, C, D...> : common_type<typename common_type<A, B>::type, C, D...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;
template <class F, class... A>
struct invoke_result : type_identity<decltype(declval<F>()(declval<A>()...))> {};
template <class F, class... A>
using invoke_result_t = typename invoke_result<F, A...>::type;

}  // namespace std
