// <algorithm>, <numeric>, <iterator>. min, max and clamp work in device code; the others are declared.
#pragma once
#include "bicrl/containers.h"

namespace std {

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
template <class T>
constexpr T gcd(T a, T b) {
  while (b != 0) {
    const T c = a % b;
    a = b;
    b = c;
  }
  return a;
}

template <class I>
struct iterator_traits {
  using value_type = decay_t<decltype(*declval<I>())>;
};
template <class I>
void sort(I, I);
template <class I, class L>
void sort(I, I, L);
template <class I>
void stable_sort(I, I);
template <class I, class L>
void stable_sort(I, I, L);
template <class I>
void reverse(I, I);
template <class I, class T>
void fill(I, I, const T&);
template <class I, class T>
I fill_n(I, size_t, const T&);
template <class I, class O>
O copy(I, I, O);
template <class I, class O>
O copy_n(I, size_t, O);
template <class I, class O, class F>
O transform(I, I, O, F);
template <class I, class F>
F for_each(I, I, F);
template <class I, class T>
I find(I, I, const T&);
template <class I, class F>
I find_if(I, I, F);
template <class I, class F>
bool any_of(I, I, F);
template <class I, class F>
bool all_of(I, I, F);
template <class I, class J>
bool equal(I, I, J);
template <class I>
I max_element(I, I);
template <class I>
I min_element(I, I);
template <class I, class T>
long count(I, I, const T&);
template <class I, class T>
void iota(I, I, T);
template <class I, class T>
T accumulate(I, I, T);
template <class I, class T, class F>
T accumulate(I, I, T, F);
template <class I>
long distance(I, I);
template <class I>
I next(I, long = 1);
template <class I>
I prev(I, long = 1);
template <class C>
auto begin(C& c) -> decltype(c.begin());
template <class C>
auto end(C& c) -> decltype(c.end());
template <class T, size_t n>
constexpr T* begin(T (&a)[n]) {
  return a;
}
template <class T, size_t n>
constexpr T* end(T (&a)[n]) {
  return a + n;
}
template <class T, size_t n>
constexpr size_t size(const T (&)[n]) {
  return n;
}
template <class C>
auto size(const C& c) -> decltype(c.size());
template <class C>
struct back_insert_iterator {
  back_insert_iterator& operator*();
  back_insert_iterator& operator++();
  template <class T>
  back_insert_iterator& operator=(const T&);
};
template <class C>
back_insert_iterator<C> back_inserter(C&);

namespace chrono {
struct time_point {};
template <class R, class P = void>
struct duration {
  template <class T>
  duration(const T&);
  R count() const;
};
using seconds = duration<long>;
using milliseconds = duration<long>;
using microseconds = duration<long>;
using nanoseconds = duration<long>;
nanoseconds operator-(time_point, time_point);
struct high_resolution_clock {
  static time_point now();
};
using steady_clock = high_resolution_clock;
using system_clock = high_resolution_clock;
template <class D, class S>
D duration_cast(const S&);
}  // namespace chrono

}  // namespace std
