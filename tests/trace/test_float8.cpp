// Conversions of 8-bit floats, against PyTorch's.
#include "sandbox/recorder/trace/float8.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>

#include "tests/support/support.h"

namespace bicrl {
namespace {

template <class Float8>
void check_all_bytes_survive() {
  for (int bits = 0; bits < 256; ++bits) {
    const float value = Float8::value_of(static_cast<uint8_t>(bits));
    INFO(bits << " is " << value);
    if (std::isnan(value))
      CHECK(std::isnan(Float8::of(value).value()));
    else
      CHECK(Float8::bits_of(value) == bits);
  }
}

TEST_CASE("an 8-bit float survives the way to float and back") {
  check_all_bytes_survive<Float8E4M3>();
  check_all_bytes_survive<Float8E5M2>();
  CHECK(Float8E4M3::value_of(0x7E) == 448);
  CHECK(Float8E5M2::value_of(0x7B) == 57344);
  CHECK(std::isinf(Float8E5M2::value_of(0x7C)));
}

TEST_CASE("floats are rounded to 8 bits as PyTorch casts") {
  testing::TemporaryFolder folder;
  const auto path = folder.path() / "conversions";
  std::ofstream out(path);
  out << std::hex;
  const auto write = [&](uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    out << bits << " " << int{Float8E4M3::bits_of(value)} << " " << int{Float8E5M2::bits_of(value)} << "\n";
  };
  // Every float whose lower bits are a tie, or next to one, and others by chance.
  for (uint32_t high = 0; high < 1u << 12; ++high)
    for (const uint32_t low : {0u, 1u, 0x7FFFFu, 0x80000u, 0x80001u, 0xFFFFFu}) write(high << 20 | low);
  uint32_t random = 1;
  for (int i = 0; i < 20000; ++i) write(random = random * 1664525u + 1013904223u);
  out.close();
  testing::run_python(testing::source_path("tests/trace/float8_check.py"), {path.string()});
}

}  // namespace
}  // namespace bicrl
