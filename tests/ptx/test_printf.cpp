// printf and assertions: formats against the C library's, and what can be wrong with their texts.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>

#include "sandbox/interpreter/ptx/operations/print_format.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using testing::fault_text;
using testing::KernelRunner;

// Formats values that are given as 64 bits each.
Printed formatted(const std::string& format, const std::vector<uint64_t>& given) {
  size_t next = 0;
  return format_print(format, {.next =
                                   [&](uint32_t bytes) {
                                     const uint64_t value = next < given.size() ? given[next++] : 0;
                                     return bytes == 4 ? value & 0xFFFFFFFF : value;
                                   },
                               .text = [](uint64_t address) { return "text" + std::to_string(address); }});
}

template <class... Values>
std::string by_library(const char* format, Values... values) {
  char text[1000];
  snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

TEST_CASE("integers are printed like the C library does it") {
  for (const std::string flags : {"", "-", "+", " ", "0", "#", "-+", "+0", " #0"})
    for (const std::string size : {"", "7", "12", ".4", "9.3", "."})
      for (const int64_t value :
           {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-40000}, int64_t{0x123456789ABC}}) {
        const auto bits = static_cast<uint64_t>(value);
        for (const char conversion : {'d', 'i', 'u', 'x', 'X', 'o'}) {
          const auto check = [&](const std::string& length, auto as) {
            const std::string format = "<%" + flags + size + length + conversion + ">";
            INFO(format << " of " << value);
            CHECK(formatted(format, {bits}).text == by_library(format.c_str(), as));
          };
          check("", static_cast<int>(value));
          check("hh", static_cast<int>(value));
          check("h", static_cast<int>(value));
          check("l", static_cast<long>(value));
          check("ll", static_cast<long long>(value));
          check("z", static_cast<size_t>(value));
        }
      }
}

TEST_CASE("floating-point numbers, texts, characters and pointers are printed like the C library does it") {
  for (const std::string size : {"", "+", "14", "-14", ".0", ".3", "#.0", "012.2", " .9"})
    for (const double value :
         {0.0, -0.0, 1.5, -123456.789, 1e300, 3e-310, std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()})
      for (const char conversion : {'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A'}) {
        const std::string format = "%" + size + conversion;
        INFO(format << " of " << value);
        CHECK(formatted(format, {std::bit_cast<uint64_t>(value)}).text == by_library(format.c_str(), value));
      }
  CHECK(formatted("%s|%8s|%-8s|%.2s|%s", {1, 2, 3, 4, 0}).text == "text1|   text2|text3   |te|(null)");
  CHECK(formatted("%c%3c%-3c|", {'a', 'b', 'c'}).text == "a  bc  |");
  CHECK(formatted("%p", {0xABC}).text == "0xabc");
  CHECK(formatted("%*d|%-*d|%*d|%.*f",
                  {5, 1, 5, 2, static_cast<uint64_t>(-5), 3, 2, std::bit_cast<uint64_t>(1.0)})
            .text == "    1|2    |3    |1.00");
}

TEST_CASE("formats that are invalid or without measure are cut or stand for themselves") {
  CHECK(formatted("100%% of %d%%", {7}).text == "100% of 7%");
  CHECK(formatted("%d %s %% %5.*f", {1, 2, 3, 4}).values == 4);
  for (const char* format : {"%", "%5", "%-", "%.", "%ll", "%q", "%n", "%5.3y", "a%"}) {
    INFO(format);
    CHECK(formatted(format, {1, 2}).text == format);
    CHECK(formatted(format, {1, 2}).values == 0);
  }
  CHECK(formatted("%99999999999999999999d", {1}).text.size() == 1024);
  CHECK(formatted("%*d", {0x80000000, 1}).text.size() == 1024);
  CHECK(formatted("%.999999f", {std::bit_cast<uint64_t>(1e308)}).text.size() == 309 + 1 + 1024);
}

