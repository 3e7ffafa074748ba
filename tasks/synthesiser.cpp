#include "tasks/synthesiser.h"

#include <algorithm>
#include <iomanip>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "common/error.h"
#include "common/rng.h"
#include "tasks/known_programs.h"
#include "tasks/synthetic_operators.h"
#include "tasks/synthetic_pieces.h"
#include "tasks/synthetic_program.h"
#include "tasks/synthetic_quality.h"

namespace bicrl {
namespace {

constexpr double kHeldOutShare = 0.3;
constexpr int kConstantDraws = 6;  // before a composition counts as degenerate
constexpr int64_t kMaxCostingBytes = int64_t{1} << 30;
constexpr int kMinLength = 2;
constexpr int kMaxLength = 4;
constexpr int kMaxLengthOfMany = static_cast<int>(pieces::kMaxKernels);

// Wide shapes if rows are independent of each other's length; short rows if a row's length decides the
// magnitude of the result, so that softmax and sums stay well above the verifier's tolerance.
constexpr Shape kWideShapes[] = {{16, 16},  {8, 33},   {24, 48},   {64, 64},
                                 {50, 100}, {100, 77}, {128, 128}, {200, 30}};
constexpr Shape kRowShapes[] = {{32, 8}, {64, 16}, {100, 7}, {48, 24}, {40, 33}, {256, 12}, {500, 20}};
constexpr Shape kSoftmaxShapes[] = {{32, 8}, {64, 7}, {100, 6}, {256, 5}, {1000, 10}};
// With rows that can be loaded in packs, and some that cannot.
constexpr Shape kPackedSoftmaxShapes[] = {{32, 8}, {64, 7}, {100, 12}, {256, 5}, {500, 16}, {1000, 10}};
constexpr int kWideColumns[] = {16};
constexpr int kRowColumns[] = {7, 33};
constexpr int kSoftmaxColumns[] = {5, 10};
constexpr int kPackedSoftmaxColumns[] = {5, 16};

struct Family {
  std::optional<OperatorKind> special;  // the kind that occurs exactly once; none: pointwise operators only
  std::span<const Shape> shapes;
  std::span<const int> sample_columns;
};

const Family kElementwise = {std::nullopt, kWideShapes, kWideColumns};
const Family kBroadcast = {OperatorKind::kRowVector, kWideShapes, kWideColumns};
const Family kReduction = {OperatorKind::kReduction, kRowShapes, kRowColumns};
const Family kSoftmax = {OperatorKind::kSoftmax, kSoftmaxShapes, kSoftmaxColumns};
const Family kPackedSoftmax = {OperatorKind::kSoftmax, kPackedSoftmaxShapes, kPackedSoftmaxColumns};
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

// A smaller share's compositions are among those of a larger one.
bool is_unknown(const std::vector<std::string>& composition, double share) {
  return uniform_at(mix_key(mix_key(0, "unknown"), composition_key(composition)), 0) < share;
}

std::vector<ChainStep> draw_constants(const Composition& composition, RandomStream& stream) {
  std::vector<ChainStep> chain;
  for (const auto* op : composition) chain.push_back({op, op->constants[stream.below(op->constants.size())]});
  return chain;
}

// One family during a run: what is still to be dealt, and the draws of its constants and shapes.
class FamilySource {
 public:
  FamilySource(const Family& family, double weight, const SynthesisOptions& options, uint64_t key)
      : family_(family),
        weight_(weight),
        variants_(options.variants),
        costing_bytes_(options.costing_bytes),
        programs_(options.programs),
        unknown_share_(options.unknown_share),
        key_(key),
        deck_choice_(mix_key({key, 1})) {
    for (int length = kMinLength; length <= options.max_length; ++length)
      decks_.emplace_back(family, length, mix_key({key, 2, static_cast<uint64_t>(length)}));
  }
  double weight() const { return weight_; }

  // Tasks of the next composition on the wanted side of the split; empty when there is none left.
  std::vector<Task> next(bool held_out) {
    auto& waiting = held_out ? waiting_held_out_ : waiting_train_;
    while (waiting.empty() && !decks_.empty()) {
      const size_t choice = deck_choice_.below(decks_.size());
      const auto composition = decks_[choice].deal();
      if (!composition) {
        decks_.erase(decks_.begin() + static_cast<std::ptrdiff_t>(choice));
        continue;
      }
      const bool belongs_held_out = is_held_out(names_of(*composition));
      auto tasks = write_variants(*composition, belongs_held_out ? 1 : variants_);
      if (!belongs_held_out && is_unknown(names_of(*composition), unknown_share_))
        std::ranges::for_each(tasks, forget_programs);
      if (!tasks.empty()) (belongs_held_out ? waiting_held_out_ : waiting_train_).push_back(std::move(tasks));
    }
    if (waiting.empty()) return {};
    auto tasks = std::move(waiting.front());
    waiting.erase(waiting.begin());
    return tasks;
  }

