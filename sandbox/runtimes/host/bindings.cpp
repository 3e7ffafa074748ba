// Conversions between tagged values and C++ parameters, as pybind11 makes them.
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "bicrl/check.h"
#include "value.h"

namespace bicrl {
namespace {

// Becomes a Python TypeError.
[[noreturn]] void mismatch(const Value& v, const char* wanted) {
  static const char* const kNames[] = {"None", "int", "float", "bool", "str", "Tensor", "list", "tuple"};
  throw std::invalid_argument(std::string("incompatible function arguments: got ") +
                              kNames[static_cast<size_t>(v.kind)] + " for a parameter of type " + wanted);
}
bool is_list(const Value& v) { return v.kind == Value::Kind::kList || v.kind == Value::Kind::kTuple; }

}  // namespace

std::vector<BoundFunction>& bound_functions() {
  static std::vector<BoundFunction> all;
  return all;
}

at::Tensor take_tensor(const Value& v) {
  if (v.kind != Value::Kind::kTensor) mismatch(v, "torch::Tensor");
  return v.tensor;
}

bool take_bool(const Value& v) {
  if (v.kind == Value::Kind::kNone) return false;
  if (v.kind != Value::Kind::kBool) mismatch(v, "bool");
  return v.integer != 0;
}

long long take_integer(const Value& v, long long least, unsigned long long most) {
  if (v.kind != Value::Kind::kInt && v.kind != Value::Kind::kBool) mismatch(v, "int");
  if (v.integer < least || (v.integer > 0 && static_cast<unsigned long long>(v.integer) > most))
    throw std::invalid_argument("incompatible function arguments: integer " + std::to_string(v.integer) +
                                " is out of range");
  return v.integer;
}

double take_float(const Value& v) {
  if (v.kind == Value::Kind::kFloat) return v.real;
  if (v.kind == Value::Kind::kInt || v.kind == Value::Kind::kBool) return static_cast<double>(v.integer);
  mismatch(v, "float");
}

c10::Scalar take_scalar(const Value& v) {
  switch (v.kind) {
    case Value::Kind::kFloat: return c10::Scalar(v.real);
    case Value::Kind::kInt: return c10::Scalar(v.integer);
    case Value::Kind::kBool: return c10::Scalar(v.integer != 0);
    default: mismatch(v, "Scalar");
  }
}

const char* take_text(const Value& v, size_t* size) {
  if (v.kind != Value::Kind::kText) mismatch(v, "str");
  *size = v.text.size();
  return v.text.c_str();
}

c10::IntArrayRef take_integers(const Value& v) {
  v.integers.clear();
  if (!is_list(v)) mismatch(v, "IntArrayRef");
  for (const Value& item : v.items) v.integers.push_back(take_integer(item, INT64_MIN, INT64_MAX));
  return c10::IntArrayRef(v.integers.data(), v.integers.size());
}

bool is_none(const Value& v) { return v.kind == Value::Kind::kNone; }
size_t list_size(const Value& v) {
  if (!is_list(v)) mismatch(v, "list");
  return v.items.size();
}
const Value& list_item(const Value& v, size_t index) { return v.items.at(index); }

void give_none(Value& v) { v.kind = Value::Kind::kNone; }
void give_tensor(Value& v, const at::Tensor& tensor) {
  v.kind = tensor.defined() ? Value::Kind::kTensor : Value::Kind::kNone;
  v.tensor = tensor;
}
void give_bool(Value& v, bool b) {
  v.kind = Value::Kind::kBool;
  v.integer = b;
}
void give_integer(Value& v, long long i) {
  v.kind = Value::Kind::kInt;
  v.integer = i;
}
void give_float(Value& v, double d) {
  v.kind = Value::Kind::kFloat;
  v.real = d;
}
void give_text(Value& v, const char* text, size_t size) {
  v.kind = Value::Kind::kText;
  v.text.assign(text, size);
}
void give_list(Value& v, size_t size, bool tuple) {
  v.kind = tuple ? Value::Kind::kTuple : Value::Kind::kList;
  v.items.resize(size);
}
Value& give_item(Value& v, size_t index) { return v.items.at(index); }

void Registry::add(const char* name, void (*function)(), Wrapper wrapper, unsigned parameters) {
  bound_functions().push_back({name, function, wrapper, parameters, {}});
}

void Registry::note(const NamedArgument& argument) {
  BoundFunction::Named named;
  named.name = argument.name;
  named.has_default = argument.kind != 0;
  switch (argument.kind) {
    case 'b': give_bool(named.value, argument.integer != 0); break;
    case 'i': give_integer(named.value, argument.integer); break;
    case 'f': give_float(named.value, argument.number); break;
    case 's': give_text(named.value, argument.text, strlen(argument.text)); break;
    default: break;
  }
  bound_functions().back().named.push_back(std::move(named));
}

}  // namespace bicrl
