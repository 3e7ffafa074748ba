// <map>, <set> and their unordered kin
#pragma once
#include "bicrl/declared.h"
#include "bicrl/functors.h"
#include "bicrl/tuples.h"

namespace std {

template <class K, class V>
class bicrl_map {
 public:
  using value_type = pair<const K, V>;
  constexpr bicrl_map() = default;
  bicrl_map(initializer_list<value_type>);
  V& operator[](const K&);
  V& at(const K&);
  const V& at(const K&) const;
  value_type* find(const K&) const;
  size_t count(const K&) const;
  value_type* begin() const;
  value_type* end() const;
  size_t size() const;
  bool empty() const;
  void clear();
  size_t erase(const K&);
  template <class... A>
  pair<value_type*, bool> emplace(A&&...);
  pair<value_type*, bool> insert(const value_type&);
};
template <class K, class V, class L = less<K>, class A = allocator<pair<const K, V>>>
class map : public bicrl_map<K, V> {
  using bicrl_map<K, V>::bicrl_map;
};
template <class K, class V, class H = hash<K>, class E = equal_to<K>, class A = allocator<pair<const K, V>>>
class unordered_map : public bicrl_map<K, V> {
  using bicrl_map<K, V>::bicrl_map;
};
template <class K>
class bicrl_set {
 public:
  constexpr bicrl_set() = default;
  bicrl_set(initializer_list<K>);
  const K* find(const K&) const;
  size_t count(const K&) const;
  const K* begin() const;
  const K* end() const;
  size_t size() const;
  bool empty() const;
  void clear();
  pair<const K*, bool> insert(const K&);
};
template <class K, class L = less<K>, class A = allocator<K>>
class set : public bicrl_set<K> {
  using bicrl_set<K>::bicrl_set;
};
template <class K, class H = hash<K>, class E = equal_to<K>, class A = allocator<K>>
class unordered_set : public bicrl_set<K> {
  using bicrl_set<K>::bicrl_set;
};

}  // namespace std
