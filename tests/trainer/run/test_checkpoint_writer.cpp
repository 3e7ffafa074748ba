// Checkpoints that are written while the run goes on hold what was live when they were begun.
#include <ATen/ATen.h>

#include <atomic>
#include <future>

#include "tests/trainer/fixtures.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "tests/trainer/small_steps.h"
#include "trainer/run/checkpoints/checkpoint_writer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

void fill(Transformer& policy, double number) {
  for (const auto& [name, value] : policy.parameters()) value.fill_(number);
  for (int64_t g = 0; g < policy.store().layout().group_count(); ++g)
    policy.store().group_part(ParameterPart::kFirstMoment, g).fill_(number);
}

CheckpointPart part_of(const Transformer& policy, const PolicyUpdater& updater, const ControlPlane& control) {
  CheckpointPart part{.updater = updater_file(updater, control.rank(), control.size()),
                      .weights = {},
                      .written_as = {},
                      .adapters = {},
                      .state = {}};
  if (control.rank() == 0) part.weights = policy.parameters();
  return part;
}

// Whether every weight and every first moment in the checkpoint is `number`.
bool holds(const fs::path& checkpoint, double number) {
  check_manifest(checkpoint);
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(entry.path());
    for (const std::string& name : file.names())
      if ((name.ends_with(".exp_avg") || name.ends_with("weight")) &&
          !file.load(name).eq(number).all().item<bool>())
        return false;
  }
  return true;
}

// A system whose writers wait at every sync until they may go on.
class HeldFiles : public FileOperations {
 public:
  int sync(int file) override {
    open_.wait();
    return FileOperations::sync(file);
  }
  void release() { gate_.set_value(); }

 private:
  std::promise<void> gate_;
  std::shared_future<void> open_ = gate_.get_future().share();
};

class FullFiles : public FileOperations {
 public:
  ssize_t write(int, const char*, size_t) override {
    errno = ENOSPC;
    return -1;
  }
};

}  // namespace

TEST_CASE("what changes while a checkpoint is written is not in it") {
  const testing::TemporaryFolder folder;
  const PolicyConfig config = testing::tiny_config(4);
  testing::OneRank rank;
  Transformer policy = testing::tiny_policy(config, 5, at::kFloat);
  PolicyUpdater updater(policy, testing::tiny_allowed(config), {}, rank.control, rank.tensors);
  const Tokenizer& tokens = testing::tokenizer();
  CheckpointStore store(folder.path());
  HeldFiles files;
  CheckpointWriter writer(rank.control, &store, config, tokens, /*in_background=*/true, files);
  CHECK(writer.written());
  fill(policy, 1);
  writer.begin("a", 0, part_of(policy, updater, rank.control));
  fill(policy, 2);
  CHECK((writer.under_way() && !writer.written()));
  CHECK(!CheckpointStore(folder.path() / "other").latest());
  CHECK(!store.latest());
  files.release();
  CHECK(writer.finish() > 0);
  CHECK(!writer.under_way());
  CHECK(holds(*store.latest(), 1));
  writer.begin("b", 0, part_of(policy, updater, rank.control));
  fill(policy, 3);
  writer.finish();
  CHECK((store.latest() == folder.path() / "b" && holds(*store.latest(), 2)));
}

TEST_CASE("without a background a checkpoint is written from what is live") {
  const testing::TemporaryFolder folder;
  const PolicyConfig config = testing::tiny_config(4);
  testing::OneRank rank;
  Transformer policy = testing::tiny_policy(config, 5, at::kFloat);
  PolicyUpdater updater(policy, testing::tiny_allowed(config), {}, rank.control, rank.tensors);
  const Tokenizer& tokens = testing::tokenizer();
  CheckpointStore store(folder.path());
  CheckpointWriter writer(rank.control, &store, config, tokens, /*in_background=*/false);
  fill(policy, 4);
  writer.begin("a", 0, part_of(policy, updater, rank.control));
  CHECK(writer.written());
  writer.finish();
  CHECK(holds(*store.latest(), 4));
}

