#include "alu_support.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <memory>

namespace bicrl::ptx {
namespace {

struct alignas(64) Array {
  unsigned char bytes[kTestLanes * 16];
};

void store(Array& array, Type type, const Column& column) {
  size_t width = bits_of(type) / 8;
  for (size_t lane = 0; lane < column.size(); ++lane)
    memcpy(array.bytes + lane * width, &column[lane], width);
}
Column load(const Array& array, Type type, size_t lanes) {
  size_t width = bits_of(type) / 8;
  Column column(lanes);
  for (size_t lane = 0; lane < lanes; ++lane) memcpy(&column[lane], array.bytes + lane * width, width);
  return column;
}

std::string text(Word word) {
  char buffer[40];
  if (word >> 64 != 0)
    snprintf(buffer, sizeof buffer, "%llx%016llx", static_cast<unsigned long long>(word >> 64),
             static_cast<unsigned long long>(word));
  else
    snprintf(buffer, sizeof buffer, "%llx", static_cast<unsigned long long>(word));
  return buffer;
}

Operand make_operand(Operand::Kind kind, int elements) {
  Operand operand;
  operand.kind = kind;
  operand.elements.resize(elements);
  for (Operand& element : operand.elements) element.kind = Operand::Kind::kRegister;
  return operand;
}

}  // namespace

bool can_run(IsaVariant variant) {
  return variant == IsaVariant::kBaseline || best_isa_variant() == IsaVariant::kAvx2;
}

Instruction make_instruction(const std::string& name) {
  std::string plain = name.substr(0, name.find('/')), form = name.substr(plain.size());
  auto has = [&](const char* word) { return form.find(word) != std::string::npos; };
  Instruction instruction;
  for (size_t begin = 0; begin <= plain.size();) {
    size_t end = std::min(plain.find('.', begin), plain.size());
    if (begin == 0)
      instruction.opcode = plain.substr(0, end);
    else
      instruction.modifiers.push_back(plain.substr(begin, end - begin));
    begin = end + 1;
  }
  Operand reg = make_operand(Operand::Kind::kRegister, 0);
  int elements = form.empty() ? 0 : form.back() - '0';
  instruction.operands.push_back(has("/pq")       ? make_operand(Operand::Kind::kPair, 2)
                                 : has("/unpack") ? make_operand(Operand::Kind::kVector, elements)
                                                  : reg);
  instruction.operands.push_back(has("/pack") ? make_operand(Operand::Kind::kVector, elements) : reg);
  if (instruction.opcode == "setp" || instruction.opcode == "set") {
    instruction.operands.push_back(reg);
    if (has("/not")) {
      instruction.operands.push_back(reg);
      instruction.operands.back().negated = true;
    }
  }
  return instruction;
}

int bits_of(Type type) {
  switch (type) {
    case Type::kB16:
      return 16;
    case Type::kB32:
    case Type::kF32:
    case Type::kPred:
      return 32;
    case Type::kB64:
    case Type::kF64:
      return 64;
    case Type::kB128:
      return 128;
    default:
      FAIL("an array of type " << static_cast<int>(type));
      return 0;
  }
}

Word Values::bits(int count) {
  Word word = Word{random_()} << 64 | random_();
  return count == 128 ? word : word & ((Word{1} << count) - 1);
}

Word Values::value(Type type) {
  int width = bits_of(type);
  if (type == Type::kPred) return predicate(random_() & 1);
  Word all = width == 128 ? ~Word{0} : (Word{1} << width) - 1;
  switch (random_() % 8) {
    case 0: {  // near a power of two, or its negative
      Word near = (Word{1} << (random_() % width)) + random_() % 3 - 1;
      return (random_() & 1 ? near : ~near + 1) & all;
    }
    case 1:  // small
      return (Word{random_() % 70} - 3) & all;
    case 2: {  // a floating-point number of moderate size
      double moderate =
          std::ldexp(static_cast<double>(random_() % 4001) - 2000, static_cast<int>(random_() % 40) - 24);
      if (width == 64) return word(moderate);
      if (width == 32) return word(static_cast<float>(moderate));
      return bits(width);
    }
    case 3: {  // floating-point edges: zeros, subnormals, largest, infinities, NaNs
      int fraction = width == 64 ? 52 : width == 32 ? 23 : random_() & 1 ? 10 : 7;
      Word one = Word{1} << fraction;
      Word infinity = ((Word{1} << (width - 1)) - 1) / one * one;
      const Word edges[] = {0,
                            1,
                            one - 1,
                            one,
                            one + 1,
                            infinity - 1,
                            infinity,
                            infinity + 1,
                            infinity | one >> 1,
                            infinity - one,
                            one / 2,
                            infinity / 2 / one * one};
      Word edge = edges[random_() % std::size(edges)];
      return (edge | (random_() & 1 ? Word{1} << (width - 1) : 0)) & all;
    }
    case 4:  // a subnormal or small exponent
      return bits(width) & ~(all >> 1 & ~(all >> (width == 64 ? 10 : width == 32 ? 7 : 4))) & all;
    default:
      return bits(width);
  }
}

Column Values::column(Type type, int lanes) {
  Column column(lanes);
  for (Word& lane : column) lane = value(type);
  return column;
}

Column Values::shadows(Type type, int lanes) {
  Column column(lanes);
  int width = bits_of(type);
  for (Word& lane : column) {
    uint64_t kind = random_() % 8;
    if (type == Type::kPred)
      lane = predicate(kind < 2);
    else if (kind == 0)
      lane = bits(width);
    else if (kind == 1)
      lane = bits(width) & bits(width) & bits(width) & bits(width);
    else if (kind == 2)
      lane = Word{1} << random_() % width;
    else
      lane = 0;
  }
  return column;
}

const AluEntry& entry_of(const std::string& name, IsaVariant variant) {
  const AluEntry* entry = alu_table(variant).find(name);
  INFO(name);
  REQUIRE(entry != nullptr);
  return *entry;
}

std::vector<Column> run(const AluEntry& entry, const std::vector<Column>& sources, int in_place) {
  auto arrays = std::make_unique<std::array<Array, kMaxAluSources + kMaxAluDestinations>>();
  AluArguments arguments;
  size_t lanes = sources.at(0).size();
  for (size_t i = 0; i < sources.size(); ++i) {
    store((*arrays)[i], entry.sources[i], sources[i]);
    arguments.sources[i] = (*arrays)[i].bytes;
  }
  for (size_t i = 0; i < kMaxAluDestinations && entry.destinations[i] != Type::kNone; ++i)
    arguments.destinations[i] = (*arrays)[i == 0 && in_place >= 0 ? in_place : kMaxAluSources + i].bytes;
  entry.run(arguments, static_cast<int>(lanes));
  std::vector<Column> results;
  for (size_t i = 0; i < kMaxAluDestinations && entry.destinations[i] != Type::kNone; ++i)
    results.push_back(load((*arrays)[i == 0 && in_place >= 0 ? in_place : kMaxAluSources + i],
                           entry.destinations[i], lanes));
  return results;
}

std::vector<Column> run_shadow(const AluEntry& entry, const std::vector<Column>& shadows,
                               const std::vector<Column>& values) {
  auto arrays = std::make_unique<std::array<Array, 2 * kMaxAluSources + kMaxAluDestinations>>();
  ShadowArguments arguments;
  size_t lanes = values.at(0).size();
  for (size_t i = 0; i < values.size(); ++i) {
    store((*arrays)[i], entry.sources[i], shadows[i]);
    arguments.sources[i] = (*arrays)[i].bytes;
    store((*arrays)[kMaxAluSources + i], entry.sources[i], values[i]);
    arguments.values[i] = (*arrays)[kMaxAluSources + i].bytes;
  }
  std::vector<Column> results;
  for (size_t i = 0; i < kMaxAluDestinations && entry.destinations[i] != Type::kNone; ++i)
    arguments.destinations[i] = (*arrays)[2 * kMaxAluSources + i].bytes;
  entry.shadow(arguments, static_cast<int>(lanes));
  for (size_t i = 0; i < kMaxAluDestinations && entry.destinations[i] != Type::kNone; ++i)
    results.push_back(load((*arrays)[2 * kMaxAluSources + i], entry.destinations[i], lanes));
  return results;
}

void check_on(const std::string& name, const std::vector<Column>& sources, const Oracle& oracle) {
  for (IsaVariant variant : kTwins) {
    if (!can_run(variant)) continue;
    const AluEntry& entry = entry_of(name, variant);
    std::vector<Column> results = run(entry, sources);
    for (size_t lane = 0; lane < sources[0].size(); ++lane) {
      std::vector<Word> values;
      for (const Column& source : sources) values.push_back(source[lane]);
      std::vector<Word> expected = oracle(values);
      REQUIRE(expected.size() == results.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        if (results[i][lane] == expected[i]) continue;
        std::string message = name + (variant == IsaVariant::kAvx2 ? " (avx2)" : "");
        for (Word value : values) message += " " + text(value);
        FAIL(message << " -> result " << i << ": " << text(results[i][lane]) << ", expected "
                     << text(expected[i]));
      }
    }
  }
}

void check(const std::string& name, const Oracle& oracle, int rounds) {
  Values values(static_cast<uint32_t>(std::hash<std::string>{}(name)));
  const AluEntry& entry = entry_of(name);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Column> sources;
    for (Type type : entry.sources)
      if (type != Type::kNone) sources.push_back(values.column(type));
    // Equal sources, and sources near each other, happen too rarely by themselves.
    for (size_t i = 1; i < sources.size(); ++i)
      if (entry.sources[i] == entry.sources[0] && entry.sources[i] != Type::kPred)
        for (Word& value : sources[i])
          if (values.random()() % 8 == 0) value = sources[0][&value - sources[i].data()];
    check_on(name, sources, oracle);
  }
  SUCCEED(name);
}

}  // namespace bicrl::ptx
