// std::function
#pragma once
#include "bicrl/core.h"

namespace std {

template <class F>
class function;
template <class R, class... A>
class function<R(A...)> {
 public:
  constexpr function() = default;
  constexpr function(decltype(nullptr)) {}
  template <class F, class = decltype(declval<F&>()(declval<A>()...))>
  function(F);
  R operator()(A...) const;
  explicit operator bool() const;
};

}  // namespace std
