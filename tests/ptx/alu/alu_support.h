// Runs single instructions of the interpreter's arithmetic on values of the test's choice.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "sandbox/interpreter/ptx/alu/alu_table.h"

namespace bicrl::ptx {

using Word = unsigned __int128;    // a value of any type in its lowest bits
using Column = std::vector<Word>;  // of all lanes

constexpr IsaVariant kTwins[] = {IsaVariant::kBaseline, IsaVariant::kAvx2};
constexpr int kTestLanes = 256;

// Whether this processor can run the variant.
bool can_run(IsaVariant variant);

// "setp.lt.and.s32/pq/not" as the parser would say it; after the slash the forms of the table's names.
Instruction make_instruction(const std::string& name);

int bits_of(Type type);  // of an element of an array; 32 of a predicate

// Values of a type with its edges, or random ones. Predicates are 0 or all ones of 32 bits.
class Values {
 public:
  explicit Values(uint32_t seed) : random_(seed) {}
  Column column(Type type, int lanes = kTestLanes);
  Word value(Type type);
  Word bits(int count);
  // Masks of few bits, of none or of all.
  Column shadows(Type type, int lanes = kTestLanes);
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
};

// Runs the entry on the sources; `in_place`: destination 0 is the array of that source, -1: none.
std::vector<Column> run(const AluEntry& entry, const std::vector<Column>& sources, int in_place = -1);
std::vector<Column> run_shadow(const AluEntry& entry, const std::vector<Column>& shadows,
                               const std::vector<Column>& values);

// What one lane should give, from its sources.
using Oracle = std::function<std::vector<Word>(const std::vector<Word>&)>;

// Compares the instruction with the oracle on edge values and random ones, in both variants and in place. All
// parameters beyond the name have uses for single instructions only.
void check(const std::string& name, const Oracle& oracle, int rounds = 12);
void check_on(const std::string& name, const std::vector<Column>& sources, const Oracle& oracle);

const AluEntry& entry_of(const std::string& name, IsaVariant variant = IsaVariant::kBaseline);

template <class T>
T as(Word word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}
template <class T>
Word word(T value) {
  Word bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
inline Word predicate(bool truth) { return truth ? 0xffffffffu : 0; }

}  // namespace bicrl::ptx
