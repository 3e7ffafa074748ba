#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "common/rng.h"
#include "tests/support/support.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::WithinAbs;

namespace {

at::Tensor random_flat(int64_t size, uint64_t key, double scale) {
  at::Tensor x = at::empty({size}, at::kFloat);
  RandomStream random(key);
  auto* out = x.mutable_data_ptr<float>();
  for (int64_t i = 0; i < size; ++i) out[i] = static_cast<float>(scale * random.normal());
  return x;
}

ParameterStore& with_gradient(Transformer& policy) {
  policy.store().allocate(ParameterPart::kGradient, PartExtent::kWhole);
  return policy.store();
}

void step_by(AdamW& optimizer, ParameterStore& store, const at::Tensor& gradient, double learning_rate) {
  set_flat_gradient(store, gradient);
  optimizer.step(learning_rate);
}

void write_tensor(const std::filesystem::path& path, const at::Tensor& x) {
  const at::Tensor host = x.to(at::kFloat).contiguous();
  write_file_atomically(path, {static_cast<const char*>(host.const_data_ptr()), host.nbytes()});
}

}  // namespace

TEST_CASE("AdamW, clip and schedule follow PyTorch over 20 updates") {
  TemporaryFolder folder;
  Transformer policy = tiny_policy(tiny_config(4), 5, at::kFloat);
  ParameterStore& store = with_gradient(policy);
  AdamW optimizer(store, {0.9, 0.95, 1e-8, 0.1});
  LearningRateSchedule schedule;
  schedule.peak = 3e-3;
  schedule.minimum = 3e-4;
  schedule.warmup_updates = 4;
  schedule.total_updates = 16;
  schedule.decay = Decay::kCosine;
  write_tensor(folder.path() / "initial.f32", flat_values(policy));
  SingleProcessControl control;
  nlohmann::json log{{"entries", nlohmann::json::array()}, {"updates", nlohmann::json::array()}};
  int64_t offset = 0;
  for (const auto& [name, value] : policy.parameters()) {
    log["entries"].push_back({offset, value.numel(), value.dim() == 2});
    offset += value.numel();
  }
  for (int64_t i = 0; i < 20; ++i) {
    // Some norms above the limit of 1, some below.
    const at::Tensor gradient = random_flat(offset, 100 + i, i % 3 == 0 ? 1e-3 : 0.05);
    write_tensor(folder.path() / concat("gradient", i, ".f32"), gradient);
    set_flat_gradient(store, gradient);
    const double norm = clip_global_norm(store, 1.0, PartExtent::kWhole, control);
    log["updates"].push_back({{"norm", norm}, {"learning_rate", schedule.at(i)}});
    optimizer.step(schedule.at(i));
  }
  write_tensor(folder.path() / "final.f32", flat_values(policy));
  write_file_atomically(folder.path() / "log.json", log.dump());
  run_python(bicrl::testing::source_path("tests/trainer/update/adamw_oracle.py"), {folder.path().string()});
}

TEST_CASE("the learning rate warms up, decays to its minimum and stays there") {
  LearningRateSchedule s;
  s.peak = 2;
  s.minimum = 1;
  s.warmup_updates = 4;
  s.total_updates = 14;
  s.decay = Decay::kLinear;
  CHECK_THAT(s.at(0), WithinAbs(0.5, 1e-12));
  CHECK_THAT(s.at(3), WithinAbs(2, 1e-12));
  CHECK_THAT(s.at(9), WithinAbs(1.5, 1e-12));
  CHECK_THAT(s.at(14), WithinAbs(1, 1e-12));
  CHECK_THAT(s.at(1000), WithinAbs(1, 1e-12));
  s.decay = Decay::kCosine;
  CHECK_THAT(s.at(9), WithinAbs(1.5, 1e-12));
  CHECK_THAT(s.at(1000), WithinAbs(1, 1e-12));
  s.decay = Decay::kConstant;
  CHECK(s.at(1000) == 2);
}

TEST_CASE("optimizer state moves to another optimizer bit for bit") {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    Transformer policy = tiny_policy(tiny_config(4), 5, dtype), copy = tiny_policy(tiny_config(4), 6, dtype);
    ParameterStore &store = with_gradient(policy), &copied = with_gradient(copy);
    const int64_t size = store.layout().parameter_count();
    AdamW first(store, {});
    for (int64_t i = 0; i < 3; ++i) step_by(first, store, random_flat(size, i, 1), 1e-2);
    copy_parameters(policy, copy);
    AdamW second(copied, {});
    auto state = first.export_state();
    second.import_state(state);
    CHECK(second.steps() == 3);
    step_by(first, store, random_flat(size, 9, 1), 1e-2);
    step_by(second, copied, random_flat(size, 9, 1), 1e-2);
    if (store.needs_master())
      CHECK(at::equal(flat_part(store, ParameterPart::kMaster), flat_part(copied, ParameterPart::kMaster)));
    CHECK(at::equal(flat_values(policy), flat_values(copy)));
    state.remove("model.norm.weight.exp_avg");
    CHECK_THROWS_AS(second.import_state(state), InputError);
    state = first.export_state();
    state.add("stray", at::zeros({1}));
    CHECK_THROWS_AS(second.import_state(state), InputError);
    state.remove("stray");
    state.remove("model.norm.weight.exp_avg");
    state.add("model.norm.weight.exp_avg", at::zeros({3}));
    CHECK_THROWS_AS(second.import_state(state), InputError);
  }
}

