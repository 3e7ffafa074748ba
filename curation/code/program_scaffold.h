// Split of an infilling task's program around the text that holds its CUDA source. Pure functions.
#pragma once
#include <optional>
#include <string>

namespace bicrl::curation {

struct ProgramScaffold {
  std::string prefix, middle, suffix;  // together the program
};

// The middle is the first statement NAME = """...""" at the beginning of a line whose text defines a kernel;
// the first that launches one if none does. Nothing if there is no such statement.
std::optional<ProgramScaffold> cut_program(const std::string& program);

}  // namespace bicrl::curation
