// Hidden: `test_trainer "[.throughput]"` prints the trainer's speed on one thread; nothing is asserted about
// it.
#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>
#include <iostream>

#include "common/clock.h"
#include "common/rng.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

PolicyConfig two_layers() {
  PolicyConfig c;
  c.vocab_size = 512;
  c.hidden_size = 128;
  c.layers = 4;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 32;
  c.intermediate_size = 384;
  c.block_size = 4;
  c.mask_token_id = 0;
  c.end_token_ids = {kEnd};
  return c;
}

}  // namespace

TEST_CASE("throughput of one step of 32 groups of 8", "[.throughput]") {
  const PolicyConfig config = two_layers();
  Transformer policy = tiny_policy(config, 1, at::kFloat);
  OneRank alone;
  UpdaterSettings settings;
  settings.learning_rate.peak = 1e-4;
  std::vector<Experience> experiences;
  std::vector<SftSample> samples;
  double response_tokens = 0;
  for (uint64_t i = 0; i < 256; ++i) {
    RandomStream random(mix_key({3, i}));
    TraceShape shape;
    shape.prompt_tokens = 30 + static_cast<int64_t>(i / 8 % 12);
    shape.response_blocks = 13 + static_cast<int64_t>(random.below(6));
    shape.end_offset = 2;
    experiences.push_back(random_experience(config, shape, random.next(), random.normal()));
    const Rollout& r = experiences.back().rollout;
    response_tokens += static_cast<double>(r.response_tokens());
    std::vector<int64_t> prompt(r.tokens.begin(), r.tokens.begin() + r.prompt_tokens);
    std::vector<int64_t> response(r.tokens.begin() + r.prompt_tokens, r.tokens.end() - 1);
    samples.push_back(make_sft_sample(prompt, response, config, i));
  }
  for (int64_t budget : {2048, 8192, 32768}) {
    settings.tokens_per_pack = budget;
    PolicyUpdater updater(policy, at::ones({config.vocab_size}, at::kBool), settings, alone.control,
                          alone.tensors);
    reinforce(updater, experiences);
    Stopwatch watch;
    const auto trace = reinforce(updater, experiences);
    const double trace_seconds = watch.seconds();
    watch.restart();
    const auto sft = supervise(updater, samples);
    const double sft_seconds = watch.seconds();
    const auto padded = static_cast<double>(published_layout_rows(experiences, config, 1));
    std::cout << "budget " << budget << ": trace " << trace_seconds << " s, " << trace[UpdateRow::kPackedRows]
              << " rows (" << static_cast<double>(trace[UpdateRow::kPackedRows]) / trace_seconds << "/s), "
              << response_tokens / trace_seconds << " response tokens/s; published layout " << padded
              << " rows, avoided " << 1 - static_cast<double>(trace[UpdateRow::kPackedRows]) / padded
              << "; sft " << sft_seconds << " s, "
              << static_cast<double>(sft[UpdateRow::kPackedRows]) / sft_seconds << " rows/s, "
              << response_tokens / sft_seconds << " response tokens/s\n";
  }
}
