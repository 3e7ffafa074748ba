// Bindings by which Python reaches the candidate's functions: wrappers that convert tagged values as pybind11
// converts objects.
#pragma once
#include "bicrl/tensor.h"

#pragma GCC visibility push(default)
namespace bicrl {

struct Value;                                // one Python value, owned by the library
at::Tensor take_tensor(const Value& value);  // the take functions raise if the kind does not fit
bool take_bool(const Value& value);
long long take_integer(const Value& value, long long least, unsigned long long most);
double take_float(const Value& value);
c10::Scalar take_scalar(const Value& value);
const char* take_text(const Value& value, size_t* size);
c10::IntArrayRef take_integers(const Value& value);  // lives as long as the value
bool is_none(const Value& value);
size_t list_size(const Value& value);
const Value& list_item(const Value& value, size_t index);
void give_none(Value& value);
void give_tensor(Value& value, const at::Tensor& tensor);
void give_bool(Value& value, bool b);
void give_integer(Value& value, long long i);
void give_float(Value& value, double d);
void give_text(Value& value, const char* text, size_t size);
void give_list(Value& value, size_t size, bool tuple);
Value& give_item(Value& value, size_t index);

template <class T>
struct Convert;  // take(const Value&) and give(Value&, const T&)
template <>
struct Convert<at::Tensor> {
  static at::Tensor take(const Value& v) { return take_tensor(v); }
  static void give(Value& v, const at::Tensor& t) { give_tensor(v, t); }
};
template <>
struct Convert<bool> {
  static bool take(const Value& v) { return take_bool(v); }
  static void give(Value& v, bool b) { give_bool(v, b); }
};
#define BICRL_INTEGER(T, least, most)                                                      \
  template <>                                                                              \
  struct Convert<T> {                                                                      \
    static T take(const Value& v) { return static_cast<T>(take_integer(v, least, most)); } \
    static void give(Value& v, T i) { give_integer(v, static_cast<long long>(i)); }        \
  };
BICRL_INTEGER(signed char, -128, 127)
BICRL_INTEGER(unsigned char, 0, 255)
BICRL_INTEGER(short, -32768, 32767)
BICRL_INTEGER(unsigned short, 0, 65535)
BICRL_INTEGER(int, -2147483647 - 1, 2147483647)
BICRL_INTEGER(unsigned, 0, 4294967295u)
BICRL_INTEGER(long, -0x7fffffffffffffffL - 1, 0x7fffffffffffffffUL)
BICRL_INTEGER(unsigned long, 0, ~0ULL)
BICRL_INTEGER(long long, -0x7fffffffffffffffLL - 1, 0x7fffffffffffffffULL)
BICRL_INTEGER(unsigned long long, 0, ~0ULL)
#undef BICRL_INTEGER
template <>
struct Convert<float> {
  static float take(const Value& v) { return static_cast<float>(take_float(v)); }
  static void give(Value& v, float f) { give_float(v, f); }
};
template <>
struct Convert<double> {
  static double take(const Value& v) { return take_float(v); }
  static void give(Value& v, double d) { give_float(v, d); }
};
template <>
struct Convert<c10::Scalar> {
  static c10::Scalar take(const Value& v) { return take_scalar(v); }
};
template <>
struct Convert<c10::IntArrayRef> {
  static c10::IntArrayRef take(const Value& v) { return take_integers(v); }
};
template <>
struct Convert<const char*> {
  static const char* take(const Value& v) {
    size_t size;
    return take_text(v, &size);
  }
  static void give(Value& v, const char* text) { give_text(v, text, __builtin_strlen(text)); }
};
#ifdef BICRL_STD
template <>
struct Convert<std::string> {
  static std::string take(const Value& v) {
    size_t size;
    const char* text = take_text(v, &size);
    return std::string(text, size);
  }
  static void give(Value& v, const std::string& text) { give_text(v, text.data(), text.size()); }
};
#endif
#ifdef BICRL_STD
template <class T>
struct Convert<std::optional<T>> {
  static std::optional<T> take(const Value& v) {
    if (is_none(v)) return std::nullopt;
    return Convert<T>::take(v);
  }
  static void give(Value& v, const std::optional<T>& o) { o ? Convert<T>::give(v, *o) : give_none(v); }
};
#endif
#ifdef BICRL_STD
template <class T>
struct Convert<std::vector<T>> {
  static std::vector<T> take(const Value& v) {
    std::vector<T> list;
    const size_t n = list_size(v);
    list.reserve(n);
    for (size_t i = 0; i < n; ++i) list.push_back(Convert<T>::take(list_item(v, i)));
    return list;
  }
  static void give(Value& v, const std::vector<T>& list) {
    give_list(v, list.size(), false);
    for (size_t i = 0; i < list.size(); ++i) Convert<T>::give(give_item(v, i), list[i]);
  }
};
#endif
#ifdef BICRL_STD
template <class T, size_t N>
struct Convert<std::array<T, N>> {
  static void give(Value& v, const std::array<T, N>& list) {
    give_list(v, N, false);
    for (size_t i = 0; i < N; ++i) Convert<T>::give(give_item(v, i), list[i]);
  }
};
#endif
#ifdef BICRL_STD
template <class... T>
struct Convert<std::tuple<T...>> {
  template <unsigned... I>
  static void give_each(Value& v, const std::tuple<T...>& t, Indices<I...>) {
    (Convert<T>::give(give_item(v, I), std::get<I>(t)), ...);
  }
  static void give(Value& v, const std::tuple<T...>& t) {
    give_list(v, sizeof...(T), true);
    give_each(v, t, IndicesUpTo<sizeof...(T)>());
  }
};
template <class A, class B>
struct Convert<std::pair<A, B>> {
  static void give(Value& v, const std::pair<A, B>& p) {
    give_list(v, 2, true);
    Convert<A>::give(give_item(v, 0), p.first);
    Convert<B>::give(give_item(v, 1), p.second);
  }
};
#endif

// Holds a converted argument until the call is over, so that references to it stay good.
template <class A>
struct Argument {
  typename Decay<A>::type value;
  explicit Argument(const Value& v) : value(Convert<typename Decay<A>::type>::take(v)) {}
  A&& pass() { return static_cast<A&&>(value); }
};
using Wrapper = void (*)(void (*function)(), const Value* const* arguments, Value& result);

template <class R, class... A>
struct Wrap {
  template <unsigned... I>
  static void call(R (*function)(A...), const Value* const* arguments, Value& result, Indices<I...>) {
    (void)arguments;
    Convert<typename Decay<R>::type>::give(result, function(Argument<A>(*arguments[I]).pass()...));
  }
  static void run(void (*function)(), const Value* const* arguments, Value& result) {
    call(reinterpret_cast<R (*)(A...)>(function), arguments, result, IndicesUpTo<sizeof...(A)>());
  }
};
template <class... A>
struct Wrap<void, A...> {
  template <unsigned... I>
  static void call(void (*function)(A...), const Value* const* arguments, Indices<I...>) {
    (void)arguments;
    function(Argument<A>(*arguments[I]).pass()...);
  }
  static void run(void (*function)(), const Value* const* arguments, Value& result) {
    call(reinterpret_cast<void (*)(A...)>(function), arguments, IndicesUpTo<sizeof...(A)>());
    give_none(result);
  }
};

// Name and default of one parameter, as py::arg("x") = 1 gives them.
struct NamedArgument {
  const char* name;
  char kind = 0;  // 0 no default, 'n' none, 'b', 'i', 'f', 's'
  double number = 0;
  long long integer = 0;
  const char* text = nullptr;
  explicit NamedArgument(const char* name) : name(name) {}
  NamedArgument& operator=(bool b) { return kind = 'b', integer = b, *this; }
  NamedArgument& operator=(int i) { return kind = 'i', integer = i, *this; }
  NamedArgument& operator=(long i) { return kind = 'i', integer = i, *this; }
  NamedArgument& operator=(long long i) { return kind = 'i', integer = i, *this; }
  NamedArgument& operator=(double d) { return kind = 'f', number = d, *this; }
  NamedArgument& operator=(const char* t) { return kind = 's', text = t, *this; }
  template <class T>
  NamedArgument& operator=(const T&) {
    return kind = 'n', *this;
  }
};

class Registry {
 public:
  template <class R, class... A, class... Extra>
  Registry& def(const char* name, R (*function)(A...), const Extra&... extra) {
    add(name, reinterpret_cast<void (*)()>(function), &Wrap<R, A...>::run, sizeof...(A));
    (note(extra), ...);
    return *this;
  }
  template <class F, class... Extra, class = decltype(&F::operator())>
  Registry& def(const char* name, F function, const Extra&... extra) {
    return def(name, +function, extra...);
  }
  void doc_(const char*) {}
  struct Anything {
    template <class T>
    Anything& operator=(const T&) {
      return *this;
    }
  };
  Anything doc() { return {}; }
  Anything attr(const char*) { return {}; }

 private:
  void add(const char* name, void (*function)(), Wrapper wrapper, unsigned parameters);
  void note(const NamedArgument& argument);
  template <class T>
  void note(const T&) {}
};

}  // namespace bicrl
#pragma GCC visibility pop

namespace pybind11 {
using arg = bicrl::NamedArgument;
using module_ = bicrl::Registry;
using module = bicrl::Registry;
struct none {};
struct gil_scoped_release {
  gil_scoped_release() {}
};
template <class T = void>
struct call_guard {};
}  // namespace pybind11
namespace py = pybind11;
#define TORCH_EXTENSION_NAME bicrl_module
#define PYBIND11_MODULE(name, variable)                                  \
  extern "C" __attribute__((visibility("default"))) void bicrl_register( \
      [[maybe_unused]] ::bicrl::Registry& variable)
