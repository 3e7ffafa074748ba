// Small PTX texts for tests.
#pragma once
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "sandbox/interpreter/ptx/syntax/parser.h"

namespace bicrl::ptx::testing {

inline const std::string kHead = ".version 9.0\n.target sm_90\n.address_size 64\n";

inline Module parsed(const std::string& text) {
  auto result = parse_module(kHead + text);
  INFO(text);
  REQUIRE((result.ok() ? "" : result.reason()) == "");
  return std::move(result.value());
}

// The function of a body whose registers are %r0.. and %p0..; %rd, %h and %q are 64, 16 and 128 bits wide.
inline std::string kernel_text(const std::string& body) {
  return ".visible .entry k(.param .u64 k_param_0)\n{\n.reg .pred %p<64>;\n.reg .b32 %r<64>;\n.reg .b64 "
         "%rd<64>;\n"
         ".reg .b16 %h<64>;\n.reg .b128 %q<8>;\n" +
         body + "\n}\n";
}
inline Function function_of(const std::string& body) {
  Module module = parsed(kernel_text(body));
  return module.functions.at(0);
}

// Why a text is not accepted.
inline std::string refusal(const std::string& text) {
  const auto result = parse_module(kHead + text);
  INFO(text);
  REQUIRE_FALSE(result.ok());
  return result.reason();
}
inline std::string body_refusal(const std::string& body) { return refusal(kernel_text(body)); }

}  // namespace bicrl::ptx::testing
