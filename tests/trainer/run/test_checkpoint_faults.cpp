// A save in which every single operation on files fails, falls short or is the last one before a power cut:
// what is found afterwards is the checkpoint before or the new one, whole.
#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "tests/trainer/fixtures.h"
#include "trainer/run/checkpoints/checkpoint_writer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/files/files.h"
#include "tests/support/support.h"
#include "tests/trainer/run/faulty_files.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using testing::Fault;
using testing::FaultyFiles;
using testing::Leaves;

PolicyConfig small_config() {
  PolicyConfig config = testing::tiny_config(4);
  config.layers = 1;
  return config;
}

// A policy and its updater in which every number is the same.
struct Learner {
  Learner()
      : policy(testing::tiny_policy(small_config(), 1, at::kFloat)),
        updater(policy, testing::tiny_allowed(small_config()), {}, rank.control, rank.tensors),
        tokenizer(Tokenizer::from_folder(testing::source_path("tests/rollout/tiny_tokenizer"))) {}

  CheckpointPart part(int64_t number) {
    for (const auto& [name, value] : policy.parameters()) value.fill_(number);
    for (int64_t g = 0; g < policy.store().layout().group_count(); ++g)
      for (const ParameterPart moment : {ParameterPart::kFirstMoment, ParameterPart::kSecondMoment})
        policy.store().group_part(moment, g).fill_(number);
    RunState state;
    state.step = number;
    return {.updater = updater_file(updater, 0, 1),
            .weights = policy.parameters(),
            .written_as = {},
            .adapters = {},
            .state = state};
  }

  testing::OneRank rank;
  Transformer policy;
  PolicyUpdater updater;
  Tokenizer tokenizer;
};

// The system without the disk's pace.
class UnsyncedFiles : public FileOperations {
 public:
  int sync(int) override { return 0; }
  int sync_path(const fs::path&) override { return 0; }
};

class Run {
 public:
  Run(Learner& learner, const fs::path& root, FileOperations& files)
      : learner_(learner),
        store(root / "checkpoints", files),
        writer(learner.rank.control, &store, learner.policy.config(), learner.tokenizer,
               /*in_background=*/true, files) {}

  void save(const std::string& name, int64_t number) {
    writer.begin(name, 0, learner_.part(number));
    writer.finish();
  }

 private:
  Learner& learner_;

 public:
  CheckpointStore store;
  CheckpointWriter writer;
};

// The number that the checkpoint is full of.
int64_t number_in(const fs::path& checkpoint) {
  const int64_t number = read_run_state(checkpoint).step;
  for (const char* name : {"model.safetensors", "trainer/optimizer.safetensors"}) {
    const SafetensorsFile file(checkpoint / name);
    for (const std::string& tensor : file.names())
      if (file.dtype(tensor) == at::kFloat && !file.load(tensor).eq(number).all().item<bool>()) return -1;
  }
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json"})
    if (!fs::exists(checkpoint / name)) return -1;
  return number;
}

// What a new start finds: the number in the latest checkpoint, 0 without one. Nothing else may be left over,
// and the best one must be there. If the run goes on, its next checkpoint must be the latest.
int64_t number_after_restart(Learner& learner, const fs::path& root, bool goes_on) {
  UnsyncedFiles files;
  CheckpointStore store(root / "checkpoints", files);
  const std::optional<fs::path> latest = store.latest();
  const int64_t number = latest ? number_in(*latest) : 0;
  for (const auto& entry : fs::directory_iterator(root / "checkpoints")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK((name == "latest" || name == "best" || fs::exists(entry.path() / "manifest.json")));
    CHECK(name.find(".tmp.") == std::string::npos);
  }
  if (!store.best_name().empty()) CHECK(number_in(root / "checkpoints" / store.best_name()) > 0);
  if (!goes_on) return number;
  Run(learner, root, files).save("later", 7);
  CHECK(number_in(*store.latest()) == 7);
  return number;
}

