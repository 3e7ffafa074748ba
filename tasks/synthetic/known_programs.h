// Selects which correct programs of a synthesised task are known programs. A fast technique is known for some
// operators and novel for others: a policy that has seen the parts can combine them where no known program
// does, and only a reward teaches it that. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/synthetic/synthetic_module.h"
#include "tasks/synthetic/technique.h"
#include "tasks/task.h"

namespace bicrl {

// Whether known programs of the composition's tasks may use the technique. A property of the two alone,
// whatever seed and options. With F(op) for a fixed choice of half the operators, and L(op) for another one:
//   a kernel for several operators   where L(last operator)
//   packs of 4, packs of 2           elementwise chains, 4 where F(first operator), else 2; stencils without
//                                    tiles; rows of one lane; never with a row vector
//   map unchecked | stride | row     elementwise chains | those and stencils | with a row vector
//   across: tree                     everywhere
//           shuffle                  max; softmax in three passes
//           warps                    sum
//   softmax in two passes | in one   with one lane or a tree | with a tree
// Everything else that costs no more than the plain form's parts is known everywhere.
bool is_known_technique(const std::vector<std::string>& composition, const Technique& technique);

struct ProgramTechnique {
  Technique technique;
  bool is_novel = false;  // no known program of the task's operators may use it
};
// The technique of a synthesised task's program, correct or not. Nothing for other tasks, and for programs
// outside of the grammar.
std::optional<ProgramTechnique> program_technique(const Task& task, std::string_view program);

// Sets the task's program to that of the plain form, and its alternatives to forms of known techniques, from
// expensive to cheap by guessed_cost(): all of them, or `most` drawn by what the task is, so that a larger
// number keeps those of a smaller one. `task` is write_module()'s.
void write_known_programs(const std::vector<ChainStep>& chain, Shape shape, std::optional<Shape> costed,
                          size_t most, Task& task);

// Takes the task's programs away; its module stays.
void forget_programs(Task& task);

}  // namespace bicrl
