// set and setp: all comparisons of all types, connectives, both results, negated predicates.
#include <catch2/catch_test_macros.hpp>

#include "float_oracle.h"

namespace bicrl::ptx {
namespace {

enum class Order { kLess, kEqual, kGreater, kUnordered };

bool holds(const std::string& comparison, Order order) {
  bool unordered = order == Order::kUnordered;
  std::string name = comparison;
  if (name == "num") return !unordered;
  if (name == "nan") return unordered;
  if (name.size() == 3 && name.back() == 'u') {
    if (unordered) return true;
    name.pop_back();
  }
  if (unordered) return false;
  if (name == "lo") name = "lt";
  if (name == "ls") name = "le";
  if (name == "hi") name = "gt";
  if (name == "hs") name = "ge";
  if (name == "eq") return order == Order::kEqual;
  if (name == "ne") return order != Order::kEqual;
  if (name == "lt") return order == Order::kLess;
  if (name == "le") return order != Order::kGreater;
  if (name == "gt") return order == Order::kGreater;
  REQUIRE(name == "ge");
  return order != Order::kLess;
}

Order order_of(__int128 a, __int128 b) {
  return a < b ? Order::kLess : a > b ? Order::kGreater : Order::kEqual;
}
Order order_of(const Format& f, Word a, Word b) {
  if (f.is_nan(a) || f.is_nan(b)) return Order::kUnordered;
  auto rank = [&](Word x) {
    return f.negative(x) ? -static_cast<__int128>(f.size(x)) : static_cast<__int128>(f.size(x));
  };
  return order_of(rank(a), rank(b));
}

using Comparing = std::function<Order(Word, Word)>;

void check_setp(const std::string& comparison, const std::string& tail, const Comparing& order) {
  auto truth = [&](const std::vector<Word>& x) { return holds(comparison, order(x[0], x[1])); };
  check(
      "setp." + comparison + tail,
      [&](const std::vector<Word>& x) { return std::vector{predicate(truth(x))}; }, 3);
  check(
      "setp." + comparison + tail + "/pq",
      [&](const std::vector<Word>& x) {
        return std::vector{predicate(truth(x)), predicate(!truth(x))};
      },
      2);
  for (const char* connective : {"and", "or", "xor"})
    for (const char* negated : {"", "/not"}) {
      auto connect = [&](bool a, bool c) {
        c ^= *negated != 0;
        return predicate(connective[0] == 'a' ? a && c : connective[0] == 'o' ? a || c : a != c);
      };
      std::string name = "setp." + comparison + "." + connective + tail;
      check(
          name + negated,
          [&](const std::vector<Word>& x) { return std::vector{connect(truth(x), x[2] != 0)}; }, 2);
      check(
          name + "/pq" + negated,
          [&](const std::vector<Word>& x) {
            return std::vector{connect(truth(x), x[2] != 0), connect(!truth(x), x[2] != 0)};
          },
          2);
    }
}
void check_set(const std::string& comparison, const std::string& flushing, const std::string& type,
               const Comparing& order) {
  struct Result {
    const char* type;
    Word one;
  };
  for (Result result : {Result{".u32", 0xffffffff}, {".s32", 0xffffffff}, {".f32", 0x3f800000}})
    check(
        "set." + comparison + flushing + result.type + type,
        [&](const std::vector<Word>& x) {
          return std::vector{holds(comparison, order(x[0], x[1])) ? result.one : 0};
        },
        2);
}

const std::vector<std::string> kSigned = {"eq", "ne", "lt", "le", "gt", "ge"};
const std::vector<std::string> kUnsigned = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
const std::vector<std::string> kFloat = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                         "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

TEST_CASE("comparisons of integers") {
  for (int width : {16, 32, 64}) {
    std::string bits = std::to_string(width);
    Comparing as_unsigned = [](Word a, Word b) {
      return order_of(static_cast<__int128>(a), static_cast<__int128>(b));
    };
    Comparing as_signed = [&](Word a, Word b) {
      auto extend = [&](Word x) { return static_cast<__int128>(x << (128 - width)) >> (128 - width); };
      return order_of(extend(a), extend(b));
    };
    for (const std::string& comparison : kUnsigned) {
      check_setp(comparison, ".u" + bits, as_unsigned);
      check_set(comparison, "", ".u" + bits, as_unsigned);
    }
    for (const std::string& comparison : kSigned) {
      check_setp(comparison, ".s" + bits, as_signed);
      check_set(comparison, "", ".s" + bits, as_signed);
    }
    for (const char* comparison : {"eq", "ne"}) check_setp(comparison, ".b" + bits, as_unsigned);
  }
}

TEST_CASE("comparisons of floating-point numbers") {
  struct Kind {
    std::string type;
    const Format& format;
    bool ftz;
  };
  for (const Kind& kind : {Kind{".f32", kSingle, false},
                           {".f32", kSingle, true},
                           {".f64", kDouble, false},
                           {".f16", kHalf, false},
                           {".f16", kHalf, true},
                           {".bf16", kBFloat, false}}) {
    const Format& f = kind.format;
    std::string flushing = kind.ftz ? ".ftz" : "";
    Comparing order = [&](Word a, Word b) {
      return kind.ftz ? order_of(f, f.flush(a), f.flush(b)) : order_of(f, a, b);
    };
    for (const std::string& comparison : kFloat) {
      check_setp(comparison, flushing + kind.type, order);
      check_set(comparison, flushing, kind.type, order);
      if (f.bits != 16) continue;
      auto truths = [&](const std::vector<Word>& x) {
        return std::pair{holds(comparison, order(x[0] & 0xffff, x[1] & 0xffff)),
                         holds(comparison, order(x[0] >> 16, x[1] >> 16))};
      };
      Word one = f.fraction == 10 ? 0x3c00 : 0x3f80;
      std::string packed = kind.type + "x2";
      check(
          "setp." + comparison + flushing + packed + "/pq",
          [&](const std::vector<Word>& x) {
            auto [low, high] = truths(x);
            return std::vector{predicate(low), predicate(high)};
          },
          2);
      check(
          "setp." + comparison + ".or" + flushing + packed + "/pq/not",
          [&](const std::vector<Word>& x) {
            auto [low, high] = truths(x);
            return std::vector{predicate(low || !x[2]), predicate(high || !x[2])};
          },
          2);
      check(
          "set." + comparison + flushing + packed + packed,
          [&](const std::vector<Word>& x) {
            auto [low, high] = truths(x);
            return std::vector{(high ? one << 16 : 0) | (low ? one : 0)};
          },
          2);
      check(
          "set." + comparison + flushing + ".u32" + packed,
          [&](const std::vector<Word>& x) {
            auto [low, high] = truths(x);
            return std::vector{(high ? Word{0xffff0000} : 0) | (low ? 0xffff : 0)};
          },
          2);
      check(
          "set." + comparison + flushing + kind.type + kind.type,
          [&](const std::vector<Word>& x) {
            return std::vector{holds(comparison, order(x[0], x[1])) ? one : 0};
          },
          2);
      check(
          "set." + comparison + flushing + ".s16" + kind.type,
          [&](const std::vector<Word>& x) {
            return std::vector{holds(comparison, order(x[0], x[1])) ? Word{0xffff} : 0};
          },
          2);
    }
  }
}

}  // namespace
}  // namespace bicrl::ptx
