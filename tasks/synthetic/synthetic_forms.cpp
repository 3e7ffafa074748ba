#include "tasks/synthetic/synthetic_forms.h"

#include <algorithm>
#include <span>

#include "common/error.h"
#include "tasks/synthetic/synthetic_pieces.h"

namespace bicrl {
namespace {

using Chain = std::span<const ChainStep>;

constexpr int kWarpLanes = 32;
constexpr int kKeptPacks = 4;  // as many as pieces::kKeepPass keeps
constexpr int kPlainThreads = 256;
constexpr int kRowThreads = 128;
constexpr int kFewThreads = 64;

bool has_structure(const ChainStep& step) { return is_structural(*step.op); }

// The chain's operator that is neither pointwise nor takes a row vector; nullptr without one.
const SyntheticOperator* structure_of(Chain chain) {
  const auto found = std::ranges::find_if(chain, has_structure);
  return found == chain.end() ? nullptr : found->op;
}

bool works_on_rows(const SyntheticOperator* structure) {
  return structure && structure->kind != OperatorKind::kStencil;
}

// One launch: the operators' lines that its kernel applies.
struct Launch {
  const SyntheticOperator* structure = nullptr;  // nullptr: a kernel of elements, with its lines in `before`
  Chain before, after;
};

std::vector<Launch> launches_of(Chain chain, bool fused) {
  std::vector<Launch> launches;
  if (fused) {
    const auto place = static_cast<size_t>(std::ranges::find_if(chain, has_structure) - chain.begin());
    if (place == chain.size()) return {{nullptr, chain, {}}};
    return {{chain[place].op, chain.first(place), chain.subspan(place + 1)}};
  }
  for (size_t i = 0; i < chain.size(); ++i) {
    if (has_structure(chain[i]))
      launches.push_back({chain[i].op, {}, {}});
    else
      launches.push_back({nullptr, chain.subspan(i, 1), {}});
  }
  return launches;
}

template <class Values>
size_t place_of(const Values& values, int value) {
  const auto found = std::ranges::find(values, value);
  BICRL_CHECK(found != std::end(values), value);
  return static_cast<size_t>(found - std::begin(values));
}

int lanes_of(const Form& form) {
  const int lanes[] = {1, 8, kWarpLanes, form.threads};
  return lanes[static_cast<size_t>(form.lanes)];
}

// ---- Text.
std::string operator_lines(Chain chain) {
  // The operators' table has the older programs' spelling of the row vector; here a function gets its value.
  constexpr std::string_view kIndexed = "y[i % cols]";
  std::string text;
  for (const ChainStep& step : chain) {
    std::string expression = with_constants(step.op->cuda, step.constants, "f");
    if (const size_t at = expression.find(kIndexed); at != expression.npos)
      expression.replace(at, kIndexed.size(), "y");
    text += concat("    v = ", expression, ";\n");
  }
  return text;
}

std::string functions_text(const Launch& launch, size_t number) {
  using namespace pieces;
  if (!launch.structure) {
    const auto& heads = takes_row_vector(launch.before) ? kFunctionsOfTwo : kFunctions;
    return concat(heads[number], operator_lines(launch.before), kReturnValue);
  }
  return concat(kBefore, operator_lines(launch.before), kReturnValue, kAfter, operator_lines(launch.after),
                kReturnValue);
}

std::string across_text(const Form& form, bool called_twice) {
  using namespace pieces;
  std::string text(kAcross);
  if (form.reduction == RowReduction::kShuffle) text += kShuffle;
  if (form.reduction == RowReduction::kTree) text += concat(kPart, kBarrier, kTree);
  if (form.reduction == RowReduction::kWarps) text += concat(kShuffle, kWarpPart, kBarrier, kWarpJoin);
  // The second call writes what slow lanes of the first still read.
  const bool shared = form.reduction == RowReduction::kTree || form.reduction == RowReduction::kWarps;
  return concat(text, shared && called_twice ? kBarrier : "", kReturnValue);
}

std::string_view index_text(PackMap map) { return map == PackMap::kRow ? pieces::kRowIndex : pieces::kIndex; }

std::string_view condition_text(PackMap map) {
  constexpr std::string_view kTexts[] = {pieces::kIf, pieces::kUnchecked, pieces::kStride,
                                         pieces::kRowStride};
  return kTexts[static_cast<size_t>(map)];
}

std::string_view column_text(PackMap map) {
  return map == PackMap::kRow ? pieces::kColumnOfRow : pieces::kColumn;
}

std::string elements_kernel(const Launch& launch, size_t number, PackMap map) {
  using namespace pieces;
  const bool two = takes_row_vector(launch.before);
  return concat((two ? kKernelsOfTwo : kKernels)[number], index_text(map), condition_text(map),
                two ? column_text(map) : "", (two ? kElementsOfTwo : kElements)[number]);
}

std::string stencil_kernel(size_t number, const Form& form) {
  using namespace pieces;
  return concat(kKernels[number], index_text(form.map), form.tiled ? concat(kTile, kBarrier) : "",
                condition_text(form.map), column_text(form.map), form.tiled ? kTileNeighbours : kNeighbours);
}

std::string rows_kernel(const SyntheticOperator& op, size_t number, const Form& form) {
  using namespace pieces;
  // A block that is a row's asks nothing: there are as many blocks as rows.
  const std::string head = concat(kKernels[number], kRow, form.lanes == Lanes::kBlock ? kAnywhere : kInside);
  if (op.kind == OperatorKind::kReduction)
    return concat(head, op.name == "max" ? kTop : kTotal, kReduceRow,
                  op.name == "mean" ? kStoreMean : kStore);
  switch (form.passes) {
    case SoftmaxPasses::kKeep:
      return concat(head, kKeepPass);
    case SoftmaxPasses::kOnline:
      return concat(head, kOnlinePass, kWritePass);
    case SoftmaxPasses::kThree:
      break;
  }
  return concat(head, kMaxPass, kSumPass, kWritePass);
}

// What a structural operator's kernel calls besides before() and after().
std::string helper_text(const SyntheticOperator& op, const Form& form) {
  if (op.kind != OperatorKind::kStencil) return across_text(form, op.kind == OperatorKind::kSoftmax);
  return std::string(op.name == "avg3"   ? pieces::kAverage
                     : op.name == "max3" ? pieces::kMaximum
                                         : pieces::kDifference);
}

std::string kernel_text(const Launch& launch, size_t number, const Form& form, PackMap elements_map) {
  if (!launch.structure) return elements_kernel(launch, number, elements_map);
  if (launch.structure->kind == OperatorKind::kStencil) return stencil_kernel(number, form);
  return rows_kernel(*launch.structure, number, form);
}

std::string launch_text(const Launch& launch, size_t number, PackMap map) {
  using namespace pieces;
  const bool reduced = launch.structure && launch.structure->kind == OperatorKind::kReduction;
  const std::string head = concat(reduced ? kRowShape : kSameShape, kNames[number]);
  if (works_on_rows(launch.structure)) return concat(head, kGridLanes);
  const bool two = !launch.structure && takes_row_vector(launch.before);
  if (map == PackMap::kStride) return concat(head, two ? kGridQuarterOfTwo : kGridQuarter);
  if (map == PackMap::kRow) return concat(head, two ? kGridRowsOfTwo : kGridRows);
  return concat(head, two ? kGridFullOfTwo : kGridFull);
}

std::string body_text(Chain chain, const Form& form) {
  using namespace pieces;
  const SyntheticOperator* structure = structure_of(chain);
  const PackMap elements_map = structure ? PackMap::kIf : form.map;
  const auto launches = launches_of(chain, form.fused);
  std::string functions, kernels, host;
  for (size_t i = 0; i < launches.size(); ++i) {
    functions += functions_text(launches[i], i);
    if (launches[i].structure) functions += helper_text(*launches[i].structure, form);
    kernels += kernel_text(launches[i], i, form, elements_map);
    host += launch_text(launches[i], i, launches[i].structure ? form.map : elements_map);
  }
  return concat(kIncludes, kThreads[place_of(kThreadCounts, form.threads)],
                works_on_rows(structure) ? kLanes[static_cast<size_t>(form.lanes)] : "",
                kWidths[place_of(kWidthCounts, form.width)], functions, kernels,
                takes_row_vector(chain) ? kLauncherOfTwo : kLauncher, host, kReturnResult);
}

// ---- What is right.
bool divides_exactly(int64_t elements, const Form& form) {
  return elements % (int64_t{form.width} * form.threads) == 0;
}

bool reduction_fits(const Form& form) {
  const int lanes = lanes_of(form);
  switch (form.reduction) {
    case RowReduction::kNone:
      return lanes == 1;
    case RowReduction::kShuffle:
      return lanes > 1 && lanes <= kWarpLanes;
    case RowReduction::kTree:
      return lanes > 1;
    case RowReduction::kWarps:
      return form.lanes == Lanes::kBlock && lanes > kWarpLanes;
  }
  return false;
}

bool rows_are_correct(Chain chain, const SyntheticOperator& op, const Form& form, Shape shape) {
  if (form.map != PackMap::kIf || form.tiled || shape.cols % form.width != 0 || !reduction_fits(form))
    return false;
  const bool softmax = op.kind == OperatorKind::kSoftmax;
  if (!softmax && form.passes != SoftmaxPasses::kThree) return false;
  if (form.passes == SoftmaxPasses::kKeep && shape.cols > kKeptPacks * lanes_of(form) * form.width)
    return false;
  // Kernels behind a reduction work on a float for each row.
  const bool more_kernels = !form.fused && !has_structure(chain.back());
  return softmax || !more_kernels || shape.rows % form.width == 0;
}

// ---- Which forms there are: enough to choose among, without each product of choices.
std::vector<Form> row_forms(bool softmax) {
  using enum Lanes;
  using enum RowReduction;
  using enum SoftmaxPasses;
  struct Row {
    Lanes lanes;
    RowReduction reduction;
    int threads;
  };
  std::vector<Row> rows = {{kOne, kNone, kRowThreads},   {kEight, kShuffle, kRowThreads},
                           {kEight, kTree, kRowThreads}, {kWarp, kShuffle, kRowThreads},
                           {kWarp, kTree, kRowThreads},  {kBlock, kTree, kFewThreads},
                           {kBlock, kWarps, kFewThreads}};
  if (!softmax) {
    rows.push_back({kBlock, kTree, kPlainThreads});
    rows.push_back({kBlock, kWarps, kPlainThreads});
  }
  std::vector<Form> forms;
  const auto add = [&](bool fused, int width, const Row& row, SoftmaxPasses passes) {
    forms.push_back({.fused = fused,
                     .width = width,
                     .threads = row.threads,
                     .lanes = row.lanes,
                     .reduction = row.reduction,
                     .passes = passes});
  };
  for (const Row& row : rows) add(false, 1, row, kThree);
  for (const int width : {1, 2, 4}) {
    if (softmax && width == 2) continue;
    for (const Row& row : rows) {
      add(true, width, row, kThree);
      if (softmax) add(true, width, row, kOnline), add(true, width, row, kKeep);
    }
  }
  return forms;
}

std::vector<Form> pack_forms(bool stencil) {
  using enum PackMap;
  std::vector<Form> forms;
  const auto add = [&](bool fused, PackMap map, bool tiled, int width, int threads) {
    forms.push_back({.fused = fused, .map = map, .width = width, .threads = threads, .tiled = tiled});
  };
  for (const int width : {1, 4})
    for (const PackMap map : {kIf, kUnchecked, kStride, kRow}) {
      if (!stencil || map == kIf) add(false, map, false, width, kPlainThreads);
      if (stencil && map == kIf) add(false, map, true, width, kPlainThreads);
    }
  for (const int threads : {kFewThreads, kPlainThreads})
    for (const int width : {1, 2, 4})
      for (const PackMap map : {kIf, kUnchecked, kStride, kRow}) {
        add(true, map, false, width, threads);
        if (stencil && (map == kIf || map == kUnchecked)) add(true, map, true, width, threads);
      }
  return forms;
}

// ---- Names.
std::string name_of(PackMap map) {
  constexpr std::string_view kNames[] = {"if", "unchecked", "stride", "row"};
  return std::string(kNames[static_cast<size_t>(map)]);
}

std::string name_of(RowReduction reduction) {
  constexpr std::string_view kNames[] = {"none", "shuffle", "tree", "warps"};
  return std::string(kNames[static_cast<size_t>(reduction)]);
}

}  // namespace

Form plain_form(const std::vector<ChainStep>& chain) {
  return {.threads = works_on_rows(structure_of(chain)) ? kRowThreads : kPlainThreads};
}

bool is_correct(const std::vector<ChainStep>& chain, const Form& form, Shape shape) {
  const SyntheticOperator* structure = structure_of(chain);
  if (works_on_rows(structure)) return rows_are_correct(chain, *structure, form, shape);
  if (form.lanes != Lanes::kOne || form.reduction != RowReduction::kNone ||
      form.passes != SoftmaxPasses::kThree)
    return false;
  const int64_t elements = int64_t{shape.rows} * shape.cols;
  // A pack is within a row wherever columns count.
  const bool whole_rows = structure || takes_row_vector(chain) || form.map == PackMap::kRow;
  if ((whole_rows ? shape.cols : elements) % form.width != 0) return false;
  if (form.map == PackMap::kUnchecked && !divides_exactly(elements, form)) return false;
  // A thread that has a tile has one pack.
  return !form.tiled || (structure && (form.map == PackMap::kIf || form.map == PackMap::kUnchecked));
}

std::vector<Form> all_forms(const std::vector<ChainStep>& chain, Shape shape, std::optional<Shape> costed) {
  const SyntheticOperator* structure = structure_of(chain);
  std::vector<Form> forms = works_on_rows(structure) ? row_forms(structure->kind == OperatorKind::kSoftmax)
                                                     : pack_forms(structure != nullptr);
  std::erase_if(forms, [&](const Form& form) {
    // Of one operator there is nothing to fuse.
    return (form.fused && chain.size() == 1) || !is_correct(chain, form, shape) ||
           (costed && !is_correct(chain, form, *costed));
  });
  BICRL_CHECK(!forms.empty() && forms.front() == plain_form(chain), "the plain form is always correct");
  return forms;
}

KnownProgram write_form(const std::vector<ChainStep>& chain, const Form& form) {
  using namespace pieces;
  BICRL_CHECK(!chain.empty() && chain.size() <= kMaxKernels, chain.size());
  const bool two = takes_row_vector(chain);
  KnownProgram program;
  program.technique = technique_of(chain, form).text();
  program.prefix = kImports;
  program.middle = concat(kSource, body_text(chain, form), kQuotes);
  program.suffix = concat(kCppSource, two ? kDeclarationOfTwo : kDeclaration, kLoad,
                          two ? kForwardOfTwo : kForward, two ? kCallOfTwo : kCall);
  program.cuda_code = program.prefix + program.middle + program.suffix;
  return program;
}

Technique technique_of(const std::vector<ChainStep>& chain, const Form& form) {
  const SyntheticOperator* structure = structure_of(chain);
  Technique technique;
  technique.width = form.width;
  technique.threads = form.threads;
  if (works_on_rows(structure)) technique.reduction = name_of(form.reduction);
  if (structure && structure->kind == OperatorKind::kSoftmax)
    technique.passes = static_cast<int>(form.passes);
  for (const Launch& launch : launches_of(chain, form.fused)) {
    ++technique.kernels;
    std::string map = structure && !launch.structure ? name_of(PackMap::kIf) : name_of(form.map);
    if (works_on_rows(launch.structure)) {
      constexpr std::string_view kMaps[] = {"row:1", "row:8", "row:32", "row:T-unchecked"};
      map = kMaps[static_cast<size_t>(form.lanes)];
    } else if (launch.structure && form.tiled) {
      map = "tile-" + map;
    }
    if (technique.maps.empty() || technique.maps.back() != map) technique.maps.push_back(map);
  }
  return technique;
}

double guessed_cost(const std::vector<ChainStep>& chain, const Form& form) {
  const double by_width = form.width == 4 ? 0.85 : form.width == 2 ? 0.9 : 1.0;
  const double by_threads = form.threads < kRowThreads ? 1.02 : 1.0;
  double cost = 0;
  for (const Launch& launch : launches_of(chain, form.fused)) {
    constexpr double kByMap[] = {1.0, 0.98, 0.97, 1.1};
    double passes = kByMap[structure_of(chain) && !launch.structure ? 0 : static_cast<size_t>(form.map)];
    if (works_on_rows(launch.structure)) {
      constexpr double kByLanes[] = {2.0, 1.2, 1.0, 1.5};
      constexpr double kByReduction[] = {0.0, 0.1, 0.3, 0.2};
      const bool softmax = launch.structure->kind == OperatorKind::kSoftmax;
      passes = kByLanes[static_cast<size_t>(form.lanes)] + kByReduction[static_cast<size_t>(form.reduction)];
      if (softmax) passes *= static_cast<double>(form.passes);
    } else if (launch.structure) {
      passes *= form.tiled ? 1.0 : 1.1;
    }
    cost += passes * by_width * by_threads;
  }
  return cost;
}

}  // namespace bicrl
