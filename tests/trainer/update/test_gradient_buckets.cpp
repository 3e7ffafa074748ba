// How often gradients move between ranks, and that an update of buffers which do not belong together is
// refused.
#include "tests/trainer/fixtures.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "tests/trainer/update/renamed_tensors.h"
// Torch before Catch2.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "trainer/ranks/measured_tensors.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kRanks = 2;

std::vector<Experience> share_of(const std::vector<Experience>& all, const ControlPlane& control) {
  std::vector<Experience> mine;
  for (auto i = static_cast<size_t>(control.rank()); i < all.size(); i += static_cast<size_t>(control.size()))
    mine.push_back(all[i]);
  return mine;
}

UpdaterSettings settings_with_packs_of(int64_t rows) {
  UpdaterSettings settings;
  settings.learning_rate.peak = 1e-3;
  settings.tokens_per_pack = rows;
  return settings;
}

struct Moved {
  CollectiveAccount account;  // of one update of rank 0
  int64_t groups = 0;
  double packed_rows = 0;
};

Moved moved_by_update(int64_t stage, int64_t tokens_per_pack) {
  Moved moved;
  const PolicyConfig config = tiny_config(4);
  const auto all = random_experiences(config, 4);
  on_ranks(kRanks, [&](ControlPlane& control, TensorPlane& plane) {
    MeasuredTensors tensors(plane);
    Transformer policy = tiny_policy(config, 40);
    PolicyUpdater updater(policy, tiny_allowed(config), settings_with_packs_of(tokens_per_pack), control,
                          tensors, Sharding{stage});
    const UpdateStatistics statistics = reinforce(updater, share_of(all, control), control);
    if (control.rank() != 0) return;
    moved = {tensors.take(), policy.store().layout().group_count(), statistics[UpdateRow::kPackedRows]};
  });
  return moved;
}

int64_t calls(const Moved& moved, const std::string& kind) {
  return moved.account.contains(kind) ? moved.account.at(kind).calls : 0;
}

}  // namespace

TEST_CASE("stages 0 and 1 sum gradients once an update, whatever its number of packs") {
  for (const int64_t rows : {90, 100'000}) {
    const Moved whole = moved_by_update(0, rows), divided = moved_by_update(1, rows);
    INFO("packs of " << rows << " rows, " << whole.packed_rows << " in all");
    CHECK(calls(whole, "all_reduce") == whole.groups);
    CHECK(calls(whole, "reduce_scatter") == 0);
    CHECK(calls(divided, "all_reduce") == 0);
    CHECK(calls(divided, "reduce_scatter") == divided.groups);
    CHECK(calls(divided, "all_gather") == divided.groups);  // of what was stepped
  }
}

TEST_CASE("stage 2 sums gradients in every pack") {
  const Moved one = moved_by_update(2, 100'000), several = moved_by_update(2, 90);
  CHECK(calls(one, "reduce_scatter") == one.groups);
  CHECK(calls(several, "reduce_scatter") >= 3 * several.groups);
  CHECK(calls(several, "reduce_scatter") % several.groups == 0);
}

TEST_CASE("a sum of buffers that do not belong together is found before weights change") {
  const PolicyConfig config = tiny_config(4);
  const auto all = random_experiences(config, 4);
  for (int64_t stage = 0; stage < 3; ++stage) {
    INFO("stage " << stage);
    std::vector<std::string> messages(kRanks);
    std::vector<at::Tensor> before(kRanks), after(kRanks);
    on_ranks(kRanks, [&](ControlPlane& control, TensorPlane& plane) {
      const auto rank = static_cast<size_t>(control.rank());
      RenamedTensors renamed(plane, "gradient of layer 1", "gradient of layer 0");
      TensorPlane& tensors = control.rank() == 1 ? renamed : plane;
      Transformer policy = tiny_policy(config, 40);
      PolicyUpdater updater(policy, tiny_allowed(config), settings_with_packs_of(90), control, tensors,
                            Sharding{stage});
      before[rank] = flat_values(policy).clone();
      try {
        reinforce(updater, share_of(all, control), control);
      } catch (const Error& error) {
        messages[rank] = error.what();
      }
      after[rank] = flat_values(policy).clone();
    });
    for (const std::string& message : messages)
      CHECK_THAT(message, ContainsSubstring(" of gradient of layer 1 (") &&
                              ContainsSubstring(" of gradient of layer 0 ("));
    for (size_t rank = 0; rank < kRanks; ++rank) CHECK(at::equal(before[rank], after[rank]));
  }
}
