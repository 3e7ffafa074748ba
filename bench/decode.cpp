// What decoding reaches on the GPU at hand, for a policy of random weights of any shape: tokens a second by
// the engine, the bound that the same run measures (matrix products of the tokens that the exact algorithm
// forwards, the head on masked rows, unique bytes of keys and values at the rate of a copy), and where the
// time of a forward goes.
//   bench_decode configs/shapes/sdar-1.7b.json --sequences 128 --prompt 1024 --group 16 --response 512
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <set>

#include "bench/random_weights.h"
#include "bench/wide_tokenizer.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/rng.h"
#include "policy/files/checkpoint_io.h"
#include "policy/gpu/gpu_kernels.h"
#include "policy/gpu/paged_attention/paged_forward.h"
#include "rollout/decoding/decode_engine.h"
#include "rollout/gpu/graph_step.h"

namespace bicrl {
namespace {

struct Settings {
  std::string shape, checkpoint, tokenizer = "configs/quickstart";
  int64_t sequences = 128, requests = 0, prompt = 1024, group = 16, response = 512, steps = 4;
  double threshold = 0;  // 0: static
  std::string strategy;  // another rule than static or dynamic
  int64_t top_k = 0;
  double top_p = 1;
  bool records_rejected = false;
  bool parts = false;
};

std::vector<GenerationRequest> make_requests(const Settings& s) {
  std::vector<GenerationRequest> requests;
  for (int64_t i = 0; i < std::max(s.sequences, s.requests); ++i) {
    GenerationRequest request;
    request.task_id = std::to_string(i);
    request.group = s.group > 1 ? i / s.group : -1;
    request.key = mix_key({9, static_cast<uint64_t>(i)});
    RandomStream stream(mix_key({3, static_cast<uint64_t>(i / s.group)}));
    for (int64_t t = 0; t < s.prompt; ++t)
      request.prompt_tokens.push_back(static_cast<int64_t>(stream.below(100)));
    if (s.requests > 0)
      request.max_new_tokens =
          s.response / 8 +
          static_cast<int64_t>(
              RandomStream(mix_key({5, static_cast<uint64_t>(i)})).below(s.response * 7 / 8));
    requests.push_back(std::move(request));
  }
  return requests;
}

double milliseconds(int64_t rounds, const std::function<void()>& work) {
  const auto wait = [] { c10::cuda::stream_synchronize(c10::cuda::getCurrentCUDAStream().stream()); };
  work();
  wait();
  const Stopwatch stopwatch;
  for (int64_t i = 0; i < rounds; ++i) work();
  wait();
  return stopwatch.seconds() * 1e3 / static_cast<double>(rounds);
}

// Matrix products of all layers for so many rows.
double products_ms(const Transformer& policy, int64_t rows) {
  const PolicyConfig& c = policy.config();
  const auto options = policy.head().options();
  const at::Tensor x = at::randn({rows, c.hidden_size}, options),
                   mixed = at::randn({rows, c.heads * c.head_dim}, options),
                   gated = at::randn({rows, c.intermediate_size}, options);
  std::vector<std::pair<at::Tensor, at::Tensor>> fused;
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = concat("model.layers.", i, ".");
    fused.emplace_back(
        policy.store().fused(layer + "self_attn.q_proj.weight", layer + "self_attn.v_proj.weight"),
        policy.store().fused(layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight"));
  }
  at::Tensor qkv = at::empty({rows, fused[0].first.size(0)}, options),
             wide = at::empty({rows, fused[0].second.size(0)}, options),
             out = at::empty({rows, c.hidden_size}, options);
  RecordedLaunches launches;
  const LaunchRecorder recorder(policy.device());
  const auto all = [&] {
    for (size_t i = 0; i < fused.size(); ++i) {
      at::mm_out(qkv, x, fused[i].first.t());
      at::mm_out(out, mixed, policy.layers()[i].o.weight.t());
      at::mm_out(wide, x, fused[i].second.t());
      at::mm_out(out, gated, policy.layers()[i].down.weight.t());
    }
  };
  launches.run(recorder, all);
  return milliseconds(10, [&] { launches.run(recorder, all); });
}

double head_ms(const Transformer& policy, int64_t rows) {
  const at::Tensor x = at::randn({rows, policy.config().hidden_size}, policy.head().options());
  at::Tensor logits = at::empty({rows, policy.config().vocab_size}, x.options().dtype(at::kFloat));
  return milliseconds(5, [&] { at::mm_out(logits, x, policy.head().t(), at::kFloat); });
}

// Drawing from logits that lie there, of so many rows.
double draw_ms(const Transformer& policy, int64_t rows) {
  const int64_t vocab = policy.config().vocab_size;
  const auto options = at::TensorOptions().device(policy.device());
  const at::Tensor logits = at::randn({rows, vocab}, options.dtype(at::kFloat)),
                   allowed = at::ones({vocab}, options.dtype(at::kBool)),
                   uniforms = at::rand({rows}, options.dtype(at::kDouble)),
                   count = at::full({1}, rows, options.dtype(at::kInt)),
                   drawn =
                       at::zeros({rows, static_cast<int64_t>(sizeof(gpu::Drawn))}, options.dtype(at::kByte));
  const gpu::SampleRows work{.rows = rows,
                             .vocab = vocab,
                             .logits = logits.const_data_ptr<float>(),
                             .allowed = static_cast<const uint8_t*>(allowed.const_data_ptr()),
                             .uniforms = uniforms.const_data_ptr<double>(),
                             .count = count.const_data_ptr<int32_t>(),
                             .drawn = static_cast<gpu::Drawn*>(drawn.mutable_data_ptr())};
  const gpu::Stream stream = c10::cuda::getCurrentCUDAStream().stream();
  return milliseconds(20, [&] { gpu::sample_rows(work, stream); });
}

double copy_bytes_per_ms() {
  const at::Tensor from =
      at::empty({int64_t{1} << 31}, at::TensorOptions().device(at::kCUDA).dtype(at::kByte));
  at::Tensor to = at::empty_like(from);
  return 2.0 * static_cast<double>(from.numel()) / milliseconds(5, [&] { to.copy_(from); });
}

// One step of all sequences, halfway through their responses: the whole forward, recorded, and attention.
void print_parts(const Transformer& policy, const Settings& s) {
  const PolicyConfig& c = policy.config();
  const int64_t b = c.block_size, own = s.response / 2 / b * b,
                groups = (s.sequences + s.group - 1) / s.group;
  const int64_t max_rows = s.sequences * 2 * b;
  const int64_t pages = groups * KvCache::pages_for(s.prompt) + s.sequences * KvCache::pages_for(own + 2 * b);
  KvCache cache(c, pages, policy.device(), policy.dtype());
  StepBuffer buffer(policy.device());
  StepArray<int64_t> tokens(buffer, max_rows);
  AttentionPlanner planner(b, max_rows, cache, buffer);
  gpu::PagedForward forward(policy, max_rows, cache, buffer);
  buffer.allocate();
  std::vector<KvCache::SlotId> slots;
  for (int64_t i = 0; i < s.sequences; ++i) {
    static KvCache::SlotId prompt = KvCache::kNoPrefix;
    if (i % s.group == 0) {
      prompt = cache.reserve(s.prompt / b * b).value();
      cache.mark_stored(prompt, s.prompt / b * b);
    }
    slots.push_back(cache.reserve(own + 2 * b, prompt).value());
    if (own > 0) cache.mark_stored(slots.back(), own);
  }
  // Who commits in the same forward: nobody, a block's share of the sequences as if they were out of step,
  // all.
  for (const int64_t committing : {int64_t{0}, s.sequences / s.steps, s.sequences}) {
    std::vector<CachedSegment> segments;
    for (size_t i = 0; i < slots.size(); ++i)
      segments.push_back(
          {slots[i], cache.stored_tokens(slots[i]), static_cast<int64_t>(i) < committing ? 2 * b : b, 0});
    const int64_t rows = (s.sequences + committing) * b;
    forward.plan(segments);
    buffer.upload();
    RecordedLaunches launches;
    const LaunchRecorder recorder(policy.device());
    const auto all = [&] { forward.run(tokens.on_device(), rows); };
    launches.run(recorder, all);
    const double whole = milliseconds(20, [&] { launches.run(recorder, all); });
    const double eager = milliseconds(5, all);
    const Stopwatch stopwatch;
    for (int i = 0; i < 20; ++i) forward.plan(segments);
    const double planning = stopwatch.seconds() * 1e3 / 20;
    const double upload = milliseconds(20, [&] { buffer.upload_behind(); });
    RecordedLaunches layers;
    const auto attention = [&] {
      for (int64_t i = 0; i < c.layers; ++i) forward.mix(i, rows);
    };
    layers.run(recorder, attention);
    const double attending = milliseconds(20, [&] { layers.run(recorder, attention); });
    const double products = products_ms(policy, rows);
    printf(
        "  %5ld rows: forward %.3f ms (unrecorded %.3f) = products %.3f + attention %.3f + rest %.3f; host: "
        "plan %.3f, "
        "upload %.3f (%ld kB)\n",
        rows, whole, eager, products, attending, whole - products - attending, planning, upload,
        buffer.bytes() / 1000);
    fflush(stdout);
  }
  for (int64_t masked = b; masked > 0; --masked)
    printf("  %5ld masked positions: head %.3f ms, drawing %.3f\n", masked * s.sequences,
           head_ms(policy, masked * s.sequences), draw_ms(policy, masked * s.sequences));
  fflush(stdout);
}

void print_bound(const Transformer& policy, const Settings& s, double tokens_per_second) {
  const PolicyConfig& c = policy.config();
  const int64_t b = c.block_size, n = s.sequences;
  double products = products_ms(policy, 2 * b * n) + static_cast<double>(b - 1) * products_ms(policy, b * n),
         head = 0;
  for (int64_t masked = b; masked > 0; --masked) head += head_ms(policy, masked * n);
  const int64_t groups = (n + s.group - 1) / s.group;
  const double keys = static_cast<double>(b * (groups * s.prompt + n * s.response / 2));
  const double memory =
      keys * static_cast<double>(KvCache::bytes_per_page(c, policy.dtype()) / KvCache::kPageTokens) /
      copy_bytes_per_ms();
  const double bound = static_cast<double>(n * b) / (products + head + memory) * 1e3;
  printf(
      "bound %.0f tok/s (a block of all: products %.2f ms, head %.2f, keys and values %.2f); reached %.1f "
      "%%\n",
      bound, products, head, memory, 100 * tokens_per_second / bound);
}

int64_t peak_host_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

int64_t peak_device_bytes() {
  const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return statistics.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
}

// From a folder: read once so that its files are in the page cache, then measured.
Transformer load(const Settings& s, const PolicyConfig& config) {
  const at::Device device(at::kCUDA, 0);
  if (s.checkpoint.empty())
    return Transformer::from_source(config, RandomWeights(config), device, at::kBFloat16);
  at::empty({1}, at::TensorOptions().device(device));  // the driver's start is not the loading's
  const int64_t before = peak_host_bytes();
  const Stopwatch stopwatch;
  Transformer policy = load_policy(s.checkpoint, config, device, at::kBFloat16);
  c10::cuda::device_synchronize();
  const double seconds = stopwatch.seconds();
  double bytes = 0;
  for (const auto& [name, value] : policy.store().values()) bytes += static_cast<double>(value.nbytes());
  printf(
      "%s: %.2f GB in %.2f s, %.2f GB/s; the process' largest size grew by %.0f MB (pages of the files that "
      "it looked at among them)\n",
      s.checkpoint.c_str(), bytes * 1e-9, seconds, bytes * 1e-9 / seconds,
      static_cast<double>(peak_host_bytes() - before) * 1e-6);
  return policy;
}

void run(const Settings& s) {
  const at::NoGradGuard no_grad;
  const PolicyConfig config = [&] {
    PolicyConfig c = PolicyConfig::from_file(s.shape);
    c.end_token_ids.clear();  // responses of full length
    return c;
  }();
  Stopwatch made;
  const Transformer policy = load(s, config);
  const Tokenizer tokenizer = tokenizer_for(config, s.tokenizer);
  DecodingSettings decoding;
  decoding.max_new_tokens = s.response;
  decoding.denoise_steps = s.steps;
  decoding.max_active = s.sequences;
  decoding.acceptance.strategy =
      s.threshold > 0 ? AcceptanceStrategy::kLowConfidenceDynamic : AcceptanceStrategy::kLowConfidenceStatic;
  if (!s.strategy.empty()) decoding.acceptance.strategy = parse_acceptance_strategy(s.strategy);
  decoding.acceptance.threshold = s.threshold;
  decoding.sampling.top_k = s.top_k;
  decoding.sampling.top_p = s.top_p;
  if (s.records_rejected) decoding.recorded = CandidateTerms::kRejected;
  const auto requests = make_requests(s);
  DecodeEngine engine(policy, tokenizer);
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
  printf("%s, %ld sequences, prompts of %ld in groups of %ld, responses of %ld (made in %.1f s)\n",
         s.shape.c_str(), s.sequences, s.prompt, s.group, s.response, made.seconds());
  fflush(stdout);
  double rate = 0;
  // Shapes that came once in the first round are recorded in the second.
  for (int round = 0; round < 3; ++round) {
    engine.open(decoding, 0, capacity_for(requests, config, decoding));
    for (const auto& request : requests) engine.submit(request);
    // Steps with prompts among them apart from those without.
    double prefill = 0, decode = 0, between = 0;
    int64_t decode_steps = 0, decode_tokens = 0, decode_rows = 0;
    std::set<std::pair<int64_t, std::vector<int64_t>>> distinct;  // of each prompt
    while (!engine.idle()) {
      const DecodingStatistics before = engine.statistics();
      const Stopwatch stopwatch;
      const auto finished = engine.step();
      for (const FinishedRollout& done : finished)
        distinct.emplace(done.number / s.group, done.rollout.tokens);
      const DecodingStatistics after = engine.statistics();
      if (after.prefill_rows > before.prefill_rows) {
        prefill += stopwatch.seconds();
        continue;
      }
      decode += stopwatch.seconds();
      between += after.between_seconds - before.between_seconds;
      ++decode_steps;
      decode_tokens += after.generated_tokens - before.generated_tokens;
      decode_rows += after.rows - before.rows;
    }
    const DecodingStatistics total = engine.statistics();
    rate = static_cast<double>(decode_tokens) / decode;
    printf(
        "%s: %.0f tok/s with prompts; prompts %.0f tok/s in %.2f s; decoding %.0f tok/s, %.1f forwards/s, "
        "%.3f ms each, "
        "%.0f rows, %.2f tokens a sequence; no forward was under way %.1f %% of the time (%.3f ms "
        "each); %ld of %ld were "
        "queued ahead; %zu of %zu responses are unlike the others to their prompts\n",
        round < 2 ? "a round (recording)" : "last round",
        static_cast<double>(total.generated_tokens) / (prefill + decode),
        static_cast<double>(total.prefill_rows) / prefill, prefill, rate,
        static_cast<double>(decode_steps) / decode, decode * 1e3 / static_cast<double>(decode_steps),
        static_cast<double>(decode_rows) / static_cast<double>(decode_steps),
        static_cast<double>(decode_tokens) / static_cast<double>(decode_steps * s.sequences),
        100 * between / decode, between * 1e3 / static_cast<double>(decode_steps), total.queued_ahead,
        total.forwards, distinct.size(), requests.size());
    fflush(stdout);
  }
  const EngineBudget budget = engine.budget();
  printf("%s\n", budget.table().c_str());
  const auto planned =
                 static_cast<double>(budget.weights_bytes + budget.cache_bytes + budget.workspace_bytes),
             used = static_cast<double>(peak_device_bytes());
  printf("tensors on the device took %.3f GiB at most, %.1f %% of the table's %.3f\n", used / (1 << 30),
         100 * used / planned, planned / (1 << 30));
  // Of everybody on the device: the driver's context, modules and recorded graphs among it.
  const auto [free, total] = c10::getDeviceAllocator(at::kCUDA)->getMemoryInfo(0);
  printf("in use on the device %.3f GiB, which is %.3f more than the table's\n",
         static_cast<double>(total - free) / (1 << 30),
         (static_cast<double>(total - free) - planned) / (1 << 30));
  engine.release_memory();
  if (s.parts) print_parts(policy, s);
  print_bound(policy, s, rate);
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  bicrl::Settings settings;
  CLI::App app("Measures decoding on the GPU at hand");
  app.add_option("shape", settings.shape, "config.json of the policy")->required();
  app.add_option("--checkpoint", settings.checkpoint,
                 "folder of weights, whose loading is timed; else random ones");
  app.add_option("--tokenizer", settings.tokenizer, "folder of a tokenizer.json to begin with");
  app.add_option("--sequences", settings.sequences);
  app.add_option("--requests", settings.requests,
                 "more than --sequences, whose places are refilled; of random lengths from an eighth of "
                 "--response to all of it");
  app.add_option("--prompt", settings.prompt, "tokens of a prompt");
  app.add_option("--group", settings.group, "responses to a prompt")->check(CLI::PositiveNumber);
  app.add_option("--response", settings.response, "tokens of a response");
  app.add_option("--steps", settings.steps, "denoise steps of a block")->check(CLI::PositiveNumber);
  app.add_option("--threshold", settings.threshold, "of dynamic decoding; 0: static");
  app.add_option("--strategy", settings.strategy, "of accepting tokens, as rollout.strategy");
  app.add_option("--top-k", settings.top_k);
  app.add_option("--top-p", settings.top_p);
  app.add_flag("--exact", settings.records_rejected, "record what 'objective: exact' scores");
  app.add_flag("--parts", settings.parts, "show where the time of a forward goes");
  CLI11_PARSE(app, argc, argv);
  try {
    bicrl::run(settings);
  } catch (const std::exception& error) {
    fprintf(stderr, "bench_decode: %s\n", error.what());
    return 1;
  }
  return 0;
}
