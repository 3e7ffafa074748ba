// Updates of a policy with adapters: what they change, what they do not, and that they are those of the
// merged policy.
#include "tests/trainer/fixtures.h"
#include "tests/trainer/ranks/thread_ranks.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>

#include "common/config/config.h"
#include "common/error.h"
#include "tests/support/support.h"
#include "trainer/inputs/policy_source.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

Transformer adapted_policy(const PolicyConfig& config, uint64_t seed, at::ScalarType dtype = at::kDouble) {
  Transformer policy = tiny_policy(config, seed, dtype);
  add_drawn_adapters(policy, tiny_lora(), seed);
  return policy;
}

// The parts of a flat gradient, by the names of what it is of.
std::map<std::string, at::Tensor> by_name(const ParameterStore& store, const at::Tensor& flat) {
  std::map<std::string, at::Tensor> parts;
  int64_t next = 0;
  for (const auto& [name, value] : store.values()) {
    parts[name] = flat.narrow(0, next, value.numel()).view(value.sizes());
    next += value.numel();
  }
  CHECK(next == flat.numel());
  return parts;
}

std::vector<SftSample> some_samples(const PolicyConfig& config) {
  std::vector<SftSample> samples;
  for (uint64_t i = 0; i < 5; ++i) samples.push_back(make_sft_sample({2, 3, 4}, {5, 6, 7, kEnd}, config, i));
  return samples;
}

}  // namespace

TEST_CASE("an update's gradient is that of the merged policy, through the factors") {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16})
    for (const bool tied : {false, true}) {
      PolicyConfig config = tiny_config(4);
      config.tie_word_embeddings = tied;
      const auto experiences = random_experiences(config, 6);
      Transformer policy = adapted_policy(config, 2, dtype), merged = merged_copy(policy);
      UpdaterSettings settings = still_settings();
      settings.tokens_per_pack = 90;
      const Gradient found = gradient_of(policy, experiences, settings),
                     whole = gradient_of(merged, experiences, settings);
      const auto of_weights = by_name(merged.store(), whole.flat.to(at::kDouble));
      const auto values = by_name(policy.trained(), flat_adapters(policy).to(at::kDouble));
      const double tolerance = dtype == at::kDouble ? 1e-5 : dtype == at::kFloat ? 1e-4 : 0.15;
      for (const auto& [name, gradient] : by_name(policy.trained(), found.flat)) {
        INFO(dtype << ", " << name);
        const std::string module = name.substr(0, name.find(".lora_"));
        const at::Tensor& of_weight = of_weights.at(module + ".weight");
        const at::Tensor expected =
            tiny_lora().scaling() * (name.ends_with("lora_A.weight")
                                         ? values.at(module + ".lora_B.weight").t().mm(of_weight)
                                         : of_weight.mm(values.at(module + ".lora_A.weight").t()));
        CHECK(relative_difference(gradient.to(at::kDouble), expected) < tolerance);
      }
      CHECK(std::abs(found.statistics[UpdateRow::kLoss] - whole.statistics[UpdateRow::kLoss]) <
            tolerance * (1 + std::abs(whole.statistics[UpdateRow::kLoss])));
    }
}

TEST_CASE("updates change the adapters and no bit of what is frozen") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const PolicyConfig config = tiny_config(4);
    Transformer policy = tiny_policy(config, 2, dtype);
    policy.add_adapters(tiny_lora(), 3);
    const std::string frozen = policy.store().checksum();
    const at::Tensor before = flat_adapters(policy).clone();
    OneRank alone;
    UpdaterSettings settings;
    settings.learning_rate.peak = 1e-2;
    settings.optimizer.weight_decay = 0.1;
    PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
    const std::string checksum = updater.parameter_checksum();
    std::vector<double> losses;
    for (int i = 0; i < 8; ++i) losses.push_back(supervise(updater, some_samples(config))[UpdateRow::kLoss]);
    const UpdateStatistics last = reinforce(updater, random_experiences(config, 4));
    CHECK(losses.back() < losses.front() - 0.1);
    CHECK(policy.store().checksum() == frozen);
    CHECK_FALSE(updater.parameter_checksum() == checksum);
    CHECK(flat_adapters(policy).sub(before).ne(0).to(at::kFloat).mean().item<double>() > 0.9);
    CHECK(last[UpdateRow::kLargestWeight] == flat_adapters(policy).abs().max().item<double>());
    for (const ParameterStore* store : {&policy.store(), &policy.trained()})
      for (const auto& [name, value] : store->values()) {
        CHECK_FALSE(value.requires_grad());
        CHECK_FALSE(value.grad().defined());
      }
    const SavedState state = updater.export_state();
    const size_t parts = dtype == at::kFloat ? 2 : 3;
    CHECK(state.size() == parts * policy.trained().values().size() + 3);  // counters
    for (const auto& [name, pieces] : state.tensors())
      if (pieces.front().values.scalar_type() != at::kLong) CHECK(name.find(".lora_") != name.npos);
    for (const ParameterPart part : {ParameterPart::kGradient, ParameterPart::kFirstMoment,
                                     ParameterPart::kSecondMoment, ParameterPart::kMaster})
      CHECK_FALSE(policy.store().has(part));
  }
}

TEST_CASE("rollout and trainer agree on an adapted policy's log-probabilities") {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const PolicyConfig config = tiny_config(4);
    Transformer policy = adapted_policy(config, 3, dtype);
    UpdaterSettings settings = still_settings();
    settings.surrogate.temperature = 0.8;
    settings.tokens_per_pack = 64;
    const auto experiences = random_experiences(config, 11, &policy, 0.8);
    CHECK(gradient_of(policy, experiences, settings).statistics[UpdateRow::kLargestGap] < 1e-5);
    // Without the adapters it is another policy.
    Transformer base = tiny_policy(config, 3, dtype);
    CHECK(gradient_of(base, experiences, settings).statistics[UpdateRow::kLargestGap] > 1e-2);
  }
}

