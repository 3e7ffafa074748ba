// <optional>
#pragma once
#include "bicrl/declared.h"
#include "bicrl/traits.h"

namespace std {

template <class T>
class optional {
 public:
  using value_type = T;
  constexpr optional() = default;
  constexpr optional(nullopt_t) {}
  template <class U = T, class = enable_if_t<is_convertible_v<U, T>>>
  constexpr optional(U&& value) : value_(static_cast<U&&>(value)), has_(true) {}
  constexpr bool has_value() const { return has_; }
  constexpr explicit operator bool() const { return has_; }
  constexpr T& value() { return value_; }
  constexpr const T& value() const { return value_; }
  constexpr T& operator*() { return value_; }
  constexpr const T& operator*() const { return value_; }
  constexpr T* operator->() { return &value_; }
  constexpr const T* operator->() const { return &value_; }
  template <class U>
  constexpr T value_or(U&& other) const {
    return has_ ? value_ : static_cast<T>(other);
  }
  void reset();
  template <class... A>
  T& emplace(A&&...);

 private:
  T value_{};
  bool has_ = false;
};
template <class T>
bool operator==(const optional<T>&, nullopt_t);
template <class T>
bool operator!=(const optional<T>&, nullopt_t);
template <class T>
optional<decay_t<T>> make_optional(T&& value);

}  // namespace std
