// <type_traits>, <utility>, <limits>. move, forward and initializer_list are built into NVRTC.
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
template <class... T>
using void_t = void;

#define BICRL_TRAIT(name)                        \
  template <class T>                             \
  inline constexpr bool name##_v = name<T>::value;
#define BICRL_TYPE(name) \
  template <class T>     \
  using name##_t = typename name<T>::type;

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
BICRL_TYPE(remove_const)
BICRL_TYPE(remove_cv)
BICRL_TYPE(remove_reference)
BICRL_TYPE(remove_cvref)
BICRL_TYPE(remove_pointer)
BICRL_TYPE(add_pointer)
BICRL_TYPE(add_const)
BICRL_TYPE(remove_extent)
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

template <class T, class... U>
inline constexpr bool bicrl_one_of = (is_same_v<T, U> || ...);
template <class T>
struct is_integral
    : bool_constant<bicrl_one_of<remove_cv_t<T>, bool, char, signed char, unsigned char, short, unsigned short, int,
                                 unsigned, long, unsigned long, long long, unsigned long long, wchar_t, char16_t,
                                 char32_t>> {};
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
#define BICRL_SIGNS(S, U)                    \
  template <>                                \
  struct make_unsigned<S> : type_identity<U> {}; \
  template <>                                \
  struct make_unsigned<U> : type_identity<U> {}; \
  template <>                                \
  struct make_signed<S> : type_identity<S> {};   \
  template <>                                \
  struct make_signed<U> : type_identity<S> {};
BICRL_SIGNS(signed char, unsigned char)
BICRL_SIGNS(short, unsigned short)
BICRL_SIGNS(int, unsigned)
BICRL_SIGNS(long, unsigned long)
BICRL_SIGNS(long long, unsigned long long)
#undef BICRL_SIGNS
BICRL_TYPE(make_unsigned)
BICRL_TYPE(make_signed)

template <class T>
T&& declval() noexcept;
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
template <class T, T... i>
struct integer_sequence {
  using value_type = T;
  static constexpr size_t size() { return sizeof...(i); }
};
template <size_t... i>
using index_sequence = integer_sequence<size_t, i...>;
template <size_t n, size_t... i>
struct bicrl_count : bicrl_count<n - 1, n - 1, i...> {};
template <size_t... i>
struct bicrl_count<0, i...> : type_identity<index_sequence<i...>> {};
template <class T, class I>
struct bicrl_convert;
template <class T, size_t... i>
struct bicrl_convert<T, index_sequence<i...>> : type_identity<integer_sequence<T, T(i)...>> {};
template <class T, T n>
using make_integer_sequence = typename bicrl_convert<T, typename bicrl_count<size_t(n)>::type>::type;
template <size_t n>
using make_index_sequence = typename bicrl_count<n>::type;
template <class... T>
using index_sequence_for = make_index_sequence<sizeof...(T)>;
struct in_place_t {};
inline constexpr in_place_t in_place{};

template <class T>
class numeric_limits {
 public:
  static constexpr bool is_specialized = false;
};
#define BICRL_LIMITS(T, low, high, bits, integer)                     \
  template <>                                                         \
  class numeric_limits<T> {                                           \
   public:                                                            \
    static constexpr bool is_specialized = true, is_integer = integer; \
    static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0); \
    static constexpr bool has_infinity = false, has_quiet_NaN = false; \
    static constexpr int digits = bits, radix = 2;                    \
    static constexpr T min() noexcept { return low; }                 \
    static constexpr T lowest() noexcept { return low; }              \
    static constexpr T max() noexcept { return high; }                \
    static constexpr T epsilon() noexcept { return 0; }               \
    static constexpr T infinity() noexcept { return 0; }              \
  };
BICRL_LIMITS(bool, false, true, 1, true)
BICRL_LIMITS(char, CHAR_MIN, CHAR_MAX, 7, true)
BICRL_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX, 7, true)
BICRL_LIMITS(unsigned char, 0, UCHAR_MAX, 8, true)
BICRL_LIMITS(short, SHRT_MIN, SHRT_MAX, 15, true)
BICRL_LIMITS(unsigned short, 0, USHRT_MAX, 16, true)
BICRL_LIMITS(int, INT_MIN, INT_MAX, 31, true)
BICRL_LIMITS(unsigned, 0, UINT_MAX, 32, true)
BICRL_LIMITS(long, LONG_MIN, LONG_MAX, 63, true)
BICRL_LIMITS(unsigned long, 0, ULONG_MAX, 64, true)
BICRL_LIMITS(long long, LLONG_MIN, LLONG_MAX, 63, true)
BICRL_LIMITS(unsigned long long, 0, ULLONG_MAX, 64, true)
#undef BICRL_LIMITS
#define BICRL_LIMITS(T, P, infinite, nan)                                  \
  template <>                                                              \
  class numeric_limits<T> {                                                \
   public:                                                                 \
    static constexpr bool is_specialized = true, is_integer = false;       \
    static constexpr bool is_signed = true, has_infinity = true;           \
    static constexpr bool has_quiet_NaN = true, is_iec559 = true;          \
    static constexpr int digits = P##_MANT_DIG, digits10 = P##_DIG;        \
    static constexpr int max_exponent = P##_MAX_EXP, min_exponent = P##_MIN_EXP, radix = 2; \
    static constexpr T min() noexcept { return P##_MIN; }                  \
    static constexpr T lowest() noexcept { return -P##_MAX; }              \
    static constexpr T max() noexcept { return P##_MAX; }                  \
    static constexpr T epsilon() noexcept { return P##_EPSILON; }          \
    static constexpr T denorm_min() noexcept { return P##_TRUE_MIN; }      \
    static constexpr T infinity() noexcept { return infinite; }            \
    static constexpr T quiet_NaN() noexcept { return nan; }                \
  };
BICRL_LIMITS(float, FLT, __builtin_bit_cast(float, 0x7f800000u), __builtin_bit_cast(float, 0x7fc00000u))
BICRL_LIMITS(double, DBL, __builtin_bit_cast(double, 0x7ff0000000000000ull), __builtin_bit_cast(double, 0x7ff8000000000000ull))
#undef BICRL_LIMITS
template <class T>
class numeric_limits<const T> : public numeric_limits<T> {};

}  // namespace std
