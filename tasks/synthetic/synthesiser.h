// Synthesised tasks: PyTorch operators composed into small modules, each with CUDA programs in the published
// form: a plain one and faster ones, of which some stay novel (tasks/synthetic/known_programs.h).
// Deterministic by seed. Pure functions.
//
// A composition is the ordered tuple of a task's operators (constants and shapes do not count). On which side
// of the split it lies is a property of the composition alone (tasks/synthetic/synthetic_split.h): none of
// development or test is ever trained on, in this run or in another. Besides, no two tasks of different
// compositions of one call compute the same function, whichever sides they are on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "tasks/task.h"

namespace bicrl {

struct SynthesisOptions {
  uint64_t seed = 1;
  int train_compositions = 600;
  int development_compositions = 256;
  int test_compositions = 0;
  int variants = 1;    // tasks per training composition, with other constants and shapes if it has any
  int max_length = 3;  // operators in a chain: from 2, up to 5
  int alternatives =
      8;  // known programs of a task beside the plain one, at most (tasks/synthetic/known_programs.h)
  // What input and output take together where programs are costed (docs/cost_model.md): tasks say it in
  // get_costing_inputs(). 0: programs are costed on the inputs that they are judged on.
  int64_t costing_bytes = 0;
  // Programs are run on this part of it, and modelled times are for so many times as many rows: that much
  // less is executed. Each row is computed alone, so that the same kernels' counters grow with the rows.
  int costing_repeats = 1;
  // The share of training compositions with a reduction, softmax or stencil between two other operators that
  // programs are known of. The tasks of the others are modules alone: what is known shows mostly chains that
  // begin or end with such an operator, and only reinforcement learns whether both sides were put together
  // well. Infilling passes these tasks over: it needs a scaffold.
  double known_interior_operators = 1;
  // Relative weights of the families; 0 leaves one out.
  double elementwise = 4;
  double broadcast = 2;
  double reduction = 2;
  double softmax = 1;
  double stencil = 1;

  // Keys as the members above; the weights under `families`.
  static SynthesisOptions from_config(const ConfigSection& section);
};

// Ids are train_0001..., development_0001..., test_0001...; a task's level is the number of its operators.
struct SyntheticTasks {
  std::vector<Task> train;
  std::vector<Task> development;
  std::vector<Task> test;
};

// Throws InputError if the options leave too few compositions.
SyntheticTasks synthesise(const SynthesisOptions& options);

}  // namespace bicrl
