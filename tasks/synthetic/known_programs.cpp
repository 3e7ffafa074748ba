#include "tasks/synthetic/known_programs.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/rng.h"
#include "tasks/synthetic/synthetic_forms.h"
#include "tasks/synthetic/synthetic_operators.h"

namespace bicrl {
namespace {

// A fixed half of the operators for each question.
bool in_half(std::string_view question, std::string_view name) {
  return uniform_at(mix_key(mix_key(0, question), name), 0) < 0.5;
}

// The composition's operator that is not pointwise; nullptr without one.
const SyntheticOperator* special_of(const std::vector<std::string>& composition) {
  for (const std::string& name : composition) {
    const SyntheticOperator& op = synthetic_operator(name);
    if (op.kind != OperatorKind::kPointwise) return &op;
  }
  return nullptr;
}

bool is_known_width(const std::string& first, const SyntheticOperator* special, const Technique& technique) {
  if (technique.width == 1) return true;
  if (!special) return (technique.width == 4) == in_half("packs of four", first);
  if (special->kind == OperatorKind::kRowVector) return false;
  if (special->kind == OperatorKind::kStencil)
    return std::ranges::none_of(technique.maps,
                                [](const std::string& map) { return map.starts_with("tile-"); });
  return technique.reduction == "none";
}

bool is_known_map(const std::string& map, const SyntheticOperator* special) {
  if (map == "unchecked" || map == "tile-unchecked") return !special;
  if (map == "stride") return !special || special->kind == OperatorKind::kStencil;
  if (map == "row") return special && special->kind == OperatorKind::kRowVector;
  return true;
}

bool is_known_reduction(const SyntheticOperator& special, const Technique& technique) {
  const std::string& how = technique.reduction;
  const bool softmax = special.kind == OperatorKind::kSoftmax;
  if (softmax && technique.passes < 3) return how == "tree" || (how == "none" && technique.passes == 2);
  if (how == "shuffle") return special.name == "max" || softmax;
  if (how == "warps") return special.name == "sum";
  return how == "none" || how == "tree";
}

// Whether is_known_technique() can be asked about the operators.
bool is_synthesised(const std::vector<std::string>& composition) {
  return !composition.empty() && std::ranges::all_of(composition, find_synthetic_operator);
}

}  // namespace

bool is_known_technique(const std::vector<std::string>& composition, const Technique& technique) {
  BICRL_CHECK(!composition.empty(), "a composition has operators");
  const SyntheticOperator* special = special_of(composition);
  const bool fuses = technique.kernels < static_cast<int>(composition.size());
  if (fuses && !in_half("fused", composition.back())) return false;
  if (!is_known_width(composition.front(), special, technique)) return false;
  if (special && !technique.reduction.empty() && !is_known_reduction(*special, technique)) return false;
  return std::ranges::all_of(technique.maps,
                             [&](const std::string& map) { return is_known_map(map, special); });
}

std::optional<ProgramTechnique> program_technique(const Task& task, std::string_view program) {
  if (!is_synthesised(task.composition)) return std::nullopt;
  std::optional<Technique> technique = read_technique(program);
  if (!technique) return std::nullopt;
  const bool is_novel = !is_known_technique(task.composition, *technique);
  return ProgramTechnique{std::move(*technique), is_novel};
}

void write_known_programs(const std::vector<ChainStep>& chain, Shape shape, std::optional<Shape> costed,
                          size_t most, Task& task) {
  std::vector<Form> forms = all_forms(chain, shape, costed);
  const KnownProgram plain = write_form(chain, forms.front());
  task.cuda_code = plain.cuda_code;
  task.prefix = plain.prefix;
  task.middle = plain.middle;
  task.suffix = plain.suffix;
  forms.erase(forms.begin());
  std::erase_if(forms, [&](const Form& form) {
    return !is_known_technique(task.composition, technique_of(chain, form));
  });
  RandomStream(mix_key(mix_key(0, "known programs"), task.pytorch_code)).shuffle(forms);
  forms.resize(std::min(forms.size(), most));
  std::ranges::stable_sort(forms, std::greater(),
                           [&](const Form& form) { return guessed_cost(chain, form); });
  task.alternatives.clear();
  for (const Form& form : forms) task.alternatives.push_back(write_form(chain, form));
}

void forget_programs(Task& task) {
  task.cuda_code.clear();
  task.prefix.clear();
  task.middle.clear();
  task.suffix.clear();
  task.alternatives.clear();
}

}  // namespace bicrl
