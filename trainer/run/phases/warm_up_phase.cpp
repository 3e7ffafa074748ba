// The supervised warm-up: known programs of tasks, or pairs, noised and restored.
#include <algorithm>
#include <set>

#include "common/clock.h"
#include "common/log.h"
#include "common/rng.h"
#include "trainer/run/phases/phase.h"
#include "trainer/run/reports/kept_batch.h"
#include "trainer/update/packing/known_samples.h"

namespace bicrl {
namespace {

constexpr std::string_view kStream = "warm_up";
constexpr double kEqualRates = 1e-9;  // apart by rounding

// Every training task once per stage that it can be asked in.
struct WarmUpSamples {
  KnownSamples infilling;
  KnownSamples end_to_end;
};

// Imitated all the same: a part of such a program may help.
void warn_of_long_programs(const WarmUpSamples& samples, const std::vector<StageSettings>& stages) {
  std::set<Stage> warned;
  for (const StageSettings& stage : stages) {
    const KnownSamples& known = stage.stage == Stage::kInfilling ? samples.infilling : samples.end_to_end;
    const int64_t most = stage.decoding.max_new_tokens, longer = known.longer_than(most);
    if (stage.steps == 0 || longer == 0 || !warned.insert(stage.stage).second) continue;
    log_warning(longer, " of ", known.programs(), " known programs of stage ", to_string(stage.stage),
                " have more tokens than a response (rollout.max_new_tokens: ", most,
                "), so none of these can be generated");
  }
}

WarmUpSamples warm_up_samples(const RunContext& context) {
  const Scaffold scaffold = infilling_scaffold(context.settings);
  const auto known = [&](Stage stage) {
    return KnownSamples(context.tasks.train, context.settings.warm_up.programs, stage,
                        context.settings.tasks.prompt_style, scaffold, context.tokenizer,
                        context.policy.config());
  };
  WarmUpSamples samples{.infilling = known(Stage::kInfilling), .end_to_end = known(Stage::kEndToEnd)};
  const int64_t left_out = samples.infilling.left_out() + samples.end_to_end.left_out();
  if (left_out > 0 && context.control.rank() == 0)
    log_warning(left_out, " samples are left out of the warm-up, because prompt and program have more than ",
                context.policy.config().max_position, " tokens");
  if (context.control.rank() == 0) warn_of_long_programs(samples, context.settings.stages);
  if (samples.end_to_end.empty())
    throw InputError("the warm-up needs tasks with a known program (cuda_code) that fits, and there is none");
  return samples;
}

void log_pairs(const RunContext& context) {
  const WarmUpSettings& s = context.settings.warm_up;
  const PairSamples& samples = context.pair_samples;
  int64_t reason = 0;
  for (const PairSet& set : context.pairs)
    reason +=
        std::ranges::count_if(set.pairs, [](const TrainingPair& pair) { return !pair.reasoning.empty(); });
  const std::string passes =
      s.epochs > 0
          ? concat(s.epochs, s.epochs == 1 ? " epoch of " : " epochs of ", s.epoch.steps_per_epoch(),
                   " steps")
          : concat("each ",
                   static_cast<double>(s.steps * s.samples_per_step) / static_cast<double>(samples.size()),
                   " times on average");
  log_info("warm-up on ", samples.size(), " pairs, ", passes, "; ", samples.left_out(),
           " are left out for their length, ", reason, " have a reasoning part");
  const auto rates = samples.rates();
  const auto [least, most] = std::ranges::minmax(rates, {}, &PairSamples::FileRate::draws);
  if (s.epochs == 0 || most.draws - least.draws < kEqualRates) return;
  for (const auto& rate : rates)
    log_info(rate.file.string(), ": each of ", rate.pairs, " pairs is drawn ", rate.draws, " times an epoch");
}

class WarmUpPhase : public Phase {
 public:
  WarmUpPhase(const RunContext& context, const std::string& name)
      : Phase(name, context.settings.warm_up.steps),
        context_(context),
        pairs_(context.pair_samples),
        key_(mix_key(context.settings.seed, kStream)) {}

  void begin() override {
    if (!context_.updater) return;
    context_.updater->begin_phase(context_.settings.warm_up.updater);
    if (pairs_.empty()) {
      known_ = warm_up_samples(context_);
      return;
    }
    pairs_.shuffle_by(key_);
    if (context_.control.rank() == 0) log_pairs(context_);
  }

  int64_t steps_per_epoch() const override {
    return context_.settings.warm_up.epochs > 0 ? context_.settings.warm_up.epoch.steps_per_epoch() : 0;
  }

  PhaseStep step(int64_t step, int64_t) override {
    const Stopwatch watch;
    latest_step_ = step;
    PhaseStep taken;
    if (!context_.updater) return taken;
    taken.update = context_.updater->supervise(batch(step));
    taken.seconds.train = watch.seconds();
    return taken;
  }

  std::string keep_batch() override try {
    if (!context_.updater) return "";
    const auto folder = keep_samples(context_.settings.directory, name(), latest_step_,
                                     context_.control.rank(), batch(latest_step_).mine);
    return concat("The batch of step ", latest_step_, " is kept in ", folder.string(), ".");
  } catch (const Error& error) {
    return concat("The batch of step ", latest_step_, " could not be kept: ", error.what());
  }

 private:
  // Every rank that trains draws the whole batch and keeps its share, so that the batch does not depend on
  // their number.
  SupervisedBatch batch(int64_t step) {
    const WarmUpSettings& s = context_.settings.warm_up;
    const PairEpochs::Samples samples =
        s.epochs > 0 ? s.epoch.samples_of(step)
                     : PairEpochs::Samples{(step - 1) * s.samples_per_step, s.samples_per_step};
    SupervisedBatch batch;
    for (int64_t i = 0; i < samples.count; ++i) {
      SftSample sample = pairs_.empty() ? known_sample(step, i) : pairs_.sample(samples.first + i);
      batch.supervised_tokens += sample.response_tokens;
      if (context_.placement.trainer_of(i) == context_.control.rank())
        batch.mine.push_back(std::move(sample));
    }
    return batch;
  }

  SftSample known_sample(int64_t step, int64_t i) const {
    RandomStream draw(mix_key({key_, static_cast<uint64_t>(step), static_cast<uint64_t>(i)}));
    const bool infill =
        draw.uniform() < context_.settings.warm_up.infilling_share && !known_.infilling.empty();
    return (infill ? known_.infilling : known_.end_to_end).draw(draw);
  }

  const RunContext& context_;
  PairSamples& pairs_;  // in the place of known programs, where there are any
  uint64_t key_;
  WarmUpSamples known_;
  int64_t latest_step_ = 0;
};

}  // namespace

std::unique_ptr<Phase> make_warm_up_phase(const RunContext& context, const std::string& name) {
  return std::make_unique<WarmUpPhase>(context, name);
}

}  // namespace bicrl
