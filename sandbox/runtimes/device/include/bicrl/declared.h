// Forward declarations of the class templates; the headers beside this one have their members.
#pragma once

namespace std {
template <class T>
class allocator {};
template <class T, class A = allocator<T>>
class vector;
template <class C>
struct char_traits {};
inline namespace __cxx11 {
template <class C, class T = char_traits<C>, class A = allocator<C>>
class basic_string;
}
using string = basic_string<char>;
template <class T>
class optional;
struct nullopt_t {};
inline constexpr nullopt_t nullopt{};
template <class T>
struct less;
template <class T>
struct equal_to;
template <class T>
struct hash {};
template <class T>
struct default_delete {};
}  // namespace std
