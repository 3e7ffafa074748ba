// pair, tuple, array and index sequences. Device code uses them as well, so they work.
#pragma once
#include "bicrl/traits.h"

namespace std {

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
template <class A, class B>
struct pair {
  using first_type = A;
  using second_type = B;
  A first;
  B second;
  constexpr pair() : first(), second() {}
  template <class C, class D>
  constexpr pair(C&& a, D&& b) : first(static_cast<C&&>(a)), second(static_cast<D&&>(b)) {}
  constexpr pair(const A& a, const B& b) : first(a), second(b) {}
  template <class C, class D>
  constexpr pair(const pair<C, D>& o) : first(o.first), second(o.second) {}
};
template <class A, class B>
pair(A, B) -> pair<A, B>;
template <class A, class B>
constexpr pair<decay_t<A>, decay_t<B>> make_pair(A&& a, B&& b) {
  return {static_cast<A&&>(a), static_cast<B&&>(b)};
}
template <class A, class B>
constexpr bool operator<(const pair<A, B>& a, const pair<A, B>& b) {
  return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}
template <class A, class B>
constexpr bool operator==(const pair<A, B>& a, const pair<A, B>& b) {
  return a.first == b.first && a.second == b.second;
}

template <size_t i, class T>
struct bicrl_leaf {
  T value;
};
template <class I, class... T>
struct bicrl_leaves;
template <size_t... i, class... T>
struct bicrl_leaves<index_sequence<i...>, T...> : bicrl_leaf<i, T>... {
  constexpr bicrl_leaves() : bicrl_leaf<i, T>()... {}
  template <class... U>
  constexpr bicrl_leaves(int, U&&... u) : bicrl_leaf<i, T>{static_cast<U&&>(u)}... {}
};
template <class... T>
class tuple : public bicrl_leaves<index_sequence_for<T...>, T...> {
  using Base = bicrl_leaves<index_sequence_for<T...>, T...>;

 public:
  constexpr tuple() = default;
  template <class... U, class = enable_if_t<sizeof...(U) == sizeof...(T) && (sizeof...(U) > 0)>>
  constexpr tuple(U&&... u) : Base(0, static_cast<U&&>(u)...) {}
  template <class... U>
  tuple& operator=(const tuple<U...>&);
  template <class A, class B>
  tuple& operator=(const pair<A, B>&);
};
template <class... T>
tuple(T...) -> tuple<T...>;
// As libcu++ declares them, which may come behind.
template <class... T>
struct tuple_size;
template <class... T>
struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class A, class B>
struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <class T>
struct tuple_size<const T> : tuple_size<T> {};
template <class T>
inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t i, class... T>
struct tuple_element;
template <size_t i, class H, class... T>
struct tuple_element<i, tuple<H, T...>> : tuple_element<i - 1, tuple<T...>> {};
template <class H, class... T>
struct tuple_element<0, tuple<H, T...>> : type_identity<H> {};
template <class A, class B>
struct tuple_element<0, pair<A, B>> : type_identity<A> {};
template <class A, class B>
struct tuple_element<1, pair<A, B>> : type_identity<B> {};
template <size_t i, class T>
struct tuple_element<i, const T> : type_identity<const typename tuple_element<i, T>::type> {};
template <size_t i, class T>
using tuple_element_t = typename tuple_element<i, T>::type;
template <size_t i, class... T>
constexpr tuple_element_t<i, tuple<T...>>& get(tuple<T...>& t) {
  return static_cast<bicrl_leaf<i, tuple_element_t<i, tuple<T...>>>&>(t).value;
}
template <size_t i, class... T>
constexpr const tuple_element_t<i, tuple<T...>>& get(const tuple<T...>& t) {
  return static_cast<const bicrl_leaf<i, tuple_element_t<i, tuple<T...>>>&>(t).value;
}
template <size_t i, class... T>
constexpr tuple_element_t<i, tuple<T...>>&& get(tuple<T...>&& t) {
  return static_cast<tuple_element_t<i, tuple<T...>>&&>(get<i>(t));
}
template <size_t i, class A, class B>
constexpr auto& get(pair<A, B>& p) {
  if constexpr (i == 0)
    return p.first;
  else
    return p.second;
}
template <size_t i, class A, class B>
constexpr const auto& get(const pair<A, B>& p) {
  if constexpr (i == 0)
    return p.first;
  else
    return p.second;
}
template <size_t i, class A, class B>
constexpr tuple_element_t<i, pair<A, B>>&& get(pair<A, B>&& p) {
  return static_cast<tuple_element_t<i, pair<A, B>>&&>(get<i>(p));
}
template <class... T>
constexpr tuple<decay_t<T>...> make_tuple(T&&... t) {
  return tuple<decay_t<T>...>(static_cast<T&&>(t)...);
}
template <class... T>
constexpr tuple<T&...> tie(T&... t) {
  return tuple<T&...>(t...);
}
struct bicrl_ignore {
  template <class T>
  constexpr const bicrl_ignore& operator=(const T&) const {
    return *this;
  }
};
inline constexpr bicrl_ignore ignore{};

template <class T, size_t n>
struct array {
  using value_type = T;
  T elements[n ? n : 1];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
  constexpr const T& at(size_t i) const { return elements[i]; }
  constexpr T& at(size_t i) { return elements[i]; }
  constexpr T* data() { return elements; }
  constexpr const T* data() const { return elements; }
  constexpr T* begin() { return elements; }
  constexpr const T* begin() const { return elements; }
  constexpr T* end() { return elements + n; }
  constexpr const T* end() const { return elements + n; }
  constexpr T& front() { return elements[0]; }
  constexpr T& back() { return elements[n - 1]; }
  constexpr size_t size() const { return n; }
  constexpr bool empty() const { return n == 0; }
  constexpr void fill(const T& value) {
    for (size_t i = 0; i < n; ++i) elements[i] = value;
  }
};
template <class T, class... U>
array(T, U...) -> array<T, 1 + sizeof...(U)>;
template <class T, size_t n>
struct tuple_size<array<T, n>> : integral_constant<size_t, n> {};
template <size_t i, class T, size_t n>
struct tuple_element<i, array<T, n>> : type_identity<T> {};
template <size_t i, class T, size_t n>
constexpr T& get(array<T, n>& a) {
  return a.elements[i];
}
template <size_t i, class T, size_t n>
constexpr T&& get(array<T, n>&& a) {
  return static_cast<T&&>(a.elements[i]);
}
template <size_t i, class T, size_t n>
constexpr const T& get(const array<T, n>& a) {
  return a.elements[i];
}

}  // namespace std
