#include "sandbox/frontend/device/host_calls.h"

#include <set>
#include <string_view>

#include "sandbox/frontend/device/code_structure.h"

namespace bicrl {
namespace {

using Names = std::set<std::string_view>;

class HostCalls {
 public:
  explicit HostCalls(const std::string& source) : t_(source), structure_(t_) {}

  std::string first() {
    find_functions();
    for (const CodeItem& item : structure_.items()) {
      if (item.kind != CodeItem::Kind::kFunction || !(item.is_global || item.is_device)) continue;
      Names own;  // parameters and local variables, as far as a name behind a name is one
      for (size_t i = item.begin; i < item.end; i = t_.next(i)) {
        if (!t_.is_identifier(i)) continue;
        if (i < item.body || is_declared(i)) {
          own.insert(t_.at(i));
        } else if (is_call(i) && host_.count(t_.at(i)) && !device_.count(t_.at(i)) && !own.count(t_.at(i))) {
          return "device code calls the host function '" + std::string(t_.at(i)) + "' (line " +
                 std::to_string(t_.line_of(i)) + ")";
        }
      }
    }
    return "";
  }

 private:
  // Functions without any mark, by name, and names that something for the device has as well. A function that
  // takes a class of torch or of the C++ library is an overload that device code does not mean.
  void find_functions() {
    for (const CodeItem& item : structure_.items()) {
      if (item.kind == CodeItem::Kind::kDirective || item.kind == CodeItem::Kind::kType) {
        for (size_t i = item.begin; i < item.end; i = t_.next(i))
          if (t_.is_identifier(i)) device_.insert(t_.at(i));
        continue;
      }
      if (!item.has_parameters) continue;
      const size_t name = name_of(item);
      if (name >= item.end) continue;
      const bool host = item.kind == CodeItem::Kind::kFunction && !item.is_global && !item.is_device &&
                        !item.is_constexpr && takes_plain_values(name);
      (host ? host_ : device_).insert(t_.at(name));
    }
  }

  size_t name_of(const CodeItem& item) const {
    const size_t end = item.body ? item.body : item.end;
    for (size_t i = item.begin; i < end; i = t_.next(i)) {
      if (!t_.is_identifier(i) || !t_.is(t_.next(i), "(")) continue;
      const bool marks = structure_.mark_macro(i) && t_.is_identifier(behind_arguments(i));
      if (!is_attribute_with_arguments(t_.at(i)) && !marks) return i;
      i = structure_.partner(t_.next(i));
      if (i >= end) break;
    }
    return item.end;
  }

  size_t behind_arguments(size_t name) const {
    const size_t close = structure_.partner(t_.next(name));
    return close < t_.size() ? t_.next(close) : t_.size();
  }

  bool takes_plain_values(size_t name) const {
    const size_t open = t_.next(name), close = structure_.partner(open);
    if (close >= t_.size()) return false;
    for (size_t i = open; i < close; i = t_.next(i))
      if (t_.is(i, "torch") || t_.is(i, "at") || t_.is(i, "std") || t_.is(i, "c10") || t_.is(i, "Tensor"))
        return false;
    return true;
  }

  bool is_declared(size_t i) const {
    const size_t before = t_.previous(i);
    if (before >= t_.size()) return false;
    if (!t_.is_identifier(before)) return t_.is(before, "&") && t_.is(t_.next(i), "=");
    for (const std::string_view word : {"return", "else", "do", "case", "and", "or", "not", "co_return"})
      if (t_.at(before) == word) return false;
    return true;
  }

  bool is_call(size_t i) const {
    const size_t before = t_.previous(i);
    return t_.is(t_.next(i), "(") && !t_.is(before, ".") && !t_.is(before, ">") && !t_.is(before, ":");
  }

  const TokenText t_;
  const CodeStructure structure_;
  Names host_, device_;
};

}  // namespace

std::string host_call_in_device_code(const std::string& cuda_source) {
  return HostCalls(cuda_source).first();
}

}  // namespace bicrl
