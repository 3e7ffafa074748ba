// Number of members of an aggregate, at compile time: lists of fields compare their length with it, so that a
// new member cannot be forgotten.
#pragma once
#include <cstddef>

namespace bicrl {

namespace field_count_detail {

struct AnyValue {
  template <class T>
  operator T() const;  // never called
};

}  // namespace field_count_detail

// Members of base classes and of members do not count; `T` must be an aggregate.
template <class T, class... Values>
constexpr size_t field_count() {
  if constexpr (requires { T{Values{}..., field_count_detail::AnyValue{}}; })
    return field_count<T, Values..., field_count_detail::AnyValue>();
  else
    return sizeof...(Values);
}

}  // namespace bicrl
