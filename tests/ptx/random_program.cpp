#include "tests/ptx/random_program.h"

#include <vector>

#include "common/error.h"
#include "common/rng.h"

namespace bicrl::ptx::testing {
namespace {

class ProgramWriter {
 public:
  ProgramWriter(uint64_t seed, int function) : seed_(seed), function_(function) {}

  std::string function() {
    std::string text = concat("FUNCTION unsigned f", function_, "(unsigned t, const unsigned* in) {\n");
    text +=
        "  unsigned a = t * 2654435761u, b = in[t & 63], c = 12345, d = t;\n  unsigned m[8];\n"
        "  for (unsigned i = 0; i < 8; ++i) m[i] = a ^ (i * 40503u);\n";
    text += statements(3, 1) + "  return " + expression(3) + ";\n}\n";
    return text;
  }

 private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(mix_key({seed_, next_++}) % count); }

  std::string variable() { return std::string(1, "abcd"[pick(4)]); }

  std::string expression(int depth) {
    if (depth == 0 || pick(6) == 0) {
      switch (pick(4)) {
        case 0:
          return concat(pick(1000), "u");
        case 1:
          return concat("m[", variable(), " & 7]");
        case 2:
          return concat("in[", variable(), " & 63]");
        default:
          return variable();
      }
    }
    const std::string x = expression(depth - 1), y = expression(depth - 1);
    switch (pick(14)) {
      case 0:
        return concat("(", x, " + ", y, ")");
      case 1:
        return concat("(", x, " - ", y, ")");
      case 2:
        return concat("(", x, " * ", y, ")");
      case 3:
        return concat("(", x, " / (", y, " | 1u))");
      case 4:
        return concat("(", x, " % (", y, " | 1u))");
      case 5:
        return concat("(", x, " << (", y, " & 31u))");
      case 6:
        return concat("(", x, " >> (", y, " & 31u))");
      case 7:
        return concat("(", x, " ^ ", y, ")");
      case 8:
        return concat("(", x, " & ~", y, ")");
      case 9:
        return concat("(", x, " < ", y, " ? ", expression(depth - 1), " : ", y, ")");
      case 10:
        return concat("(unsigned)(((unsigned long long)", x, " * ", y, ") >> 32)");
      case 11:
        return concat("(unsigned)((int)", x, " >> (", y, " & 31u))");
      case 12:
        return concat("(unsigned)((short)", x, " + (signed char)", y, ")");
      default:
        if (function_ == 0) return concat("(", x, " | ", y, ")");
        return concat("f", pick(static_cast<uint32_t>(function_)), "(", x, ", in)");
    }
  }

  std::string block(int depth, int indent) {
    return "{\n" + statements(depth - 1, indent + 1) + std::string(static_cast<size_t>(2 * indent), ' ') +
           "}\n";
  }

  std::string statements(int depth, int indent) {
    std::string text;
    for (uint32_t i = 0; i < 2 + pick(3); ++i) text += statement(depth, indent);
    return text;
  }

  std::string statement(int depth, int indent) {
    const std::string margin(static_cast<size_t>(2 * indent), ' ');
    const std::string counter = concat("i", counters_++);
    switch (depth > 0 ? pick(9) : pick(3)) {
      case 0:
      case 1:
        return concat(margin, variable(), " = ", expression(2), ";\n");
      case 2:
        return concat(margin, "m[", expression(1), " & 7] += ", expression(2), ";\n");
      case 3:
        return concat(margin, "if (", expression(2), " % 3u == 0) ", block(depth, indent));
      case 4:
        return concat(margin, "if ((", expression(1), " ^ t) & 1u) ", block(depth, indent), margin, "else ",
                      block(depth, indent));
      case 5:  // as long as the lane's own values say
        return concat(margin, "for (unsigned ", counter, " = 0; ", counter, " < (", expression(1),
                      " & 5u); ++", counter, ") ", block(depth, indent));
      case 6:
        return concat(margin, "for (unsigned ", counter, " = 0; ", counter, " < 6; ++", counter, ") {\n",
                      margin, "  if (", expression(1), " & 4u) ", pick(2) ? "break" : "continue", ";\n",
                      statements(depth - 1, indent + 1), margin, "}\n");
      case 7:
        return concat(margin, "switch (", expression(1), " & 3u) {\n", margin, "  case 0: ", variable(),
                      " += 7; break;\n", margin, "  case 1: ", block(depth, indent + 1), margin,
                      "  case 2: ", variable(), " ^= ", expression(1), "; break;\n", margin,
                      "  default: ", variable(), " *= 3;\n", margin, "}\n");
      default:
        return concat(margin, "if ((", expression(1), " & 15u) == 3u) return ", expression(2), ";\n");
    }
  }

  const uint64_t seed_;
  const int function_;
  uint64_t next_ = 0;
  int counters_ = 0;
};

}  // namespace

std::string random_functions(uint64_t seed, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += ProgramWriter(mix_key({seed, static_cast<uint64_t>(i)}), i).function();
  return text;
}

}  // namespace bicrl::ptx::testing
