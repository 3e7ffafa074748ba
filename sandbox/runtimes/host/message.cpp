// Failed checks: text is built piece by piece and thrown as c10::Error.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "bicrl/types.h"

namespace c10 {
// What TORCH_CHECK throws. Candidates may catch it as std::exception.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
}  // namespace c10

namespace bicrl {
namespace {
std::string& text_of(void* text) { return *static_cast<std::string*>(text); }
}  // namespace

Message::Message() : text_(new std::string) {}
Message::~Message() { delete static_cast<std::string*>(text_); }
Message& Message::append(const char* text, size_t size) {
  text_of(text_).append(text, size);
  return *this;
}
Message& Message::operator<<(const char* text) { return append(text, strlen(text)); }
Message& Message::operator<<(char letter) { return append(&letter, 1); }
Message& Message::operator<<(bool value) { return *this << (value ? "1" : "0"); }
Message& Message::operator<<(long long value) {
  const std::string text = std::to_string(value);
  return append(text.data(), text.size());
}
Message& Message::operator<<(unsigned long long value) {
  const std::string text = std::to_string(value);
  return append(text.data(), text.size());
}
Message& Message::operator<<(double value) {
  char text[40];
  snprintf(text, sizeof text, "%g", value);
  return *this << text;
}
const char* Message::text() const { return text_of(text_).c_str(); }
void Message::raise(const char*, int) { throw c10::Error(text_of(text_)); }

Message& operator<<(Message& m, c10::ScalarType type) { return m << c10::toString(type); }
Message& operator<<(Message& m, c10::Device device) { return m << device.str(); }
Message& operator<<(Message& m, c10::IntArrayRef list) {
  m << "[";
  for (size_t i = 0; i < list.size(); ++i) m << (i ? ", " : "") << list[i];
  return m << "]";
}

}  // namespace bicrl
