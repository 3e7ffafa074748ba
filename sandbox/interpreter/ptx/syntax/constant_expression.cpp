#include "sandbox/interpreter/ptx/syntax/constant_expression.h"

#include <bit>

namespace bicrl::ptx {
namespace {

constexpr int kDeepest = 32;  // nested parentheses and signs

struct Operator {
  char sign = 0;  // of << and >> one of them
  int precedence = 0;
};

// What stands before the next operand; precedence 0 if no operator.
Operator binary_operator(const Lexer& lexer) {
  if (!lexer.at(Token::Kind::kSign)) return {};
  switch (lexer.token().sign) {
    case '*':
    case '/':
    case '%':
      return {lexer.token().sign, 6};
    case '+':
    case '-':
      return {lexer.token().sign, 5};
    case '<':
    case '>':
      return {lexer.token().sign, 4};
    case '&':
      return {'&', 3};
    case '^':
      return {'^', 2};
    case '|':
      return {'|', 1};
    default:
      return {};
  }
}

int64_t combine(const Lexer& lexer, char sign, int64_t a, int64_t b) {
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (sign) {
    case '*':
      return static_cast<int64_t>(x * y);
    case '+':
      return static_cast<int64_t>(x + y);
    case '-':
      return static_cast<int64_t>(x - y);
    case '&':
      return a & b;
    case '^':
      return a ^ b;
    case '|':
      return a | b;
    default:
      break;
  }
  if (sign == '/' || sign == '%') {
    if (b == 0) lexer.fail("a constant is divided by zero");
    if (b == -1) return sign == '%' ? 0 : static_cast<int64_t>(0 - x);
    return sign == '/' ? a / b : a % b;
  }
  if (y > 63) lexer.fail("a constant is shifted too far");
  return sign == '<' ? static_cast<int64_t>(x << y) : a >> y;
}

class ExpressionParser {
 public:
  explicit ExpressionParser(Lexer& lexer) : lexer_(lexer) {}

  Number parse(int least_precedence, int depth) {
    Number left = parse_operand(depth);
    for (;;) {
      const Operator by = binary_operator(lexer_);
      if (by.precedence == 0 || by.precedence < least_precedence) return left;
      lexer_.advance();
      if ((by.sign == '<' || by.sign == '>') && !lexer_.take(by.sign))
        lexer_.unsupported("comparison of constants");
      const Number right = parse(by.precedence + 1, depth + 1);
      if (left.type != Type::kS64 || right.type != Type::kS64)
        lexer_.unsupported("arithmetic of floating-point constants");
      left.bits = combine(lexer_, by.sign, left.bits, right.bits);
    }
  }

 private:
  Number parse_operand(int depth) {
    if (depth > kDeepest) lexer_.fail("a constant is nested too deeply");
    if (lexer_.take('(')) {
      const Number inner = parse(1, depth + 1);
      lexer_.expect(')');
      return inner;
    }
    if (lexer_.take('+')) return parse_operand(depth + 1);
    if (lexer_.take('-')) return negate(parse_operand(depth + 1));
    if (lexer_.take('~')) {
      Number inner = parse_operand(depth + 1);
      if (inner.type != Type::kS64) lexer_.fail("'~' of a floating-point number");
      inner.bits = ~inner.bits;
      return inner;
    }
    lexer_.scan_fraction();
    return lexer_.take_number();
  }

  static Number negate(Number number) {
    const uint64_t bits = static_cast<uint64_t>(number.bits);
    if (number.type == Type::kF32) return {number.type, static_cast<int64_t>(bits ^ 0x80000000u)};
    if (number.type == Type::kF64) return {number.type, static_cast<int64_t>(bits ^ uint64_t{1} << 63)};
    return {number.type, static_cast<int64_t>(0 - bits)};
  }

  Lexer& lexer_;
};

}  // namespace

bool begins_constant(const Lexer& lexer) {
  return lexer.at(Token::Kind::kNumber) || lexer.at('-') || lexer.at('+') || lexer.at('~') || lexer.at('(');
}

Number parse_constant(Lexer& lexer) { return ExpressionParser(lexer).parse(1, 0); }

int64_t parse_integer_constant(Lexer& lexer) {
  const Number number = parse_constant(lexer);
  if (number.type != Type::kS64) lexer.fail("a floating-point number, but an integer is needed");
  return number.bits;
}

}  // namespace bicrl::ptx
