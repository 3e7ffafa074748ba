// <memory>
#pragma once
#include "bicrl/declared.h"
#include "bicrl/traits.h"

namespace std {

template <class T, class D = default_delete<T>>
class unique_ptr {
 public:
  using E = remove_extent_t<T>;
  constexpr unique_ptr() = default;
  constexpr unique_ptr(decltype(nullptr)) {}
  explicit unique_ptr(E*);
  unique_ptr(E*, D);
  E* get() const;
  E* release();
  void reset(E* = nullptr);
  E& operator*() const;
  E* operator->() const;
  E& operator[](size_t) const;
  explicit operator bool() const;
};
template <class T>
class shared_ptr : public unique_ptr<T> {
 public:
  using unique_ptr<T>::unique_ptr;
  template <class D>
  shared_ptr(T*, D);
  long use_count() const;
};
template <class T, class... A>
unique_ptr<T> make_unique(A&&...);
template <class T, class... A>
shared_ptr<T> make_shared(A&&...);

}  // namespace std
