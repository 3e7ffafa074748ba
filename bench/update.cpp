// What an update reaches on the GPU at hand, for a policy of random weights of any shape: time of a forward
// and backward and of the whole update, rows a second, MFU, the bound that the same run measures (the
// products of layers and head, attention and the optimizer, each alone), memory against the budget, and where
// the time goes. bench/update_peer.py does the same rows with PyTorch.
//   bench_update configs/shapes/sdar-1.7b.json --prompt 512 --samples 8 --response 1024
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "bench/kernel_times.h"
#include "bench/many_gpus/update_options.h"
#include "bench/random_weights.h"
#include "common/clock.h"
#include "common/error.h"
#include "policy/distribution.h"
#include "policy/gpu/head/fused_head.h"
#include "policy/gpu/pass/gpu_pass_operations.h"
#include "trainer/run/reports/model_flops.h"
#include "trainer/update/attention_choice.h"
#include "trainer/update/gpu/gpu_optimizer.h"
#include "trainer/update/memory/memory_budget.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {
namespace {

struct Settings : UpdateOptions {
  int64_t lora_rank = 0;
  int64_t repeats = 5;
  int64_t exclude_every = 0;
  bool passes_only = false;
};

void wait() { c10::cuda::stream_synchronize(c10::cuda::getCurrentCUDAStream().stream()); }

double milliseconds(int64_t rounds, const std::function<void()>& work) {
  work();
  wait();
  const Stopwatch stopwatch;
  for (int64_t i = 0; i < rounds; ++i) work();
  wait();
  return stopwatch.seconds() * 1e3 / static_cast<double>(rounds);
}

std::string kind_of(const std::string& kernel) {
  const auto has = [&](const char* part) { return kernel.find(part) != std::string::npos; };
  if (has("nvjet") || has("gemm") || has("cutlass") || has("cublasLt") || has("splitK"))
    return "matrix products";
  if (has("head_") && !has("rotate_heads")) return "head beside its products";
  if (has("norm_backward") || has("norm_pass") || has("add_partial")) return "norms";
  if (has("rotate_heads") || has("rotation_row")) return "rotation of heads";
  if (has("swiglu")) return "SwiGLU";
  if (has("adamw") || has("sum_squares") || has("clip_factor")) return "optimizer";
  if (has("sum_run")) return "embedding";
  if (has("attention") || has("Attention") || has("pack_")) return "attention";
  if (has("Memcpy") || has("Memset")) return "copies and fills";
  return "other kernels";
}

// Every so many-th scored token scores that it drew neither its label nor another id.
void exclude(std::vector<LiveSequence>& sequences, int64_t every, int64_t vocab) {
  int64_t number = 0;
  for (LiveSequence& sequence : sequences)
    for (NoisyBlock& noisy : sequence.noisy)
      for (ScoredToken& token : noisy.scored)
        if (number++ % every == 0) token.excluded = {token.label, (token.label + 1) % vocab};
}

struct Work {
  const Settings& settings;
  Transformer& policy;
  std::vector<Experience> experiences;
  int64_t rows = 0, scored = 0, pairs = 0;
};

// ---- The bound: parts alone.
double layer_products_ms(const Work& w) {
  const PolicyConfig& c = w.policy.config();
  gpu::GpuPassOperations operations(w.policy.device());
  const int64_t q = c.heads * c.head_dim, qkv = q + 2 * c.kv_heads * c.head_dim;
  const std::pair<int64_t, int64_t> shapes[] = {{c.hidden_size, qkv},
                                                {q, c.hidden_size},
                                                {c.hidden_size, 2 * c.intermediate_size},
                                                {c.intermediate_size, c.hidden_size}};
  const auto options = w.policy.head().options();
  const bool is_frozen = w.policy.has_adapters();
  double total = 0;
  for (const auto& [in, out] : shapes) {
    const at::Tensor x = at::randn({w.rows, in}, options), weight = at::randn({out, in}, options),
                     y = at::randn({w.rows, out}, options),
                     sum = at::zeros({out, in}, options.dtype(at::kFloat));
    total += milliseconds(5, [&] {
      operations.multiply({.a = x, .b = weight, .b_transposed = true, .out = y});
      operations.multiply({.a = y, .b = weight, .out = x});
      if (!is_frozen) operations.multiply({.a = y, .a_transposed = true, .b = x, .addend = sum, .out = sum});
    });
  }
  return total * static_cast<double>(c.layers);
}

double head_ms(const Work& w, const at::Tensor& allowed) {
  const PolicyConfig& c = w.policy.config();
  gpu::GpuPassOperations operations(w.policy.device());
  gpu::FusedHead head(w.policy, allowed, operations, w.scored);
  const int64_t rows = head.rows_per_chunk(), chunks = (w.scored + rows - 1) / rows;
  const auto options = w.policy.head().options();
  const at::Tensor hidden = at::randn({rows, c.hidden_size}, options), grad_hidden = at::empty_like(hidden),
                   labels = at::randint(c.vocab_size / 2, {rows}, options.dtype(at::kLong)),
                   grad = at::randn({rows}, options.dtype(at::kFloat));
  at::Tensor sum;
  if (!w.policy.has_adapters()) sum = at::zeros({c.vocab_size, c.hidden_size}, options.dtype(at::kFloat));
  return milliseconds(5, [&] {
    for (int64_t i = 0; i < chunks; ++i) {
      head.score(hidden, labels, {}, {}, 1.0, true);
      head.gradient(grad, hidden, labels, grad_hidden, sum);
    }
  });
}

struct AttentionTimes {
  double forward_ms = 0, backward_ms = 0;  // of a layer
};
AttentionTimes attention_ms(const Work& w, const Packs& packs) {
  const PolicyConfig& c = w.policy.config();
  const PackedBatch batch = packs.make(0);
  const auto backend = choose_attention(AttentionShape::of(c, w.policy.dtype(), w.policy.device()));
  const auto attention = backend->make(batch.segments, batch.rows());
  const auto heads = [&](int64_t count) {
    return at::randn({batch.rows(), count, c.head_dim}, w.policy.head().options());
  };
  const at::Tensor q = heads(c.heads), k = heads(c.kv_heads), v = heads(c.kv_heads), out = heads(c.heads),
                   grad = heads(c.heads), grad_q = heads(c.heads), grad_k = heads(c.kv_heads),
                   grad_v = heads(c.kv_heads), state = attention->new_state(q);
  AttentionTimes times;
  times.forward_ms = milliseconds(5, [&] { attention->forward(q, k, v, out, state); });
  times.backward_ms =
      milliseconds(5, [&] { attention->backward(grad, q, k, v, out, state, grad_q, grad_k, grad_v); });
  return times;
}

double copy_bytes_per_ms() {
  const at::Tensor from =
      at::empty({int64_t{1} << 31}, at::TensorOptions().device(at::kCUDA).dtype(at::kByte));
  at::Tensor to = at::empty_like(from);
  return 2.0 * static_cast<double>(from.numel()) / milliseconds(5, [&] { to.copy_(from); });
}

int64_t peak_bytes() {
  const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return statistics.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak;
}

// Where the time goes. Returns the milliseconds of the optimizer's kernels.
double print_parts(const std::function<void()>& update) {
  // Each is a step of its own, whose host work begins when the one before has ended.
  const auto profiled = [&](int64_t steps) {
    return profile_kernels(
        [&] {
          for (int64_t i = 0; i < steps; ++i) update();
          wait();
        },
        kind_of);
  };
  constexpr int64_t kSteps = 4;
  const KernelTimes steps = profiled(kSteps), times = profiled(1);
  printf(
      "busy %.2f %% from the first to the last kernel of an update, and %.2f %% over %ld steps of %.2f ms\n",
      100 * times.busy_ms / times.span_ms, 100 * steps.busy_ms / steps.span_ms, kSteps,
      steps.span_ms / kSteps);
  printf("an update's kernels: %.2f ms\n", times.span_ms);
  for (const auto& [name, kind] : times.kinds)
    printf("  %-28s %9.3f ms %6ld launches\n", name.c_str(), kind.milliseconds, kind.launches);
  fflush(stdout);
  const auto optimizer = times.kinds.find("optimizer");
  return optimizer == times.kinds.end() ? 0 : optimizer->second.milliseconds;
}

// Sums that lie in the store already.
class StoreSums : public GradientSink {
 public:
  explicit StoreSums(ParameterStore& store) : store_(store) {}
  at::Tensor sum(int64_t group) override { return store_.group_part(ParameterPart::kGradient, group); }
  void complete(int64_t) override {}
  void zero() {
    for (int64_t g = 0; g < store_.layout().group_count(); ++g) sum(g).zero_();
  }

