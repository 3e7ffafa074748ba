#include "tasks/synthetic/synthesiser.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "common/error.h"
#include "common/rng.h"
#include "tasks/synthetic/known_programs.h"
#include "tasks/synthetic/synthetic_module.h"
#include "tasks/synthetic/synthetic_operators.h"
#include "tasks/synthetic/synthetic_pieces.h"
#include "tasks/synthetic/synthetic_quality.h"
#include "tasks/synthetic/synthetic_split.h"

namespace bicrl {
namespace {

constexpr int kConstantDraws = 6;  // before a composition counts as degenerate
constexpr int64_t kMaxCostingBytes = int64_t{1} << 30;
constexpr int kMinLength = 2;
constexpr int kMaxLength = static_cast<int>(pieces::kMaxKernels);

// Wide shapes if rows are independent of each other's length; short rows if a row's length decides the
// magnitude of the result, so that softmax and sums stay well above the verifier's tolerance.
constexpr Shape kWideShapes[] = {{16, 16},  {8, 33},   {24, 48},   {64, 64},
                                 {50, 100}, {100, 77}, {128, 128}, {200, 30}};
constexpr Shape kRowShapes[] = {{32, 8}, {64, 16}, {100, 7}, {48, 24}, {40, 33}, {256, 12}, {500, 20}};
// With rows that can be loaded in packs, and some that cannot.
constexpr Shape kSoftmaxShapes[] = {{32, 8}, {64, 7}, {100, 12}, {256, 5}, {500, 16}, {1000, 10}};
constexpr int kWideColumns[] = {16};
constexpr int kRowColumns[] = {7, 33};
constexpr int kSoftmaxColumns[] = {5, 16};

struct Family {
  std::optional<OperatorKind> special;  // the kind that occurs exactly once; none: pointwise operators only
  std::span<const Shape> shapes;
  std::span<const int> sample_columns;
};

const Family kElementwise = {std::nullopt, kWideShapes, kWideColumns};
const Family kBroadcast = {OperatorKind::kRowVector, kWideShapes, kWideColumns};
const Family kReduction = {OperatorKind::kReduction, kRowShapes, kRowColumns};
const Family kSoftmax = {OperatorKind::kSoftmax, kSoftmaxShapes, kSoftmaxColumns};
const Family kStencil = {OperatorKind::kStencil, kWideShapes, kWideColumns};

std::vector<const SyntheticOperator*> operators_of(OperatorKind kind) {
  std::vector<const SyntheticOperator*> found;
  for (const auto& op : synthetic_operators())
    if (op.kind == kind) found.push_back(&op);
  return found;
}

using Composition = std::vector<const SyntheticOperator*>;

// All compositions of one family and length, numbered without gaps and dealt in an order that the seed
// decides.
class CompositionDeck {
 public:
  CompositionDeck(const Family& family, int length, uint64_t key)
      : length_(static_cast<size_t>(length)), pointwise_(operators_of(OperatorKind::kPointwise)) {
    if (family.special) special_ = operators_of(*family.special);
    size_t count = 1;
    for (size_t i = 0; i < length_ - (special_.empty() ? 0 : 1); ++i) count *= pointwise_.size();
    if (!special_.empty()) count *= special_.size() * length_;
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0u);
    RandomStream stream(key);
    stream.shuffle(order_);
  }
  std::optional<Composition> deal() {
    if (dealt_ == order_.size()) return std::nullopt;
    return decode(order_[dealt_++]);
  }

 private:
  Composition decode(size_t number) const {
    const auto digit = [&](size_t base) {
      const size_t d = number % base;
      number /= base;
      return d;
    };
    size_t place = length_;
    const SyntheticOperator* chosen = nullptr;
    if (!special_.empty()) {
      place = digit(length_);
      chosen = special_[digit(special_.size())];
    }
    Composition composition;
    for (size_t i = 0; i < length_; ++i)
      composition.push_back(i == place ? chosen : pointwise_[digit(pointwise_.size())]);
    return composition;
  }

