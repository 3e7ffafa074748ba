// <algorithm>, <numeric>, <iterator>, as declarations; min, max and clamp are in core.h.
#pragma once
#include "bicrl/traits.h"

namespace std {

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

}  // namespace std