TEST_CASE("divided frozen weights are gone after a pass, and back after the step") {
  for (const bool tied : {false, true}) {
    PolicyConfig config = tiny_config(4);
    config.tie_word_embeddings = tied;
    int64_t observed = 0, in_pass = 0, adapters_whole = 0;
    std::string before, after;
    on_ranks(2, [&](ControlPlane& control, TensorPlane& tensors) {
      Transformer policy = tiny_policy(config, 2, at::kFloat);
      add_drawn_adapters(policy, tiny_lora(), 3);
      const std::string frozen = policy.store().checksum();
      UpdaterSettings settings;
      settings.tokens_per_pack = 60;  // several passes, and not as many on both ranks
      PolicyUpdater updater(policy, tiny_allowed(config), settings, control, tensors, Sharding{3},
                            Recompute::kFull);
      updater.observe_gradients([&](const std::vector<at::Tensor>&) {
        if (control.rank() > 0) return;
        ++observed;
        for (int64_t g = 0; g < policy.store().layout().group_count(); ++g)
          in_pass += policy.store().resident(g);
        for (int64_t g = 0; g < policy.trained().layout().group_count(); ++g)
          adapters_whole += policy.trained().resident(g);
      });
      auto experiences = random_experiences(config, 4);
      experiences.resize(control.rank() == 0 ? 7 : 2);
      reinforce(updater, experiences, control);
      if (control.rank() > 0) return;
      before = frozen;
      after = policy.store().checksum();
    });
    CHECK(observed == 1);
    CHECK(in_pass == 0);
    CHECK(adapters_whole == config.layers);
    CHECK(after == before);
  }
}

TEST_CASE("the frozen weights are the reference that a copy of their own would be") {
  const PolicyConfig config = tiny_config(4);
  const auto experiences = random_experiences(config, 8);
  UpdaterSettings settings = still_settings();
  settings.surrogate.kl_weight = 0.3;
  settings.surrogate.kl_reference = KlReference::kInitial;
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  const Transformer apart = policy.clone();
  add_drawn_adapters(policy, tiny_lora(), 3);
  const Transformer base = policy.base();
  const Gradient shared = gradient_of(policy, experiences, settings, &base),
                 copied = gradient_of(policy, experiences, settings, &apart);
  CHECK(at::equal(shared.flat, copied.flat));
  CHECK(shared.statistics["kl"] == copied.statistics["kl"]);
  CHECK(shared.statistics["kl"] > 1e-3);
}

TEST_CASE("a resumed updater of adapters continues bit for bit") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const PolicyConfig config = tiny_config(4);
    OneRank alone;
    UpdaterSettings settings;
    settings.learning_rate.peak = 1e-3;
    Transformer policy = adapted_policy(config, 2, dtype);
    PolicyUpdater first(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
    reinforce(first, random_experiences(config, 1));
    Transformer resumed = policy.clone();
    PolicyUpdater second(resumed, tiny_allowed(config), settings, alone.control, alone.tensors);
    second.import_state(first.export_state());
    reinforce(first, random_experiences(config, 2));
    reinforce(second, random_experiences(config, 2));
    CHECK(first.parameter_checksum() == second.parameter_checksum());
    // Neither state means anything to the other kind.
    Transformer full = tiny_policy(config, 2, dtype);
    PolicyUpdater all(full, tiny_allowed(config), settings, alone.control, alone.tensors);
    CHECK_THROWS_AS(all.import_state(first.export_state()), InputError);
    CHECK_THROWS_AS(first.import_state(all.export_state()), InputError);
  }
}

TEST_CASE("policy.lora is read strictly") {
  const auto read = [](const std::string& lora) {
    const auto document = ConfigDocument::from_text(
        concat("config: configs/quickstart/policy.json\ntokenizer: configs/quickstart\n",
               lora.empty() ? "" : "lora: ", lora, "\n"),
        "test.yaml");
    const PolicySource source = PolicySource::from_config(document.root(), testing::source_path(""));
    document.finish();
    if (source.lora) {
      CHECK_THROWS_AS(source.refuse_training(document.root()), InputError);
      policy_config(source, load_tokenizer(source));
    }
    return source.lora;
  };
  const auto refusal = [&](const std::string& lora) {
    try {
      read(lora);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_FALSE(read("").has_value());
  CHECK(read("{}") == LoraConfig{});
  const auto some = read("{rank: 4, alpha: 8.5, targets: [v_proj, q_proj]}");
  REQUIRE(some.has_value());
  CHECK(some->rank == 4);
  CHECK(some->alpha == 8.5);
  CHECK(some->targets == std::vector<std::string>{"v_proj", "q_proj"});
  CHECK_THAT(refusal("{rank: 0}"), ContainsSubstring("lora.rank"));
  CHECK_THAT(refusal("{rank: 65}"),
             ContainsSubstring("policy.lora.rank is 65") && ContainsSubstring("k_proj of [64, 128]"));
  CHECK_THAT(refusal("{alpha: 0}"), ContainsSubstring("policy.lora.alpha"));
  CHECK_THAT(refusal("{targets: [qproj]}"), ContainsSubstring("'qproj' is no projection"));
  CHECK_THAT(refusal("{rnk: 4}"), ContainsSubstring("rnk"));
  CHECK_THAT(refusal("{dropout: 0.1}"), ContainsSubstring("dropout"));
}
