// Conversions of halves, and what device code names where host code holds on to it: none of it runs here.
#include "bicrl/half.h"
#include "runtime.h"
#include "sandbox/recorder/trace/float8.h"

extern "C++" {
__attribute__((visibility("default"))) uint3 bicrl_thread_index asm("threadIdx");
__attribute__((visibility("default"))) uint3 bicrl_block_index asm("blockIdx");
__attribute__((visibility("default"))) uint3 bicrl_block_extent asm("blockDim") = {1, 1, 1};
__attribute__((visibility("default"))) uint3 bicrl_grid_extent asm("gridDim") = {1, 1, 1};
}

void bicrl_device_only() {
  bicrl::raise_fault("record", "the host part runs a function that only device code can run");
}

void bicrl::failed_assertion(const char* condition, const char* file, int line) {
  raise_fault("record", std::string("assertion failed on the host: ") + condition + " (" + file + ":" +
                            std::to_string(line) + ")");
}

float bicrl_e4m3_to_float(unsigned char bits) noexcept { return bicrl::Float8E4M3::value_of(bits); }
unsigned char bicrl_float_to_e4m3(float value) noexcept { return bicrl::Float8E4M3::bits_of(value); }
float bicrl_e5m2_to_float(unsigned char bits) noexcept { return bicrl::Float8E5M2::value_of(bits); }
unsigned char bicrl_float_to_e5m2(float value) noexcept { return bicrl::Float8E5M2::bits_of(value); }

float bicrl_half_to_float(unsigned short bits) noexcept {
  const unsigned sign = (bits & 0x8000u) << 16;
  unsigned exponent = (bits >> 10) & 31, fraction = bits & 0x3ffu;
  if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 5.9604644775390625e-8f;
    return sign ? -value : value;
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (fraction << 13));
}

unsigned short bicrl_float_to_half(float value) noexcept {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const auto sign = static_cast<unsigned short>((bits >> 16) & 0x8000u);
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7fff);
  if (magnitude >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00);  // rounds past 65504
  if (magnitude < 0x38800000u) {
    // Adding 0.5 lines the fraction up with subnormal halves; the addition rounds to nearest even.
    const float aligned = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<unsigned short>(sign | (__builtin_bit_cast(unsigned, aligned) - 0x3f000000u));
  }
  const unsigned rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
}
