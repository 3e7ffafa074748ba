// Attention to packs alone on the GPU at hand: time and rate of the forward and backward passes over groups
// of responses that share a prompt (bench/update.md). FLOPs are counted by the mask's pairs: 4 *
// pairs * heads * head_dim forward, 2.5 times that backward.
#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/attention/pack_attention_operators.h"
#include "common/error.h"
#include "policy/gpu/pack_attention/pack_tables.h"

namespace bicrl {
namespace {

struct Options {
  int64_t heads = 16, kv_heads = 8, head_dim = 128, block_size = 4;
  int64_t groups = 1, prompt = 512, responses = 8, tokens = 1024, rounds = 1;
  int repeats = 20;
  bool portable = false;   // times the portable form
  bool operators = false;  // times torch's operators as well
  bool check = false;      // of both forms: how far they are apart, and whether repeats are equal
};

void check_cuda(cudaError_t error) { BICRL_CHECK(error == cudaSuccess, cudaGetErrorString(error)); }

class DeviceArray {
 public:
  explicit DeviceArray(int64_t bytes) : bytes_(bytes) {
    check_cuda(cudaMalloc(&data_, static_cast<size_t>(std::max<int64_t>(bytes, 16))));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  void fill(int byte) const { check_cuda(cudaMemset(data_, byte, static_cast<size_t>(bytes_))); }
  void upload(const void* from) const {
    check_cuda(cudaMemcpy(data_, from, static_cast<size_t>(bytes_), cudaMemcpyHostToDevice));
  }
  std::vector<uint16_t> download() const {
    std::vector<uint16_t> values(static_cast<size_t>(bytes_ / 2));
    check_cuda(cudaMemcpy(values.data(), data_, static_cast<size_t>(bytes_), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  int64_t bytes_;
  void* data_ = nullptr;
};

float widen(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float x = 0;
  std::memcpy(&x, &wide, sizeof x);
  return x;
}
uint16_t narrow(float x) {
  uint32_t wide = 0;
  std::memcpy(&wide, &x, sizeof x);
  return static_cast<uint16_t>((wide + 0x7FFF + (wide >> 16 & 1)) >> 16);
}

std::vector<PackedSegment> segments_of(const Options& o) {
  std::vector<PackedSegment> segments;
  int64_t rows = 0;
  for (int64_t group = 0; group < o.groups; ++group) {
    const int64_t prompt = rows;
    if (o.prompt > 0) segments.push_back({0, 0, rows, o.prompt, {}});
    rows += o.prompt;
    for (int64_t i = 0; i < o.responses; ++i) {
      PackedSegment s{prompt, o.prompt, rows, o.tokens, {}};
      for (int64_t block = 0; block < o.tokens / o.block_size; ++block)
        s.noisy_blocks.insert(s.noisy_blocks.end(), static_cast<size_t>(o.rounds),
                              o.prompt / o.block_size + block);
      rows += s.rows(o.block_size);
      segments.push_back(std::move(s));
    }
  }
  return segments;
}

// Tensors of a pass; gradients lie side by side in one product, as do queries, keys and values.
class Pass {
 public:
  explicit Pass(const Options& o)
      : options_(o),
        segments_(segments_of(o)),
        rows_(segments_.back().begin + segments_.back().rows(o.block_size)),
        columns_(o.heads + 2 * o.kv_heads),
        product_(rows_ * columns_ * o.head_dim * 2),
        gradients_(rows_ * columns_ * o.head_dim * 2),
        grad_out_(rows_ * o.heads * o.head_dim * 2),
        out_(rows_ * o.heads * o.head_dim * 2),
        log_sums_(gpu::pack_log_sums(rows_, o.heads) * 4),
        deltas_(gpu::pack_log_sums(rows_, o.heads) * 4) {
    fill_random(product_, rows_ * columns_ * o.head_dim, 1);
    fill_random(grad_out_, rows_ * o.heads * o.head_dim, 2);
    const auto begin = std::chrono::steady_clock::now();
    plan_ = plan_pack_attention(segments_, rows_,
                                {o.heads, o.kv_heads, o.head_dim, o.block_size, gpu::pack_processors()});
    plan_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    std::vector<std::byte> bytes(static_cast<size_t>(gpu::pack_table_bytes(plan_)));
    gpu::write_pack_tables(plan_, bytes);
    tables_ = std::make_unique<DeviceArray>(static_cast<int64_t>(bytes.size()));
    tables_->upload(bytes.data());
    parts_ = std::make_unique<DeviceArray>(gpu::pack_part_floats(o.head_dim) * plan_.key_parts * 4);
    table_bytes_ = static_cast<int64_t>(bytes.size());
  }

  void forward(gpu::PackForm form) const { gpu::pack_attention_forward(work(), form, nullptr); }
  void backward(gpu::PackForm form) const { gpu::pack_attention_backward(work(), form, nullptr); }
  // Every result, after outputs were poisoned.
  std::vector<uint16_t> results(gpu::PackForm form) const {
    for (const DeviceArray* each :
         std::initializer_list<const DeviceArray*>{&gradients_, &out_, &log_sums_, &deltas_, parts_.get()})
      each->fill(0xFF);
    forward(form);
    backward(form);
    check_cuda(cudaDeviceSynchronize());
    std::vector<uint16_t> all = out_.download();
    const std::vector<uint16_t> gradients = gradients_.download();
    all.insert(all.end(), gradients.begin(), gradients.end());
    return all;
  }
  const std::vector<PackedSegment>& segments() const { return segments_; }
  int64_t rows() const { return rows_; }
  double flops() const {
    return 4.0 * static_cast<double>(plan_.pairs) * static_cast<double>(options_.heads * options_.head_dim);
  }
  void describe() const {
    std::printf(
        "{\"rows\": %ld, \"pairs_per_row\": %.1f, \"heads\": %ld, \"kv_heads\": %ld, \"head_dim\": %ld, "
        "\"block_size\": %ld, \"plan_ms\": %.2f, \"table_bytes\": %ld, \"part_bytes\": %ld}\n",
        rows_, static_cast<double>(plan_.pairs) / static_cast<double>(rows_), options_.heads,
        options_.kv_heads, options_.head_dim, options_.block_size, plan_ms_, table_bytes_,
        gpu::pack_part_floats(options_.head_dim) * plan_.key_parts * 4);
  }

 private:
  static void fill_random(const DeviceArray& array, int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    // Drawn once and repeated: so many draws take seconds.
    std::vector<uint16_t> drawn(1 << 20), values(static_cast<size_t>(count));
    for (uint16_t& x : drawn) x = narrow(normal(random));
    for (size_t i = 0; i < values.size(); ++i) values[i] = drawn[(i * 31 + i / drawn.size()) % drawn.size()];
    array.upload(values.data());
  }
  gpu::PackWork work() const {
    const Options& o = options_;
    const int64_t stride = columns_ * o.head_dim, k = o.heads * o.head_dim, v = k + o.kv_heads * o.head_dim;
    auto* const product = product_.as<gpu::BFloat16>();
    auto* const gradients = gradients_.as<gpu::BFloat16>();
    return {.rows = rows_,
            .heads = o.heads,
            .kv_heads = o.kv_heads,
            .head_dim = o.head_dim,
            .block_size = o.block_size,
            .run_rows = plan_.run_rows,
            .scale = 1.0f / std::sqrt(static_cast<float>(o.head_dim)),
            .tables = gpu::pack_tables_at(plan_, tables_->as<void>()),
            .q = {product, stride},
            .k = {product + k, stride},
            .v = {product + v, stride},
            .out = out_.as<gpu::BFloat16>(),
            .log_sums = log_sums_.as<float>(),
            .grad_out = grad_out_.as<gpu::BFloat16>(),
            .grad_q = {gradients, stride},
            .grad_k = {gradients + k, stride},
            .grad_v = {gradients + v, stride},
            .deltas = deltas_.as<float>(),
            .parts = parts_->as<float>()};
  }

  Options options_;
  std::vector<PackedSegment> segments_;
  int64_t rows_, columns_;
  DeviceArray product_, gradients_, grad_out_, out_, log_sums_, deltas_;
  PackAttentionPlan plan_;
  double plan_ms_ = 0;
  int64_t table_bytes_ = 0;
  std::unique_ptr<DeviceArray> tables_, parts_;
};

// The median of single runs, behind two that warm up.
double median_ms(int repeats, const std::function<void()>& work) {
  std::vector<double> times;
  cudaEvent_t begin = nullptr, end = nullptr;
  check_cuda(cudaEventCreate(&begin));
  check_cuda(cudaEventCreate(&end));
  for (int i = 0; i < repeats + 2; ++i) {
    check_cuda(cudaEventRecord(begin));
    work();
    check_cuda(cudaEventRecord(end));
    check_cuda(cudaEventSynchronize(end));
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void report(const Pass& pass, const char* form, int repeats, const std::function<void()>& forward,
            const std::function<void()>& backward) {
  const double forward_ms = median_ms(repeats, forward), backward_ms = median_ms(repeats, backward);
  std::printf(
      "{\"form\": \"%s\", \"forward_ms\": %.4f, \"backward_ms\": %.4f, \"forward_tflops\": %.1f, "
      "\"backward_tflops\": %.1f}\n",
      form, forward_ms, backward_ms, pass.flops() / forward_ms / 1e9, 2.5 * pass.flops() / backward_ms / 1e9);
  std::fflush(stdout);
}

// Returns whether the forms agree.
bool compare(const Pass& pass) {
  const std::vector<uint16_t> portable = pass.results(gpu::PackForm::kPortable),
                              hopper = pass.results(gpu::PackForm::kHopper),
                              again = pass.results(gpu::PackForm::kHopper);
  double largest = 0, sum = 0, size = 0;
  int64_t none = 0;
  for (size_t i = 0; i < hopper.size(); ++i) {
    const double gap = std::abs(widen(hopper[i]) - widen(portable[i]));
    if (!(gap <= 1e30)) ++none;
    largest = std::max(largest, gap <= 1e30 ? gap : 0);
    sum += gap <= 1e30 ? gap : 0;
    size += std::abs(widen(portable[i]));
  }
  const double mean = sum / static_cast<double>(hopper.size()),
               mean_size = size / static_cast<double>(hopper.size());
  std::printf(
      "{\"mean_gap\": %.3g, \"largest_gap\": %.3g, \"mean_size\": %.3g, \"no_number\": %ld, "
      "\"repeats_equal\": %s}\n",
      mean, largest, mean_size, none, hopper == again ? "true" : "false");
  return none == 0 && hopper == again && mean < 0.01 * mean_size;
}

int run(int argc, char** argv) {
  Options o;
  CLI::App app("Times attention to packs.");
  app.add_option("--heads", o.heads);
  app.add_option("--kv-heads", o.kv_heads);
  app.add_option("--head-dim", o.head_dim);
  app.add_option("--block-size", o.block_size);
  app.add_option("--groups", o.groups, "groups of responses, each with a prompt");
  app.add_option("--prompt", o.prompt, "tokens");
  app.add_option("--responses", o.responses, "of a group");
  app.add_option("--tokens", o.tokens, "of a response");
  app.add_option("--rounds", o.rounds, "of each block");
  app.add_option("--repeats", o.repeats);
  app.add_flag("--portable", o.portable, "times the portable form");
  app.add_flag("--operators", o.operators, "times torch's operators as well");
  app.add_flag("--check", o.check, "compares both forms first");
  CLI11_PARSE(app, argc, argv);
  const Pass pass(o);
  pass.describe();
  if (o.check && !compare(pass)) return 1;
  const auto form = o.portable ? gpu::PackForm::kPortable : gpu::best_pack_form();
  report(
      pass, form == gpu::PackForm::kHopper ? "hopper" : "portable", o.repeats, [&] { pass.forward(form); },
      [&] { pass.backward(form); });
  if (o.operators) {
    const OperatorPasses passes =
        operator_passes(pass.segments(), pass.rows(), o.heads, o.kv_heads, o.head_dim, o.block_size);
    report(pass, "operators", std::min(o.repeats, 3), passes.forward, passes.backward);
  }
  return 0;
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  try {
    return bicrl::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
