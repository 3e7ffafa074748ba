#include "sandbox/interpreter/ptx/syntax/initializer_parser.h"

#include <bit>
#include <cstring>

#include "sandbox/interpreter/ptx/syntax/constant_expression.h"

namespace bicrl::ptx {
namespace {

constexpr uint32_t kAddressBytes = 8;

class InitializerParser {
 public:
  InitializerParser(ParseState& state, Variable& variable, std::vector<uint64_t>& dimensions)
      : state_(state), lexer_(state.lexer), variable_(variable), dimensions_(dimensions) {}

  void run() {
    element_ = static_cast<uint64_t>(bytes_of(variable_.type));
    if (dimensions_.empty()) {
      parse_value(0);
    } else {
      open_ = dimensions_[0] == 0;
      strides_.assign(dimensions_.size(), element_);
      for (size_t i = dimensions_.size() - 1; i > 0; --i) {
        if (strides_[i] > kMaxInitialBytes || dimensions_[i] > kMaxInitialBytes)
          lexer_.fail("too many or too large initial values");
        strides_[i - 1] = strides_[i] * dimensions_[i];
      }
      parse_list(0, 0);
    }
    if (mask_.bytes != 0) lexer_.unsupported("an address of which only some bytes are kept");
  }

 private:
  // Bytes of an address that come one by one: 0xFF(x), 0xFF00(x), ...
  struct MaskedAddress {
    uint32_t bytes = 0;  // so far
    uint64_t next = 0;   // where the next one must be
    Variable::Relocation relocation;
  };

  // Takes {...} of dimension `level`, which begins at `offset`. Braces and values may be fewer than elements.
  void parse_list(size_t level, uint64_t offset) {
    lexer_.expect('{');
    const uint64_t most = level == 0 && open_ ? UINT64_MAX : dimensions_[level];
    uint64_t count = 0;
    if (!lexer_.at('}')) {
      do {
        if (count == most) lexer_.fail("more initial values than elements");
        const uint64_t place = offset + count * strides_[level];
        if (level + 1 == dimensions_.size())
          parse_value(place);
        else
          parse_list(level + 1, place);
        ++count;
      } while (lexer_.take(','));
    }
    lexer_.expect('}');
    if (level > 0 || !open_) return;
    if (count == 0) lexer_.fail("an array has no elements");
    dimensions_[0] = count;
  }

  // A place for `bytes` bytes of initial values.
  char* reserve(uint64_t offset, uint64_t bytes) {
    if (offset > kMaxInitialBytes) lexer_.fail("too many or too large initial values");
    const uint64_t end = offset + bytes, had = variable_.initial.size();
    if (end > had) {
      state_.spend(state_.initial_bytes, end - had, kMaxInitialBytes, "initial values");
      variable_.initial.resize(end);
    }
    return variable_.initial.data() + offset;
  }

  void parse_value(uint64_t offset) {
    if (lexer_.at(Token::Kind::kWord)) {
      if (element_ != kAddressBytes) lexer_.unsupported("an address in a variable that is not 64 bits wide");
      add(parse_address(offset));
      return;
    }
    const Number number = parse_constant(lexer_);
    if (lexer_.at('(')) return parse_masked(offset, number);
    store(offset, number);
  }

  void add(const Variable::Relocation& relocation) {
    reserve(relocation.offset, kAddressBytes);
    variable_.relocations.push_back(relocation);
  }

  void parse_masked(uint64_t offset, Number mask) {
    lexer_.expect('(');
    const Variable::Relocation address = parse_address(offset);
    lexer_.expect(')');
    const uint32_t byte = mask_.bytes;
    if (byte == 0) mask_ = {0, offset, address};
    const bool follows = mask_.next == offset && mask_.relocation.target == address.target &&
                         mask_.relocation.to_function == address.to_function &&
                         mask_.relocation.addend == address.addend;
    if (element_ != 1 || !follows || mask.type != Type::kS64 ||
        static_cast<uint64_t>(mask.bits) != uint64_t{0xFF} << (8 * byte))
      lexer_.unsupported("an address of which only some bytes are kept");
    ++mask_.next;
    if (++mask_.bytes < kAddressBytes) return;
    add(mask_.relocation);
    mask_ = {};
  }

  // name, name+4, generic(name), generic(name)+4
  Variable::Relocation parse_address(uint64_t offset) {
    std::string_view name = lexer_.take_word();
    if (name == "generic" && lexer_.take('(')) {
      name = lexer_.take_word();
      lexer_.expect(')');
    }
    const Symbol* symbol = state_.find(name);
    if (!symbol) lexer_.fail("unknown name " + quoted(name));
    const bool to_function = symbol->kind == Symbol::Kind::kFunction;
    if (!to_function && !is_placed_by_linker(*symbol)) lexer_.fail(quoted(name) + " has no address");
    if (offset > UINT32_MAX) lexer_.fail("a variable is too large");
    const uint32_t target = symbol->index;
    return {static_cast<uint32_t>(offset), to_function, target,
            lexer_.take('+') ? parse_integer_constant(lexer_) : 0};
  }

  bool is_placed_by_linker(const Symbol& symbol) const {
    if (symbol.kind != Symbol::Kind::kVariable) return false;
    const Space space = state_.module.variables[symbol.index].space;
    return space == Space::kGlobal || space == Space::kConst;
  }

  void store(uint64_t offset, Number number) {
    uint64_t bits = static_cast<uint64_t>(number.bits);
    const bool is_single = variable_.type == Type::kF32 || variable_.type == Type::kB32;
    const bool is_double = variable_.type == Type::kF64 || variable_.type == Type::kB64;
    if (number.type == Type::kS64) {
      if (variable_.type == Type::kF32 || variable_.type == Type::kF64)
        lexer_.fail("an integer in a variable of type ." + to_string(variable_.type));
    } else if (!is_single && !is_double) {
      lexer_.unsupported("a floating-point value in a variable of type ." + to_string(variable_.type));
    } else if (is_single && number.type == Type::kF64) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(number.bits)));
    } else if (is_double && number.type == Type::kF32) {
      bits = std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(bits))});
    }
    // Little-endian; a type of 128 bits gets the sign of its number.
    char* to = reserve(offset, element_);
    for (uint64_t i = 0; i < element_; ++i)
      to[i] = static_cast<char>(i < 8 ? bits >> (8 * i) : number.bits < 0 ? 0xFF : 0);
  }

  ParseState& state_;
  Lexer& lexer_;
  Variable& variable_;
  std::vector<uint64_t>& dimensions_;
  std::vector<uint64_t> strides_;  // bytes from one element of a dimension to the next
  uint64_t element_ = 1;
  bool open_ = false;
  MaskedAddress mask_;
};

}  // namespace

void parse_initializer(ParseState& state, Variable& variable, std::vector<uint64_t>& dimensions) {
  InitializerParser(state, variable, dimensions).run();
}

}  // namespace bicrl::ptx