  size_t length_;
  std::vector<const SyntheticOperator*> pointwise_;
  std::vector<const SyntheticOperator*> special_;
  std::vector<uint32_t> order_;
  size_t dealt_ = 0;
};

std::vector<std::string> names_of(const Composition& composition) {
  std::vector<std::string> names;
  for (const auto* op : composition) names.emplace_back(op->name);
  return names;
}

std::string composition_key(const std::vector<std::string>& composition) {
  std::string key;
  for (const auto& name : composition) key += name + ">";
  return key;
}

bool has_interior_structure(const Composition& composition) {
  for (size_t i = 1; i + 1 < composition.size(); ++i)
    if (is_structural(*composition[i])) return true;
  return false;
}

std::vector<ChainStep> draw_constants(const Composition& composition, RandomStream& stream) {
  std::vector<ChainStep> chain;
  for (const auto* op : composition) chain.push_back({op, op->constants[stream.below(op->constants.size())]});
  return chain;
}

struct MadeTask {
  Task task;
  uint64_t function;  // function_key() of its chain
};

// One family during a run: what is still to be dealt, and the draws of its constants and shapes.
class FamilySource {
 public:
  FamilySource(const Family& family, double weight, const SynthesisOptions& options, uint64_t key)
      : family_(family), weight_(weight), options_(options), key_(key), deck_choice_(mix_key({key, 1})) {
    for (int length = kMinLength; length <= options.max_length; ++length)
      decks_.emplace_back(family, length, mix_key({key, 2, static_cast<uint64_t>(length)}));
  }
  double weight() const { return weight_; }

  // Tasks of the next composition on the wanted side of the split; empty when there is none left.
  std::vector<MadeTask> next(SyntheticSplit split) {
    auto& waiting = waiting_[static_cast<size_t>(split)];
    while (waiting.empty() && !decks_.empty()) {
      const size_t choice = deck_choice_.below(decks_.size());
      const auto composition = decks_[choice].deal();
      if (!composition) {
        decks_.erase(decks_.begin() + static_cast<std::ptrdiff_t>(choice));
        continue;
      }
      const std::optional<SyntheticSplit> side = split_of(names_of(*composition));
      if (!side) continue;
      const bool trained = side == SyntheticSplit::kTrain;
      auto tasks = write_variants(*composition, trained ? options_.variants : 1);
      if (trained && has_interior_structure(*composition) && !has_known_interior(*composition))
        for (MadeTask& made : tasks) forget_programs(made.task);
      if (!tasks.empty()) waiting_[static_cast<size_t>(*side)].push_back(std::move(tasks));
    }
    if (waiting.empty()) return {};
    auto tasks = std::move(waiting.front());
    waiting.erase(waiting.begin());
    return tasks;
  }

 private:
  // A property of the composition: with a larger share more are known, and none fewer.
  bool has_known_interior(const Composition& composition) const {
    const uint64_t key = mix_key(mix_key(0, "known middles"), composition_key(names_of(composition)));
    return uniform_at(key, 0) < options_.known_interior_operators;
  }

  std::vector<MadeTask> write_variants(const Composition& composition, int wanted) {
    std::vector<MadeTask> tasks;
    std::set<std::string> seen;
    // A stream for each composition: the held-out tasks stay the same when more training tasks are asked for.
    RandomStream stream(mix_key(key_, composition_key(names_of(composition))));
    for (int draw = 0; draw < kConstantDraws * wanted && tasks.size() < static_cast<size_t>(wanted); ++draw) {
      const auto chain = draw_constants(composition, stream);
      const Shape shape = family_.shapes[stream.below(family_.shapes.size())];
      if (!chain_problem(chain, family_.sample_columns).empty()) continue;
      std::optional<CostedInputs> costed;
      if (const int repeats = options_.costing_repeats; options_.costing_bytes > 0)
        costed = {costed_shape(chain, shape, options_.costing_bytes / repeats), repeats};
      Task task = write_module(chain, shape, costed);
      write_known_programs(chain, shape, costed ? std::optional(costed->shape) : std::nullopt,
                           static_cast<size_t>(options_.alternatives), task);
      task.level = static_cast<int>(composition.size());
      if (seen.insert(task.pytorch_code).second) tasks.push_back({std::move(task), function_key(chain)});
    }
    return tasks;
  }

  const Family& family_;
  double weight_;
  const SynthesisOptions& options_;
  uint64_t key_;
  RandomStream deck_choice_;
  std::vector<CompositionDeck> decks_;                         // by length; empty ones are removed
  std::array<std::vector<std::vector<MadeTask>>, 3> waiting_;  // [split], dealt for another side
};

size_t draw_by_weight(const std::vector<FamilySource*>& sources, RandomStream& stream) {
  double total = 0;
  for (const auto* source : sources) total += source->weight();
  double rest = stream.uniform() * total;
  for (size_t i = 0; i + 1 < sources.size(); ++i) {
    rest -= sources[i]->weight();
    if (rest < 0) return i;
  }
  return sources.size() - 1;
}

// Without tasks that compute what another composition's task computes already; `functions` are those so far.
std::vector<Task> collect(std::vector<FamilySource*> sources, SyntheticSplit split, int compositions,
                          uint64_t key, std::set<uint64_t>& functions) {
  RandomStream stream(key);
  std::vector<Task> tasks;
  for (int found = 0; found < compositions;) {
    if (sources.empty())
      throw InputError(
          concat("synthesis: only ", found, " of ", compositions, " ", to_string(split),
                 " compositions exist under these options; allow longer chains or more families"));
    const size_t choice = draw_by_weight(sources, stream);
    auto fresh = sources[choice]->next(split);
    if (fresh.empty()) {
      sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(choice));
      continue;
    }
    std::erase_if(fresh, [&](const MadeTask& made) { return functions.contains(made.function); });
    if (fresh.empty()) continue;
    ++found;
    for (MadeTask& made : fresh) {
      functions.insert(made.function);
      tasks.push_back(std::move(made.task));
    }
  }
  return tasks;
}

