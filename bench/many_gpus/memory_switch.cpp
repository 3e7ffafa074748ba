// Whether ranks that generate and train in turn leak or fragment memory: so many switches between the two, of
// a policy of random weights of any shape. Each switch has a cache and responses of other sizes, up to those
// that are asked for. After each phase every rank notes what its tensors take, what the allocator keeps, and
// what it cannot give back. Printed is the most of any rank, every 20 switches, over those so far.
//   mpirun -np 4 bench_memory_switch configs/shapes/sdar-8b.json --stage 2 --recompute full --response 256
//   --cache-tokens 190000
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/many_gpus/rank_device.h"
#include "bench/many_gpus/update_options.h"
#include "bench/random_weights.h"
#include "bench/wide_tokenizer.h"
#include "common/clock.h"
#include "common/rng.h"
#include "launch/tensor_plane_choice.h"
#include "policy/distribution.h"
#include "rollout/decoding/decode_engine.h"
#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {
namespace {

struct SwitchSettings : UpdateOptions {
  std::string device = "cuda", tokenizer = "configs/quickstart";
  int64_t switches = 200, stage = 0;
  int64_t sequences = 48, cache_tokens = 0, new_tokens = 8;
};

// What a switch draws, on all ranks alike.
struct SwitchSizes {
  int64_t response = 0;    // tokens of those that are trained: half of what is asked for, or more
  double cache_share = 1;  // of what is asked for: 0.6 or more
};
SwitchSizes sizes_of(const SwitchSettings& s, int64_t number, int64_t block_size) {
  RandomStream random(mix_key({11, static_cast<uint64_t>(number)}));
  const int64_t most = s.rows.response / block_size, least = std::max<int64_t>(1, most / 2);
  const auto blocks = least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least + 1)));
  return {.response = blocks * block_size, .cache_share = 0.6 + 0.4 * random.uniform()};
}

// Requests that end soon.
std::vector<GenerationRequest> make_requests(const SwitchSettings& s, int64_t number) {
  std::vector<GenerationRequest> requests;
  RandomStream random(mix_key({12, static_cast<uint64_t>(number)}));
  for (int64_t i = 0; i < s.sequences; ++i) {
    GenerationRequest request;
    request.task_id = std::to_string(i);
    request.group = i / s.rows.samples;
    request.key = mix_key({13, static_cast<uint64_t>(number), static_cast<uint64_t>(i)});
    request.prompt_tokens.assign(static_cast<size_t>(s.rows.prompt), request.group % 100);
    request.max_new_tokens = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(s.new_tokens)));
    requests.push_back(std::move(request));
  }
  return requests;
}

// Of one phase over the switches.
class PhaseMemory {
 public:
  // Collective.
  void note(const RankDevice& own, ControlPlane& control, const Stopwatch& watch) {
    own.synchronize();
    seconds_ += watch.seconds();
    after_.push_back(all_gather_values(control, own.memory()));
  }

  int64_t most(int64_t DeviceMemory::*field) const {
    int64_t most = 0;
    for (const auto& ranks : after_)
      for (const DeviceMemory& memory : ranks) most = std::max(most, memory.*field);
    return most;
  }

  void print(const char* name) const {
    const auto gib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
    // By then sizes are no longer met for the first time.
    const size_t counted = std::min<size_t>(4, after_.size() - 1);
    int64_t grown = after_.back().front().allocated - after_[counted].front().allocated;
    for (size_t rank = 1; rank < after_.back().size(); ++rank)
      grown = std::max(grown, after_.back()[rank].allocated - after_[counted][rank].allocated);
    printf(
        "  after %s: %+ld bytes of tensors since switch %zu, at most %.3f GiB; the allocator kept at most "
        "%.3f "
        "GiB; pieces that cannot be given back at most %.3f GiB; %.0f ms a switch\n",
        name, grown, counted + 1, gib(most(&DeviceMemory::allocated)), gib(most(&DeviceMemory::reserved)),
        gib(most(&DeviceMemory::split)), 1e3 * seconds_ / static_cast<double>(after_.size()));
  }

