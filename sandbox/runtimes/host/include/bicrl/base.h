// Ground of the shim headers: fixed-size integers and how the library reports errors. Lean on purpose: what a
// candidate does not name costs compile time, so nothing of the C++ library is included here.
#pragma once
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
namespace bicrl {

template <class T>
struct Identity {
  using type = T;
};
template <class T>
struct Decay {
  using type = T;
};
template <class T>
struct Decay<T&> : Decay<T> {};
template <class T>
struct Decay<T&&> : Decay<T> {};
template <class T>
struct Decay<const T> : Decay<T> {};
template <unsigned... I>
struct Indices {};
template <unsigned N>
using IndicesUpTo = Indices<__integer_pack(N)...>;

// Builds the text of a failed check piece by piece; raise() throws c10::Error from within the library.
class Message {
 public:
  Message();
  ~Message();
  Message(const Message&) = delete;
  Message& operator<<(const char* text);
  Message& operator<<(char letter);
  Message& operator<<(bool value);
  Message& operator<<(int value) { return *this << static_cast<long long>(value); }
  Message& operator<<(long value) { return *this << static_cast<long long>(value); }
  Message& operator<<(long long value);
  Message& operator<<(unsigned value) { return *this << static_cast<unsigned long long>(value); }
  Message& operator<<(unsigned long value) { return *this << static_cast<unsigned long long>(value); }
  Message& operator<<(unsigned long long value);
  Message& operator<<(float value) { return *this << static_cast<double>(value); }
  Message& operator<<(double value);
  Message& append(const char* text, size_t size);
  // Strings and anything else with data() and size() of char.
  template <class T>
  auto operator<<(const T& text) -> decltype(this->append(text.data(), text.size())) {
    return append(text.data(), text.size());
  }
  [[noreturn]] void raise(const char* file, int line);
  const char* text() const;

 private:
  void* text_;
};

}  // namespace bicrl
#pragma GCC visibility pop