 private:
  ParameterStore& store_;
};

// Forward and backward of all packs alone, with gradients added to their sums.
double print_passes(const Work& w, const Packs& packs, const at::Tensor& allowed, Recompute recompute,
                    const std::function<double(double ms)>& mfu) {
  const auto pass = make_scored_pass(w.policy, allowed, recompute);
  BICRL_CHECK(!pass->walks_graph(), "there are no kernels for this policy");
  if (!w.policy.trained().has(ParameterPart::kGradient))
    w.policy.trained().allocate(ParameterPart::kGradient, PartExtent::kWhole);
  StoreSums sums(w.policy.trained());
  pass->reserve(packs.largest());
  const double ms = milliseconds(w.settings.repeats, [&] {
    for (size_t i = 0; i < packs.count(); ++i) {
      const PackedBatch batch = packs.make(i);
      pass->backward(
          batch, 1.0,
          [&](const ScoredChunk& chunk) { return (chunk.part(batch.weights) * chunk.log_probs).sum().neg(); },
          sums);
    }
  });
  sums.zero();
  printf("forward and backward: %.2f ms, %.0f rows/s, MFU %.1f %%\n", ms,
         static_cast<double>(w.rows) / ms * 1e3, mfu(ms));
  fflush(stdout);
  return ms;
}

void print_memory(const Work& w, const Packs& packs, Recompute recompute,
                  const std::optional<LoraConfig>& lora) {
  MemoryBudget budget;
  budget.held = training_memory(w.policy.config(), at::kBFloat16, {}, 1, lora, at::kCUDA);
  budget.pack_rows = packs.largest().rows;
  budget.pass =
      pass_memory(w.policy.config(), {packs.largest().rows, packs.largest().scored, packs.segments(0)},
                  {at::kBFloat16, at::kCUDA, recompute, lora});
  const auto planned = static_cast<double>(budget.training_bytes()), used = static_cast<double>(peak_bytes());
  printf("tensors took %.3f GiB at most, the table says %.3f (%.1f %% of what was used)\n", used / (1 << 30),
         planned / (1 << 30), 100 * planned / used);
  fflush(stdout);
}

// What the parts take alone. Returns the milliseconds of a forward and backward of these.
double print_bound(const Work& w, const Packs& packs, const at::Tensor& allowed, double forward_backward) {
  const PolicyConfig& c = w.policy.config();
  c10::cuda::CUDACachingAllocator::emptyCache();
  const double products = layer_products_ms(w), head = head_ms(w, allowed);
  const AttentionTimes attention = attention_ms(w, packs);
  const auto count = static_cast<double>(packs.count()), layers = static_cast<double>(c.layers);
  const double head_flops =
      (w.policy.has_adapters() ? 4.0 : 6.0) * static_cast<double>(w.scored * c.vocab_size * c.hidden_size);
  const double pair_flops = 4.0 * static_cast<double>(packs.extent(0).pairs * c.heads * c.head_dim);
  const double attending = (attention.forward_ms + attention.backward_ms) * layers * count;
  printf(
      "head %.2f ms, %.0f TFLOP/s; attention of a layer: forward %.3f ms, %.0f TFLOP/s, backward %.3f ms, "
      "%.0f TFLOP/s\n",
      head, head_flops / head * 1e-9, attention.forward_ms, pair_flops / attention.forward_ms * 1e-9,
      attention.backward_ms, 2.5 * pair_flops / attention.backward_ms * 1e-9);
  const double bound = products + head + attending;
  printf(
      "bound of forward and backward %.2f ms (products of layers %.2f, head %.2f, attention %.2f): reached "
      "%.1f %%\n",
      bound, products, head, attending, 100 * bound / forward_backward);
  fflush(stdout);
  return bound;
}

// optimizer_ms: of its kernels.
void print_optimizer(const Work& w, double optimizer_ms, double bound, double whole) {
  double trained = 0;
  for (const ParameterEntry& e : w.policy.trained().layout().entries())
    trained += static_cast<double>(e.size);
  // Norm: the gradient once. Step: four fp32 arrays in, three and a zeroed one out, and the bf16 values.
  const double bytes = trained * (4 + 16 + 16 + 2), copy = copy_bytes_per_ms();
  printf("optimizer's kernels: %.2f ms, %.0f GB/s, the copy's %.0f (%.1f %%)\n", optimizer_ms,
         bytes / optimizer_ms * 1e-6, copy * 1e-6, 100 * bytes / copy / optimizer_ms);
  printf("bound of the update %.2f ms: reached %.1f %%\n", bound + bytes / copy,
         100 * (bound + bytes / copy) / whole);
}

void run(const Settings& s) {
  const PolicyConfig config = s.config();
  const at::Device device(at::kCUDA, 0);
  Transformer policy = Transformer::from_source(config, RandomWeights(config), device, at::kBFloat16);
  std::optional<LoraConfig> lora;
  if (s.lora_rank > 0) {
    lora.emplace();
    lora->rank = s.lora_rank;
    policy.add_adapters(*lora, 3);
  }
  const at::Tensor allowed = allowed_ids(config, config.vocab_size, device);
  SingleProcessControl control;
  SingleProcessTensors tensors;
  const Recompute recompute = s.recompute();
  std::optional<PolicyUpdater> updater;
  if (!s.passes_only) updater.emplace(policy, allowed, s.updater(), control, tensors, Sharding{}, recompute);
  Work w{s, policy, make_experiences(s.rows, config)};

  std::vector<LiveSequence> sequences;
  for (const Experience& e : w.experiences) sequences.push_back(rollout_sequence(e, config, 1));
  if (s.exclude_every > 0) exclude(sequences, s.exclude_every, config.vocab_size);
  const std::vector<double> scales(sequences.size(), 1e-4);
  const Packs packs(sequences, scales,
                    {.block_size = config.block_size,
                     .tokens_per_pack = s.tokens_per_pack,
                     .device = device,
                     .rows_of_pair = rows_of_pair(config)});
  for (size_t i = 0; i < packs.count(); ++i) {
    w.rows += packs.extent(i).rows;
    w.scored += packs.extent(i).scored;
    w.pairs += packs.extent(i).pairs;
  }
  const double flops = training_flops(config, policy.has_adapters(), static_cast<double>(w.rows),
                                      static_cast<double>(w.scored), static_cast<double>(w.pairs));
  const double peak = peak_bf16_flops(gpu_name()).value_or(989.4e12);
  printf(
      "%s, %ld layers, %ld rows in %zu packs, %ld scored, %.0f pairs a row; recompute %s, adapters of rank "
      "%ld\n",
      s.shape.c_str(), config.layers, w.rows, packs.count(), w.scored,
      static_cast<double>(w.pairs) / static_cast<double>(w.rows), s.recompute_name.c_str(), s.lora_rank);
  fflush(stdout);

  const double forward_backward =
      print_passes(w, packs, allowed, recompute, [&](double ms) { return 100 * flops / (peak * ms * 1e-3); });

  if (s.passes_only) {
    print_bound(w, packs, allowed, forward_backward);
    return;
  }

  // ---- The whole update, from rollouts on.
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
  const auto update = [&] { updater->reinforce(w.experiences, {shares_of(w.experiences)}); };
  const double whole = milliseconds(s.repeats, update);
  printf("whole update: %.2f ms, %.0f rows/s, MFU %.1f %%\n", whole,
         static_cast<double>(w.rows) / whole * 1e3, 100 * flops / (peak * whole * 1e-3));
  print_memory(w, packs, recompute, lora);
  const double optimizer = print_parts(update);
  print_optimizer(w, optimizer, print_bound(w, packs, allowed, forward_backward), whole);
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  bicrl::Settings s;
  CLI::App app("Measures an update on the GPU at hand");
  s.tokens_per_pack = 1 << 20;
  s.add_to(app);
  app.add_option("--lora", s.lora_rank, "rank of adapters, which alone are trained; 0: none");
  app.add_option("--repeats", s.repeats);
  app.add_option("--exclude-every", s.exclude_every,
                 "every so many-th scored token of the passes excludes two ids; 0: none does");
  app.add_flag("--passes-only", s.passes_only, "without an optimizer and its state");
  CLI11_PARSE(app, argc, argv);
  try {
    bicrl::run(s);
  } catch (const std::exception& error) {
    fprintf(stderr, "bench_update: %s\n", error.what());
    return 1;
  }
  return 0;
}