// Runs `save` again and again, each time on a copy of what `prepare` left, with another operation at fault.
// Without a fault it makes the latest checkpoint hold `after`; `before` is what the latest one held, 0: none.
void check_every_operation(const std::function<void(Run&)>& prepare, const std::function<void(Run&)>& save,
                           int64_t before, int64_t after) {
  Learner learner;
  const testing::TemporaryFolder folder;
  const fs::path prepared = folder.path() / "prepared", root = folder.path() / "run",
                 restarted = folder.path() / "restarted";
  fs::create_directory(prepared);
  {
    UnsyncedFiles files;
    Run run(learner, prepared, files);
    prepare(run);
  }
  int64_t operations = 1;
  for (int64_t at = 0; at <= operations; ++at) {
    for (const Fault fault :
         {Fault::kNone, Fault::kShortWrite, Fault::kFullDisk, Fault::kRefused, Fault::kPowerCut}) {
      if ((fault == Fault::kNone) != (at == 0)) continue;
      INFO("operation " << at << " of " << operations << ", fault " << static_cast<int>(fault));
      fs::remove_all(root);
      fs::copy(prepared, root, fs::copy_options::recursive);
      FaultyFiles files(root);
      std::string error;
      bool cut = false;
      {
        Run run(learner, root, files);
        files.arm(fault, at);
        try {
          save(run);
        } catch (const testing::PowerCut&) {
          cut = true;
        } catch (const Error& failure) {
          error = failure.what();
        }
      }
      if (fault == Fault::kNone) operations = files.operations();
      cut |= fault == Fault::kPowerCut && files.struck();  // in a thread that nobody waits for a result of
      if (fault == Fault::kNone || (fault == Fault::kShortWrite && files.struck()))
        REQUIRE((error.empty() && !cut));
      if (fault != Fault::kNone && !files.struck()) continue;
      if (fault == Fault::kFullDisk) {
        CHECK_THAT(error, ContainsSubstring(root.string()) && ContainsSubstring("No space left on device"));
      } else if (!error.empty()) {
        CHECK_THAT(error, ContainsSubstring(root.string()) && ContainsSubstring("Input/output error"));
      }
      CHECK(cut == (fault == Fault::kPowerCut));
      const bool done = error.empty() && !cut;
      const auto check = [&](int64_t found) { CHECK((found == after || (!done && found == before))); };
      // After a failure that the run survived for a moment one way of losing what is not synced will do.
      const std::vector<Leaves> losses =
          cut ? std::vector{Leaves::kEverything, Leaves::kNothing, Leaves::kNames, Leaves::kSome}
              : std::vector{Leaves::kNothing};
      for (const Leaves leaves : losses) {
        for (uint64_t seed = 0; seed < (leaves == Leaves::kSome ? 2 : 1); ++seed) {
          INFO("a power cut that leaves " << static_cast<int>(leaves) << ", seed " << seed);
          fs::remove_all(restarted);
          files.restart_in(restarted, leaves, seed);
          check(number_after_restart(learner, restarted, leaves == Leaves::kNames));
        }
      }
      if (!cut) check(number_after_restart(learner, root, true));
    }
  }
  CHECK(operations > 80);
}

}  // namespace

TEST_CASE("a save over an existing checkpoint leaves that or the new one, whatever fails", "[faults]") {
  check_every_operation(
      [](Run& run) {
        run.save("a-1", 1);
        run.store.mark_best();
        run.save("a-2", 2);
      },
      [](Run& run) {
        run.save("a-3", 3);
        run.store.mark_best();
        run.store.remove("a-2");
        run.store.remove("a-1");
      },
      2, 3);
}

TEST_CASE("a save under the name of the latest checkpoint leaves that or the new one", "[faults]") {
  check_every_operation([](Run& run) { run.save("a", 1); }, [](Run& run) { run.save("a", 2); }, 1, 2);
}

TEST_CASE("a first save leaves no checkpoint or the new one", "[faults]") {
  check_every_operation([](Run&) {}, [](Run& run) { run.save("a", 1); }, 0, 1);
}

}  // namespace bicrl