TEST_CASE("a writer that goes before its checkpoint is finished leaves nothing of it") {
  const testing::TemporaryFolder folder;
  const PolicyConfig config = testing::tiny_config(4);
  testing::OneRank rank;
  Transformer policy = testing::tiny_policy(config, 5, at::kFloat);
  PolicyUpdater updater(policy, testing::tiny_allowed(config), {}, rank.control, rank.tensors);
  const Tokenizer& tokens = testing::tokenizer();
  CheckpointStore store(folder.path());
  for (const bool in_background : {true, false}) {
    CheckpointWriter writer(rank.control, &store, config, tokens, in_background);
    writer.begin("a", 0, part_of(policy, updater, rank.control));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("every rank's part is in a checkpoint, and without one of them there is none") {
  for (const int64_t stage : {0, 1, 3}) {
    INFO("stage " << stage);
    const testing::TemporaryFolder folder;
    std::atomic<int> refused = 0, good = 0;
    testing::on_ranks(3, [&](ControlPlane& control, TensorPlane& tensors) {
      const PolicyConfig config = testing::tiny_config(4);
      Transformer policy = testing::tiny_policy(config, 5, at::kBFloat16);
      PolicyUpdater updater(policy, testing::tiny_allowed(config), {}, control, tensors, Sharding{stage});
      const Tokenizer& tokens = testing::tokenizer();
      std::unique_ptr<CheckpointStore> store;
      if (control.rank() == 0) store = std::make_unique<CheckpointStore>(folder.path());
      CheckpointWriter writer(control, store.get(), config, tokens, /*in_background=*/true);
      fill(policy, 1);
      writer.begin("a", 0, part_of(policy, updater, control));
      fill(policy, 2);
      writer.finish();
      if (control.rank() == 0) good += holds(*store->latest(), 1);
      // Only what is divided has a part of the last rank.
      FullFiles full;
      CheckpointWriter unlucky(control, store.get(), config, tokens, /*in_background=*/true,
                               control.rank() == (stage > 0 ? 2 : 0) ? full : system_files());
      unlucky.begin("b", 0, part_of(policy, updater, control));
      try {
        unlucky.finish();
      } catch (const SharedError& error) {
        const std::string message = error.what();
        refused += message.starts_with(stage > 0 ? "rank 2: " : "rank 0: ") &&
                   message.find(folder.path().string()) != message.npos &&
                   message.find("No space left on device") != message.npos;
      }
      control.barrier();
      if (control.rank() == 0) {
        good += store->latest() == folder.path() / "a" && !fs::exists(folder.path() / ".writing-b");
        std::error_code none;
        const auto files = std::distance(fs::directory_iterator(folder.path() / "a/trainer"), {});
        good += files == (stage > 0 ? 4 : 2);
      }
      control.barrier();
      unlucky.begin("c", 0, part_of(policy, updater, control));
      try {
        unlucky.finish();
      } catch (const SharedError&) {
      }
    });
    CHECK(refused == 3);
    CHECK(good == 3);
  }
}

TEST_CASE("a copy in host memory has the values of its moment, and keeps its memory") {
  HostCopy copy;
  const at::Tensor whole = at::arange(24, at::kFloat).view({4, 6});
  NamedTensors live = {{"odd", at::arange(7, at::kByte)},
                       {"across", whole.t()},
                       {"one", at::full({1}, 5, at::kLong)},
                       {"none", at::empty({0, 3}, at::kFloat)},
                       {"low", at::arange(65, at::kFloat).to(at::kBFloat16)}};
  copy.reserve(live);
  const NamedTensors& first = copy.take(live);
  std::vector<const void*> places;
  for (size_t i = 0; i < live.size(); ++i) {
    INFO(live[i].first);
    CHECK((first[i].first == live[i].first && first[i].second.is_contiguous()));
    CHECK((first[i].second.scalar_type() == live[i].second.scalar_type() &&
           at::equal(first[i].second, live[i].second)));
    places.push_back(first[i].second.const_data_ptr());
  }
  const at::Tensor before = whole.clone();
  whole.fill_(3);
  CHECK(at::equal(first[1].second, before.t()));
  const NamedTensors& second = copy.take(live);
  for (size_t i = 0; i < live.size(); ++i) CHECK(second[i].second.const_data_ptr() == places[i]);
  CHECK(second[1].second.eq(3).all().item<bool>());
  live.pop_back();
  live.emplace_back("more", at::ones({3, 1000}, at::kDouble));
  CHECK(at::equal(copy.take(live).back().second, live.back().second));
}

}  // namespace bicrl
