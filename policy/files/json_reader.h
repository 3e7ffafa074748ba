// Typed reading of one JSON object from outside: a missing or mistyped field is an InputError that names the
// file, the field and the value. Refers to the object; not thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/json.h"

namespace bicrl {

class JsonReader {
 public:
  JsonReader(const nlohmann::json& object, std::string name) : object_(object), name_(std::move(name)) {
    if (!object_.is_object())
      throw InputError(concat(name_, ": expected a JSON object, found ", json_excerpt(object_)));
  }

  // Present and not null.
  bool has(const std::string& key) const { return object_.contains(key) && !object_.at(key).is_null(); }
  const nlohmann::json& at(const std::string& key) const {
    if (!object_.contains(key)) throw InputError(concat(name_, ": ", key, ": missing"));
    return object_.at(key);
  }
  int64_t integer(const std::string& key) const {
    const auto& value = at(key);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
      reject(key, "expected an integer");
    return value.get<int64_t>();
  }
  double real(const std::string& key) const {
    if (!at(key).is_number()) reject(key, "expected a number");
    return at(key).get<double>();
  }
  bool boolean(const std::string& key) const {
    if (!at(key).is_boolean()) reject(key, "expected true or false");
    return at(key).get<bool>();
  }
  std::string text(const std::string& key) const {
    if (!at(key).is_string()) reject(key, "expected a string");
    return at(key).get<std::string>();
  }
  const nlohmann::json& list(const std::string& key) const {
    if (!at(key).is_array()) reject(key, "expected a list");
    return at(key);
  }
  int64_t integer(const std::string& key, int64_t fallback) const {
    return has(key) ? integer(key) : fallback;
  }
  double real(const std::string& key, double fallback) const { return has(key) ? real(key) : fallback; }
  bool boolean(const std::string& key, bool fallback) const { return has(key) ? boolean(key) : fallback; }
  std::string text(const std::string& key, const std::string& fallback) const {
    return has(key) ? text(key) : fallback;
  }
  JsonReader object(const std::string& key) const { return JsonReader(at(key), name_ + ": " + key); }

  const std::string& name() const { return name_; }
  [[noreturn]] void reject(const std::string& key, const std::string& reason) const {
    throw InputError(concat(name_, ": ", key, ": ", reason, ", found ",
                            json_excerpt(object_.value(key, nlohmann::json()))));
  }

 private:
  const nlohmann::json& object_;
  std::string name_;
};

}  // namespace bicrl