void name_in_order(std::vector<Task>& tasks, SyntheticSplit split) {
  for (size_t i = 0; i < tasks.size(); ++i)
    tasks[i].id = concat(to_string(split), '_', std::setw(4), std::setfill('0'), i + 1);
}

}  // namespace

SynthesisOptions SynthesisOptions::from_config(const ConfigSection& section) {
  SynthesisOptions o;
  o.seed = static_cast<uint64_t>(section.integer("seed", static_cast<int64_t>(o.seed), 0));
  o.train_compositions =
      static_cast<int>(section.integer("train_compositions", o.train_compositions, 1, 100'000));
  o.development_compositions =
      static_cast<int>(section.integer("development_compositions", o.development_compositions, 0, 100'000));
  o.test_compositions =
      static_cast<int>(section.integer("test_compositions", o.test_compositions, 0, 100'000));
  o.variants = static_cast<int>(section.integer("variants", o.variants, 1, 1000));
  o.alternatives = static_cast<int>(section.integer("alternatives", o.alternatives, 0, 1000));
  o.max_length = static_cast<int>(section.integer("max_length", o.max_length, kMinLength, kMaxLength));
  o.costing_bytes = section.integer("costing_bytes", o.costing_bytes, 0, kMaxCostingBytes);
  if (o.costing_bytes > 0)
    o.costing_repeats = static_cast<int>(section.integer("costing_repeats", o.costing_repeats, 1, 1024));
  else
    section.refuse_without_effect("costing_repeats", "without 'costing_bytes'");
  section.renamed("known_middles", "known_interior_operators");
  o.known_interior_operators = section.real("known_interior_operators", o.known_interior_operators, 0, 1);
  const ConfigSection families = section.section("families");
  o.elementwise = families.real("elementwise", o.elementwise, 0, 1e6);
  o.broadcast = families.real("broadcast", o.broadcast, 0, 1e6);
  o.reduction = families.real("reduction", o.reduction, 0, 1e6);
  o.softmax = families.real("softmax", o.softmax, 0, 1e6);
  o.stencil = families.real("stencil", o.stencil, 0, 1e6);
  if (o.elementwise + o.broadcast + o.reduction + o.softmax + o.stencil <= 0)
    section.reject("families", "every weight is 0");
  return o;
}

SyntheticTasks synthesise(const SynthesisOptions& options) {
  BICRL_CHECK(options.max_length >= kMinLength && options.max_length <= kMaxLength && options.variants >= 1,
              options.max_length, " ", options.variants);
  const std::pair<const Family*, double> families[] = {{&kElementwise, options.elementwise},
                                                       {&kBroadcast, options.broadcast},
                                                       {&kReduction, options.reduction},
                                                       {&kSoftmax, options.softmax},
                                                       {&kStencil, options.stencil}};
  std::vector<FamilySource> sources;
  uint64_t family_number = 0;
  for (const auto& [family, weight] : families) {
    const uint64_t key = mix_key({options.seed, ++family_number});
    if (weight > 0) sources.emplace_back(*family, weight, options, key);
  }
  std::vector<FamilySource*> available;
  for (auto& source : sources) available.push_back(&source);
  // Held-out tasks first: they stay the same whatever is trained on.
  std::set<uint64_t> functions;
  const auto collected = [&](SyntheticSplit split, int compositions, uint64_t number) {
    return collect(available, split, compositions, mix_key({options.seed, number}), functions);
  };
  SyntheticTasks tasks;
  tasks.development = collected(SyntheticSplit::kDevelopment, options.development_compositions, 102);
  tasks.test = collected(SyntheticSplit::kTest, options.test_compositions, 104);
  tasks.train = collected(SyntheticSplit::kTrain, options.train_compositions, 101);
  // Variants of a composition were dealt one after the other, and short compositions ran out first: in this
  // order a step would see few compositions, and the last steps only long ones.
  RandomStream(mix_key({options.seed, 103})).shuffle(tasks.train);
  name_in_order(tasks.train, SyntheticSplit::kTrain);
  name_in_order(tasks.development, SyntheticSplit::kDevelopment);
  name_in_order(tasks.test, SyntheticSplit::kTest);
  return tasks;
}

}  // namespace bicrl
