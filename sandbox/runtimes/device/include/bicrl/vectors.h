// <vector>, <deque>, <list>
#pragma once
#include "bicrl/core.h"
#include "bicrl/declared.h"

namespace std {

template <class T>
struct reverse_iterator {
  T& operator*() const;
};

template <class T, class A>
class vector {
 public:
  using value_type = T;
  using size_type = size_t;
  using iterator = T*;
  using const_iterator = const T*;
  constexpr vector() = default;
  explicit vector(size_t n);
  vector(size_t n, const T& value);
  vector(initializer_list<T> list);
  template <class I, class = decltype(*declval<I>())>
  vector(I from, I to);
  vector& operator=(initializer_list<T> list);
  T& operator[](size_t i);
  const T& operator[](size_t i) const;
  T& at(size_t i);
  const T& at(size_t i) const;
  T* data();
  const T* data() const;
  T* begin();
  const T* begin() const;
  T* end();
  const T* end() const;
  const T* cbegin() const;
  const T* cend() const;
  reverse_iterator<T> rbegin();
  reverse_iterator<T> rend();
  T& front();
  const T& front() const;
  T& back();
  const T& back() const;
  size_t size() const;
  size_t capacity() const;
  bool empty() const;
  void reserve(size_t n);
  void resize(size_t n);
  void resize(size_t n, const T& value);
  void assign(size_t n, const T& value);
  template <class I, class = decltype(*declval<I>())>
  void assign(I from, I to);
  void clear();
  void push_back(const T& value);
  template <class... B>
  T& emplace_back(B&&...);
  void pop_back();
  T* insert(const T* at, const T& value);
  template <class I, class = decltype(*declval<I>())>
  T* insert(const T* at, I from, I to);
  T* insert(const T* at, initializer_list<T> list);
  T* insert(const T* at, size_t n, const T& value);
  T* erase(const T* at);
  T* erase(const T* from, const T* to);
  void swap(vector& other);
};
template <class T>
vector(initializer_list<T>) -> vector<T>;
template <class T>
vector(size_t, T) -> vector<T>;
template <class T>
bool operator==(const vector<T>&, const vector<T>&);
template <class T>
bool operator!=(const vector<T>&, const vector<T>&);
template <class T, class A = allocator<T>>
class deque : public vector<T, A> {
 public:
  void push_front(const T& value);
  void pop_front();
};
template <class T, class A = allocator<T>>
class list : public deque<T, A> {};

}  // namespace std