 private:
  std::vector<std::vector<DeviceMemory>> after_;  // each switch, by rank
  double seconds_ = 0;
};

void print(const SwitchSettings& s, int64_t switches, int ranks, const PhaseMemory& generation,
           const PhaseMemory& update) {
  printf(
      "%s, %d ranks, stage %ld, recompute %s: %ld switches, peak of tensors %.3f GiB, %ld allocations that "
      "gave free memory back first\n",
      s.shape.c_str(), ranks, s.stage, s.recompute_name.c_str(), switches,
      static_cast<double>(update.most(&DeviceMemory::peak_allocated)) / (1 << 30),
      update.most(&DeviceMemory::retries));
  generation.print("generation");
  update.print("update");
  fflush(stdout);
}

void run(const SwitchSettings& s) {
  MpiSession session;
  MpiControlPlane control(session);
  const RankDevice own(s.device, control);
  const std::unique_ptr<TensorPlane> tensors = make_tensor_plane(session, control, own.device);
  const PolicyConfig config = s.config();
  Transformer policy = Transformer::from_source(config, RandomWeights(config), own.device, own.dtype());
  const Tokenizer tokenizer = tokenizer_for(config, s.tokenizer);
  PolicyUpdater updater(policy, allowed_ids(config, config.vocab_size, own.device), s.updater(), control,
                        *tensors, Sharding{s.stage}, s.recompute());
  updater.broadcast_parameters();
  DecodeEngine engine(policy, tokenizer);
  DecodingSettings decoding;
  decoding.max_active = s.sequences;

  PhaseMemory generation, update;
  for (int64_t number = 0; number < s.switches; ++number) {
    const SwitchSizes sizes = sizes_of(s, number, config.block_size);
    UpdateRows rows = s.rows;
    rows.response = sizes.response;
    const std::vector<Experience> mine = make_experiences(rows, config, control.rank(), control.size());
    const StepKeys keys = all_gather_lists(control, shares_of(mine));
    const std::vector<GenerationRequest> requests = make_requests(s, number);
    EngineCapacity capacity = capacity_for(requests, config, decoding);
    if (s.cache_tokens > 0)
      capacity.pages = std::max(
          capacity.pages, static_cast<int64_t>(sizes.cache_share * static_cast<double>(s.cache_tokens)) /
                              KvCache::kPageTokens);

    const Stopwatch generating;
    engine.open(decoding, number, capacity);
    for (const GenerationRequest& request : requests) engine.submit(request);
    while (!engine.idle()) engine.step();
    engine.release_memory();
    generation.note(own, control, generating);
    const Stopwatch training;
    updater.reinforce(mine, keys);
    update.note(own, control, training);
    const bool is_last = number + 1 == s.switches;
    if (control.rank() == 0 && (is_last || (number + 1) % 20 == 0))
      print(s, number + 1, control.size(), generation, update);
  }
  updater.check_replicas();
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  bicrl::SwitchSettings s;
  CLI::App app("Counts memory over switches between generation and training");
  s.add_to(app);
  app.add_option("--switches", s.switches, "generations, each with an update behind it")
      ->check(CLI::PositiveNumber);
  app.add_option("--sequences", s.sequences, "responses of a generation, all at once");
  app.add_option("--cache-tokens", s.cache_tokens, "of the key/value cache; 0: what the responses need");
  app.add_option("--new-tokens", s.new_tokens, "of a response, at most");
  app.add_option("--stage", s.stage, "sharding stage")->check(CLI::Range(0, 3));
  app.add_option("--device", s.device)->check(CLI::IsMember({"cuda", "cpu"}));
  app.add_option("--tokenizer", s.tokenizer, "folder");
  CLI11_PARSE(app, argc, argv);
  try {
    bicrl::run(s);
  } catch (const std::exception& error) {
    fprintf(stderr, "bench_memory_switch: %s\n", error.what());
    bicrl::MpiSession::abort(1);
  }
  return 0;
}
