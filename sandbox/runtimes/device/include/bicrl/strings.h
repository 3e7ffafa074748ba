// <string>, <string_view>
#pragma once
#include "bicrl/declared.h"
#include "bicrl/traits.h"

namespace std {

inline namespace __cxx11 {
template <class C, class T, class A>
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

}  // namespace std
