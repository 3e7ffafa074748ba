// Whether ranks that generate and train in turn leak or fragment memory: so many switches between the two, of
// a policy of random weights of any shape, with the cache and the packs that are asked for. After each phase
// it notes what tensors take, what the allocator keeps, and what it cannot give back.
//   mpirun -np 4 bench_memory_switch configs/shapes/sdar-8b.json --stage 2 --recompute full --cache-tokens
//   190000
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "bench/many_gpus/rank_device.h"
#include "bench/many_gpus/update_options.h"
#include "bench/random_weights.h"
#include "bench/wide_tokenizer.h"
#include "common/clock.h"
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

// Requests that reserve the whole cache, and end soon.
std::vector<GenerationRequest> make_requests(const SwitchSettings& s, int64_t number) {
  std::vector<GenerationRequest> requests;
  RandomStream random(mix_key({11, static_cast<uint64_t>(number)}));
  for (int64_t i = 0; i < s.sequences; ++i) {
    GenerationRequest request;
    request.task_id = std::to_string(i);
    request.group = i / s.rows.samples;
    request.key = mix_key({13, static_cast<uint64_t>(number), static_cast<uint64_t>(i)});
    request.prompt_tokens.assign(static_cast<size_t>(s.rows.prompt), request.group % 100);
    // Of other lengths each time, so that blocks of other sizes come and go.
    request.max_new_tokens = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(s.new_tokens)));
    requests.push_back(std::move(request));
  }
  return requests;
}

// Of one phase over the switches.
struct PhaseMemory {
  std::vector<DeviceMemory> after;
  double seconds = 0;

  void print(const char* name, int64_t counted) const {
    const auto gib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
    const DeviceMemory &first = after[static_cast<size_t>(counted)], &last = after.back();
    int64_t most_reserved = 0, most_split = 0;
    for (const DeviceMemory& memory : after) {
      most_reserved = std::max(most_reserved, memory.reserved);
      most_split = std::max(most_split, memory.split);
    }
    printf(
        "  after %s: tensors %.3f GiB, %+ld bytes since switch %ld; kept by the allocator %.3f (%+.3f), at "
        "most "
        "%.3f; pieces that cannot be given back %.3f (%+.3f), at most %.3f; %.0f ms a switch\n",
        name, gib(last.allocated), last.allocated - first.allocated, counted + 1, gib(last.reserved),
        gib(last.reserved - first.reserved), gib(most_reserved), gib(last.split),
        gib(last.split - first.split), gib(most_split), 1e3 * seconds / static_cast<double>(after.size()));
  }
};

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
  const std::vector<Experience> mine = make_experiences(s.rows, config, control.rank(), control.size());
  const StepKeys keys = all_gather_lists(control, shares_of(mine));

  PhaseMemory generation, update;
  for (int64_t number = 0; number < s.switches; ++number) {
    const auto note = [&](PhaseMemory& phase, const Stopwatch& watch) {
      own.synchronize();
      phase.seconds += watch.seconds();
      phase.after.push_back(own.memory());
    };
    const Stopwatch generating;
    const std::vector<GenerationRequest> requests = make_requests(s, number);
    EngineCapacity capacity = capacity_for(requests, config, decoding);
    if (s.cache_tokens > 0) capacity.pages = s.cache_tokens / KvCache::kPageTokens;
    engine.open(decoding, number, capacity);
    for (const GenerationRequest& request : requests) engine.submit(request);
    while (!engine.idle()) engine.step();
    note(generation, generating);
    const Stopwatch training;
    engine.release_memory();
    updater.reinforce(mine, keys);
    note(update, training);
    if (control.rank() == 0 && (number + 1) % 20 == 0) {
      printf("switch %ld: tensors %.3f GiB, kept %.3f GiB\n", number + 1,
             static_cast<double>(update.after.back().allocated) / (1 << 30),
             static_cast<double>(update.after.back().reserved) / (1 << 30));
      fflush(stdout);
    }
  }
  updater.check_replicas();
  if (control.rank() != 0) return;
  const int64_t counted = std::min<int64_t>(4, s.switches - 1);  // before it sizes are met for the first time
  printf(
      "%s, %ld layers, %d ranks, stage %ld, recompute %s: %ld switches, peak of tensors %.3f GiB, %ld "
      "allocations that gave free memory back first\n",
      s.shape.c_str(), config.layers, control.size(), s.stage, s.recompute_name.c_str(), s.switches,
      static_cast<double>(own.memory().peak_allocated) / (1 << 30), own.memory().retries);
  generation.print("generation", counted);
  update.print("update", counted);
  fflush(stdout);
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