TEST_CASE("kernels print lane by lane, and get the number of values back") {
  KernelRunner runner(R"(
    extern "C" __global__ void say(int* counts) {
      const char* names[2] = {"even", "odd"};
      char local[4] = {'l', (char)('0' + threadIdx.x), 0, 0};
      __shared__ char shared[4];
      shared[0] = 's', shared[1] = 0;
      __syncthreads();
      if (threadIdx.x != 2)
        counts[threadIdx.x] = printf("%s %d: %.2f %lld %c %s %s%%\n", names[threadIdx.x % 2], threadIdx.x,
                                     threadIdx.x * 0.5f, 1ll << 40, 'a' + threadIdx.x, local, shared);
      if (threadIdx.x == 1) printf("done\n");
    })");
  const uint64_t counts = runner.upload(std::vector<int>(4, -7));
  REQUIRE(fault_text(runner.launch("say", {1, 1, 1}, {4, 1, 1}, 0, counts)) == "");
  CHECK(runner.printed().text() ==
        "even 0: 0.00 1099511627776 a l0 s%\nodd 1: 0.50 1099511627776 b l1 s%\n"
        "odd 3: 1.50 1099511627776 d l3 s%\ndone\n");
  CHECK(runner.printed().left_out_bytes() == 0);
  CHECK(runner.download<int>(counts) == std::vector<int>{7, 7, -7, 7});
}

TEST_CASE("printed text has a limit") {
  KernelRunner runner(R"(
    extern "C" __global__ void say() { for (int i = 0; i < 10; ++i) printf("%04d\n", i); })",
                      {.compiler_options = {}, .limits = {.printed_bytes = 23}, .ptx = ""});
  REQUIRE(fault_text(runner.launch("say", {1, 1, 1}, {1, 1, 1}, 0)) == "");
  CHECK(runner.printed().text() == "0000\n0001\n0002\n0003\n000");
  CHECK(runner.printed().left_out_bytes() == 27);
}

TEST_CASE("texts beyond their memory, and calls that are forged, are faults") {
  KernelRunner runner(R"(
    extern "C" __device__ int vprintf(const char*, void*);
    extern "C" __global__ void say(const char* text, int as_format, void* values) {
      if (as_format == 2) vprintf("%d %s %f", values);
      else if (as_format == 1) printf(text);
      else printf("%s\n", text);
    })");
  const auto say = [&](uint64_t text, int as_format, uint64_t values = 0) {
    return fault_text(runner.launch("say", {1, 1, 1}, {1, 1, 1}, 0, text, as_format, values));
  };
  const uint64_t text = runner.upload(std::vector<char>{'a', '%', 'd', 0});
  CHECK(say(text, 0) == "");
  CHECK(runner.printed().text() == "a%d\n");
  const uint64_t endless = runner.upload(std::vector<char>(100, 'x'));
  CHECK_THAT(say(endless, 0), StartsWith("illegal_access: a text to print goes on beyond"));
  CHECK_THAT(say(endless + 200, 1), StartsWith("illegal_access: a read outside"));
  CHECK_THAT(say(text, 1), StartsWith("illegal_access: a read outside"));  // no values at all
  CHECK_THAT(say(runner.reserve(8), 0), StartsWith("uninitialised: a text to print"));
  CHECK(say(runner.upload(std::vector<char>(10000, 'y')), 0) == "");
  CHECK(runner.printed().text().size() == kMaxPrintText + 1);
  CHECK_THAT(say(0, 2, runner.upload(std::vector<uint64_t>{1, 12345, 3})),
             StartsWith("illegal_access: a read outside"));
  CHECK_THAT(say(0, 2, runner.upload(std::vector<uint64_t>{1, 0})),
             StartsWith("illegal_access: a read outside"));
  CHECK(say(0, 2, runner.upload(std::vector<uint64_t>{1, 0, 0})) == "");
  CHECK(runner.printed().text() == "1 (null) 0.000000");
}

TEST_CASE("a failed assertion is reported with its place, and with no data of the program") {
  KernelRunner runner(R"(
    extern "C" __global__ void check(int limit) {
      assert(threadIdx.x + 1 < limit);
    }
    extern "C" __global__ void tell(const char* secret) { __assertfail(secret, "file", 7, 0, 1); })");
  CHECK(fault_text(runner.launch("check", {1, 1, 1}, {4, 1, 1}, 0, 5)) == "");
  const auto fault = runner.launch("check", {1, 1, 1}, {4, 1, 1}, 0, 3);
  CHECK_THAT(fault_text(fault),
             StartsWith("trap: assertion `threadIdx.x + 1 < limit` failed at cuda_sources:3 in "));
  CHECK_THAT(fault_text(fault), ContainsSubstring("check"));
  CHECK_THAT(fault_text(fault), ContainsSubstring("thread 2, 0, 0"));
  const uint64_t secret = runner.upload(std::vector<char>{'k', 'e', 'y', 0});
  CHECK_THAT(fault_text(runner.launch("tell", {1, 1, 1}, {1, 1, 1}, 0, secret)),
             StartsWith("trap: assertion `?` failed at file:7 in ?"));
}

}  // namespace bicrl::ptx
