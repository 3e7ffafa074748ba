// Markup that cannot be confused with text: whatever comes from a run becomes markup by text() alone, which
// escapes it. Pure functions.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bicrl::report {

// Safe to stand in a page. Made by the functions below, never from a run's bytes.
class Html {
 public:
  Html() = default;
  const std::string& markup() const { return markup_; }
  bool empty() const { return markup_.empty(); }
  Html& operator+=(const Html& more) {
    markup_ += more.markup_;
    return *this;
  }
  friend Html operator+(Html first, const Html& second) { return first += second; }

 private:
  struct Safe {};  // no list of attributes is taken for markup
  Html(Safe, std::string markup) : markup_(std::move(markup)) {}
  friend Html text(std::string_view untrusted);
  friend Html literal(const char* markup);
  friend Html element(const char* name, const std::vector<std::pair<const char*, std::string>>& attributes,
                      const Html& content);
  std::string markup_;
};

// Untrusted bytes as UTF-8 in which nobody is misled: characters that reorder a line, hide or control are
// shown by their number, as [U+202E]; what is no UTF-8 becomes U+FFFD. Newlines and tabs stay.
std::string visible_text(std::string_view untrusted);

// The one function that escapes. Its result may also stand in a quoted attribute.
Html text(std::string_view untrusted);
// Markup of the program's own, from the source code.
Html literal(const char* markup);

// Attribute values are escaped; elements without an end tag must be void ones with empty content.
using Attributes = std::vector<std::pair<const char*, std::string>>;
Html element(const char* name, const Attributes& attributes, const Html& content = {});
Html element(const char* name, const Html& content);

// JSON text that may stand within a script element: "<", ">", "&" and line separators are written as \uXXXX.
std::string json_for_script(const std::string& json);

}  // namespace bicrl::report
