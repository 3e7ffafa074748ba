// Synthesised tasks: PyTorch operators composed into small modules, each with a CUDA program in the published
// form. Deterministic by seed. Pure functions.
//
// A composition is the ordered tuple of a task's operators (constants and shapes do not count). Whether it is
// held out is a property of the composition alone, whatever seed and options: no held-out composition is ever
// trained on, in this run or in another.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/config.h"
#include "tasks/task.h"

namespace bicrl {

enum class SyntheticPrograms {
  kOne,  // each task has one, which is all there is to learn
  kMany  // tasks/synthetic_forms.h: a plain one and faster ones, of which some are not told
};

struct SynthesisOptions {
  uint64_t seed = 1;
  int train_compositions = 600;
  int held_out_compositions = 256;
  int variants = 1;    // tasks per training composition, with other constants and shapes if it has any
  int max_length = 3;  // operators in a chain, from 2 on
  // What input and output take together where programs are costed (docs/cost_model.md): tasks say it in
  // get_costing_inputs(). 0: programs are costed on the inputs that they are judged on.
  int64_t costing_bytes = 0;
  SyntheticPrograms programs = SyntheticPrograms::kOne;
  // Of the training compositions: their tasks have a module and no program. Which ones is a property of the
  // composition, and those of a smaller share are among those of a larger one. Infilling passes them over: it
  // needs a scaffold.
  double unknown_share = 0;
  // Relative weights of the families; 0 leaves one out.
  double elementwise = 4;
  double broadcast = 2;
  double reduction = 2;
  double softmax = 1;
  double stencil = 1;

  // Keys as the members above; the weights under `families`.
  static SynthesisOptions from_config(const ConfigSection& section);
};

// Ids are train_0001..., held_out_0001...; a task's level is the number of its operators.
struct SyntheticTasks {
  std::vector<Task> train;
  std::vector<Task> held_out;
};

// Throws InputError if the options leave too few compositions.
SyntheticTasks synthesise(const SynthesisOptions& options);

bool is_held_out(const std::vector<std::string>& composition);

}  // namespace bicrl