TEST_CASE("the optimizer's state is shown, not copied") {
  Transformer policy = tiny_policy(tiny_config(4), 5, at::kBFloat16);
  ParameterStore& store = with_gradient(policy);
  AdamW optimizer(store, {});
  const auto before = optimizer.export_state();
  std::set<const void*> storages;
  for (const auto& [name, pieces] : before.tensors()) {
    if (name == "step") continue;
    REQUIRE(pieces.size() == 1);
    storages.insert(pieces.front().values.storage().data());
    CHECK(pieces.front().values.is_contiguous());
  }
  CHECK(storages.size() == 3 * static_cast<size_t>(store.layout().group_count()));
  const auto norm_state = [](const SavedState& state, const std::string& part) {
    return state.tensors().at("model.norm.weight" + part).front().values;
  };
  CHECK(norm_state(before, ".exp_avg").norm().item<double>() == 0);
  step_by(optimizer, store, at::ones({store.layout().parameter_count()}), 1e-3);
  CHECK(norm_state(before, ".exp_avg").norm().item<double>() > 0);
  CHECK(norm_state(optimizer.export_state(), ".master").data_ptr() ==
        norm_state(before, ".master").data_ptr());
}

TEST_CASE("a low-precision policy keeps small steps in its fp32 master") {
  Transformer policy = tiny_policy(tiny_config(4), 5, at::kBFloat16);
  ParameterStore& store = with_gradient(policy);
  AdamW optimizer(store, {});
  const auto values = [&] { return flat_part(store, ParameterPart::kMaster); };
  const at::Tensor before = values();
  const at::Tensor gradient = at::ones({store.layout().parameter_count()});
  // Each step is far below bf16's resolution of a norm weight of 1; forty of them are not.
  for (int i = 0; i < 40; ++i) step_by(optimizer, store, gradient, 1e-4);
  CHECK_THAT((before - values()).mean().item<double>(), WithinAbs(40e-4, 1e-5));
  CHECK(policy.parameters().back().second.scalar_type() == at::kBFloat16);
  CHECK((before - flat_values(policy)).mean().item<double>() > 30e-4);
}

TEST_CASE("slices change neither an update nor a norm") {
  // A parameter of more than one slice, beside small ones.
  PolicyConfig config = tiny_config(4);
  config.vocab_size = (int64_t{1} << 20) + 77;
  config.layers = 1;
  Transformer policy = tiny_policy(config, 5, at::kFloat);
  ParameterStore& store = with_gradient(policy);
  AdamW optimizer(store, {0.9, 0.95, 1e-8, 0.1});
  SingleProcessControl control;
  at::Tensor values = flat_values(policy), first = at::zeros_like(values), second = at::zeros_like(values);
  for (int64_t i = 1; i <= 2; ++i) {
    const at::Tensor gradient = at::randn({values.numel()});
    const double expected = gradient.to(at::kDouble).norm().item<double>();
    set_flat_gradient(store, gradient);
    CHECK_THAT(clip_global_norm(store, 0, PartExtent::kWhole, control),
               WithinAbs(expected, 1e-10 * expected));
    optimizer.step(1e-3);
    int64_t offset = 0;
    for (const auto& [name, value] : policy.parameters()) {
      if (value.dim() == 2) values.narrow(0, offset, value.numel()).mul_(1 - 1e-3 * 0.1);
      offset += value.numel();
    }
    first.mul_(0.9).add_(gradient, 0.1);
    second.mul_(0.95).addcmul_(gradient, gradient, 0.05);
    const double n = static_cast<double>(i);
    values.sub_(1e-3 * (first / (1 - std::pow(0.9, n))) / ((second / (1 - std::pow(0.95, n))).sqrt() + 1e-8));
    CHECK((flat_values(policy) - values).abs().max().item<double>() < 3e-7);
  }
}

TEST_CASE("a gradient that is not finite is neither scaled nor applied") {
  Transformer small = tiny_policy(tiny_config(4), 5, at::kFloat);
  ParameterStore& store = with_gradient(small);
  const at::Tensor gradient = store.entry_part(ParameterPart::kGradient, 0).flatten();
  SingleProcessControl control;
  gradient.fill_(1);
  gradient[2] = std::numeric_limits<float>::infinity();
  CHECK(std::isinf(clip_global_norm(store, 1, PartExtent::kWhole, control)));
  CHECK(gradient[0].item<float>() == 1);

  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  auto experiences = random_experiences(config, 4);
  experiences[0].advantage = std::numeric_limits<double>::quiet_NaN();
  UpdaterSettings settings = still_settings();
  settings.learning_rate.peak = 1e-2;
  OneRank alone;
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  const auto before = updater.parameter_checksum();
  const auto s = reinforce(updater, experiences);
  CHECK(s[UpdateRow::kSkippedUpdates] == 1);
  CHECK(updater.parameter_checksum() == before);
  experiences[0].advantage = 1;
  CHECK(reinforce(updater, experiences)[UpdateRow::kSkippedUpdates] == 0);
  CHECK(updater.parameter_checksum() != before);
}
