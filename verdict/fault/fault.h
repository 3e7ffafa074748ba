// The fault that ends a program's verification, and who is to blame: the one value by which all parts of the
// verifier say it. A plain value.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "verdict/fault/fault_class.h"

namespace bicrl {

struct Fault {
  enum class Blame : uint8_t {
    kNobody,         // there is none
    kProgram,        // another verification would end alike
    kInfrastructure  // a box, a device or a person's stop: the program may be good
  };
  Blame blame = Blame::kNobody;
  FaultClass fault_class{};  // of the program's
  std::string reason;        // for a person

  static Fault of_program(FaultClass fault_class, std::string reason) {
    return {Blame::kProgram, fault_class, std::move(reason)};
  }
  static Fault infrastructure(std::string reason) { return {Blame::kInfrastructure, {}, std::move(reason)}; }

  explicit operator bool() const { return blame != Blame::kNobody; }
  bool is_infrastructure() const { return blame == Blame::kInfrastructure; }
  // Whether it is the program's, of that class.
  bool is(FaultClass wanted) const { return blame == Blame::kProgram && fault_class == wanted; }
};

}  // namespace bicrl