 private:
  std::vector<Task> write_variants(const Composition& composition, int wanted) {
    std::vector<Task> tasks;
    std::set<std::string> seen;
    // A stream for each composition: the held-out tasks stay the same when more training tasks are asked for.
    RandomStream stream(mix_key(key_, composition_key(names_of(composition))));
    for (int draw = 0; draw < kConstantDraws * wanted && tasks.size() < static_cast<size_t>(wanted); ++draw) {
      const auto chain = draw_constants(composition, stream);
      const Shape shape = family_.shapes[stream.below(family_.shapes.size())];
      if (!chain_problem(chain, family_.sample_columns).empty()) continue;
      std::optional<Shape> costed;
      if (costing_bytes_ > 0) costed = costed_shape(chain, shape, costing_bytes_);
      Task task = write_task(chain, shape, costed);
      if (programs_ == SyntheticPrograms::kMany) write_known_programs(chain, shape, costed, task);
      task.level = static_cast<int>(composition.size());
      if (seen.insert(task.pytorch_code).second) tasks.push_back(std::move(task));
    }
    return tasks;
  }

  const Family& family_;
  double weight_;
  int variants_;
  int64_t costing_bytes_;
  SyntheticPrograms programs_;
  double unknown_share_;
  uint64_t key_;
  RandomStream deck_choice_;
  std::vector<CompositionDeck> decks_;  // by length; empty ones are removed
  std::vector<std::vector<Task>> waiting_train_, waiting_held_out_;
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

std::vector<Task> collect(std::vector<FamilySource*> sources, bool held_out, int compositions, uint64_t key) {
  const std::string side = held_out ? "held_out" : "train";
  RandomStream stream(key);
  std::vector<Task> tasks;
  for (int found = 0; found < compositions;) {
    if (sources.empty())
      throw InputError(
          concat("synthesis: only ", found, " of ", compositions, " ", side,
                 " compositions exist under these options; allow longer chains or more families"));
    const size_t choice = draw_by_weight(sources, stream);
    auto fresh = sources[choice]->next(held_out);
    if (fresh.empty()) {
      sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(choice));
      continue;
    }
    ++found;
    for (Task& task : fresh) tasks.push_back(std::move(task));
  }
  return tasks;
}

void name_in_order(std::vector<Task>& tasks, const std::string& side) {
  for (size_t i = 0; i < tasks.size(); ++i)
    tasks[i].id = concat(side, '_', std::setw(4), std::setfill('0'), i + 1);
}

}  // namespace

SynthesisOptions SynthesisOptions::from_config(const ConfigSection& section) {
  SynthesisOptions o;
  o.seed = static_cast<uint64_t>(section.integer("seed", static_cast<int64_t>(o.seed), 0));
  o.train_compositions =
      static_cast<int>(section.integer("train_compositions", o.train_compositions, 1, 100'000));
  o.held_out_compositions =
      static_cast<int>(section.integer("held_out_compositions", o.held_out_compositions, 0, 100'000));
  o.variants = static_cast<int>(section.integer("variants", o.variants, 1, 1000));
  o.max_length = static_cast<int>(section.integer("max_length", o.max_length, kMinLength, kMaxLength));
  o.costing_bytes = section.integer("costing_bytes", o.costing_bytes, 0, kMaxCostingBytes);
  o.programs = section.choice("programs", "one", {"one", "many"}) == "many" ? SyntheticPrograms::kMany
                                                                            : SyntheticPrograms::kOne;
  o.unknown_share = section.real("unknown_share", o.unknown_share, 0, 1);
  if (o.programs == SyntheticPrograms::kMany && o.max_length > kMaxLengthOfMany)
    section.reject("max_length",
                   concat("with many programs chains have up to ", kMaxLengthOfMany, " operators"));
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
  const bool many = options.programs == SyntheticPrograms::kMany;
  BICRL_CHECK(!many || options.max_length <= kMaxLengthOfMany, options.max_length);
  const std::pair<const Family*, double> families[] = {{&kElementwise, options.elementwise},
                                                       {&kBroadcast, options.broadcast},
                                                       {&kReduction, options.reduction},
                                                       {many ? &kPackedSoftmax : &kSoftmax, options.softmax},
                                                       {&kStencil, options.stencil}};
  std::vector<FamilySource> sources;
  uint64_t number = 0;
  for (const auto& [family, weight] : families) {
    const uint64_t key = mix_key({options.seed, ++number});
    if (weight > 0) sources.emplace_back(*family, weight, options, key);
  }
  std::vector<FamilySource*> available;
  for (auto& source : sources) available.push_back(&source);
  SyntheticTasks tasks;
  tasks.train = collect(available, false, options.train_compositions, mix_key({options.seed, 101}));
  tasks.held_out = collect(available, true, options.held_out_compositions, mix_key({options.seed, 102}));
  // Variants of a composition were dealt one after the other, and short compositions ran out first: in this
  // order a step would see few compositions, and the last steps only long ones.
  RandomStream(mix_key({options.seed, 103})).shuffle(tasks.train);
  name_in_order(tasks.train, "train");
  name_in_order(tasks.held_out, "held_out");
  return tasks;
}

bool is_held_out(const std::vector<std::string>& composition) {
  return uniform_at(mix_key(0, composition_key(composition)), 0) < kHeldOutShare;
}

}  // namespace bicrl
