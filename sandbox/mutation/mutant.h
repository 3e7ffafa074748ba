// Mutants: programs with one small, meaningful change in their device code, most of which are wrong. What a
// verifier says of the mutants of sound programs shows what it would miss. Text in, text out: nothing is
// compiled, so some mutants are no programs, and some mean what they meant before. Pure functions,
// thread-safe.
#pragma once
#include <string>
#include <vector>

namespace bicrl {

struct Mutant {
  std::string kind;           // of kMutations
  int line = 0;               // of the program, from 1
  std::string before, after;  // the code that changed, on one line
  std::string program;        // the whole of it
};

struct Mutation {
  const char* kind;
  const char* meaning;
};

// What is changed, in the order in which mutants_of() lists them.
const std::vector<Mutation>& mutations();

// All single changes to the device functions in the texts (string literals between three quotation marks) of
// a Python program, by kind and place.
std::vector<Mutant> mutants_of(const std::string& program);

}  // namespace bicrl
