// The many correct programs of one synthesised task: the same chain of operators, put together from other
// pieces. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tasks/synthetic/synthetic_module.h"
#include "tasks/synthetic/technique.h"
#include "tasks/task.h"

namespace bicrl {

enum class PackMap { kIf, kUnchecked, kStride, kRow };       // which packs a thread takes
enum class Lanes { kOne, kEight, kWarp, kBlock };            // that share a row
enum class RowReduction { kNone, kShuffle, kTree, kWarps };  // how they join what they have
enum class SoftmaxPasses { kKeep = 1, kOnline = 2, kThree = 3 };

// Where a chain has nothing for a choice to act upon, it keeps its default.
struct Form {
  bool fused = false;          // one kernel, else one for each operator
  PackMap map = PackMap::kIf;  // of kernels of elements and neighbours; beside a structural operator's kernel
                               // those of elements use kIf
  int width = 1;               // floats that a thread loads at a time: 1, 2, 4
  int threads = 256;           // of a block: 32, 64, 128, 256
  Lanes lanes = Lanes::kOne;
  RowReduction reduction = RowReduction::kNone;
  SoftmaxPasses passes = SoftmaxPasses::kThree;
  bool tiled = false;  // neighbours are read from shared memory

  bool operator==(const Form&) const = default;
};

// The slow, simple one that every chain has: a kernel for each operator, a float and a row for each thread.
Form plain_form(const std::vector<ChainStep>& chain);

// Whether the form's program computes the chain on inputs of this shape, without races and out-of-bounds
// accesses. It follows from the form: nothing is run.
bool is_correct(const std::vector<ChainStep>& chain, const Form& form, Shape shape);

// Forms that are correct on both shapes, the plain one first; no two have the same text.
std::vector<Form> all_forms(const std::vector<ChainStep>& chain, Shape shape, std::optional<Shape> costed);

// The chain has up to five operators, of which one at most is not pointwise.
KnownProgram write_form(const std::vector<ChainStep>& chain, const Form& form);

// The result of read_technique() for write_form()'s text.
Technique technique_of(const std::vector<ChainStep>& chain, const Form& form);

// A static guess of the time that a form takes, in passes over the input: it orders known programs before any
// was costed, and counts what usually dominates (launches that pass over memory, rows read by one thread
// each, lanes that idle, narrow loads). Not the reward's model, which is asked about every response.
double guessed_cost(const std::vector<ChainStep>& chain, const Form& form);

}  // namespace bicrl
