// The C++ library's class templates that host functions use, as declarations. Kernels cannot use them: what has no
// body here is an unresolved call there.
#pragma once
#include "bicrl/traits.h"

namespace std {

template <class T>
class allocator {};
template <class C>
struct char_traits {};
template <class T>
struct less {
  constexpr bool operator()(const T& a, const T& b) const { return a < b; }
};
template <class T>
struct greater {
  constexpr bool operator()(const T& a, const T& b) const { return a > b; }
};
template <class T>
struct equal_to {
  constexpr bool operator()(const T& a, const T& b) const { return a == b; }
};
template <class T = void>
struct plus {
  constexpr T operator()(const T& a, const T& b) const { return a + b; }
};
template <>
struct plus<void> {
  template <class A, class B>
  constexpr auto operator()(A&& a, B&& b) const {
    return a + b;
  }
};
template <class T = void>
struct multiplies {
  constexpr T operator()(const T& a, const T& b) const { return a * b; }
};
template <>
struct multiplies<void> {
  template <class A, class B>
  constexpr auto operator()(A&& a, B&& b) const {
    return a * b;
  }
};
template <class T>
struct hash {};
template <class T>
struct default_delete {};

// ---- pair, tuple, array, optional: also used in device code, so they work.
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
template <class T>
struct tuple_size;
template <class... T>
struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class A, class B>
struct tuple_size<pair<A, B>> : integral_constant<size_t, 2> {};
template <class T>
struct tuple_size<const T> : tuple_size<T> {};
template <class T>
inline constexpr size_t tuple_size_v = tuple_size<T>::value;
template <size_t i, class T>
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
constexpr const T& get(const array<T, n>& a) {
  return a.elements[i];
}

struct nullopt_t {};
inline constexpr nullopt_t nullopt{};
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

// ---- Sequences and maps.
template <class T>
struct reverse_iterator {
  T& operator*() const;
};
struct bicrl_end {};

template <class T, class A = allocator<T>>
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

inline namespace __cxx11 {
template <class C, class T = char_traits<C>, class A = allocator<C>>
class basic_string {
 public:
  static constexpr size_t npos = ~size_t{0};
  constexpr basic_string() = default;
  constexpr basic_string(const C*) {}
  basic_string(const C*, size_t);
  basic_string(size_t, C);
  const C* c_str() const;
  const C* data() const;
  size_t size() const;
  size_t length() const;
  bool empty() const;
  const C* begin() const;
  const C* end() const;
  C& operator[](size_t);
  const C& operator[](size_t) const;
  C& back();
  size_t find(const basic_string&, size_t = 0) const;
  size_t find(C, size_t = 0) const;
  basic_string substr(size_t = 0, size_t = npos) const;
  basic_string& append(const basic_string&);
  void push_back(C);
  void clear();
  basic_string& operator+=(const basic_string&);
  basic_string& operator+=(C);
};
}  // namespace __cxx11
using string = basic_string<char>;
string operator+(const string&, const string&);
string operator+(const string&, char);
bool operator==(const string&, const string&);
bool operator!=(const string&, const string&);
bool operator<(const string&, const string&);
template <class T, class = enable_if_t<is_arithmetic_v<T>>>
string to_string(T);
int stoi(const string&);
float stof(const string&);
class string_view {
 public:
  constexpr string_view() = default;
  constexpr string_view(const char*) {}
  string_view(const string&);
  const char* data() const;
  size_t size() const;
  bool empty() const;
};
bool operator==(string_view, string_view);

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

// ---- Pointers, functions, locks.
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
class mutex {
 public:
  constexpr mutex() = default;
  void lock();
  void unlock();
  bool try_lock();
};
using recursive_mutex = mutex;
template <class M>
class lock_guard {
 public:
  explicit lock_guard(M&);
};
template <class M>
class unique_lock {
 public:
  explicit unique_lock(M&);
  void lock();
  void unlock();
};
template <class M>
class scoped_lock {
 public:
  explicit scoped_lock(M&);
};
struct once_flag {};
template <class F, class... A>
void call_once(once_flag&, F&&, A&&...);
template <class T>
class atomic {
 public:
  constexpr atomic() = default;
  constexpr atomic(T) {}
  T load() const;
  void store(T);
  operator T() const;
  T operator=(T);
  T operator++();
  T operator++(int);
  T fetch_add(T);
};

}  // namespace std
