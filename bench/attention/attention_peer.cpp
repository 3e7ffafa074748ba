// Attention of a decoding step by the project's kernel and by FlashInfer's, on the shapes of bench/decode.md:
// the same queries, pages and keys, results compared, both recorded as a CUDA graph over several layers'
// pools, so that nothing is left in the L2 cache from one layer to the next but what a step leaves there.
//   attention_peer [HEADS SEQUENCES GROUP OWN_KEYS BLOCKS]      one shape, for a profiler, or all of the
//   table
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <utility>

#include "bench/attention/attention_peer.h"
#include "common/error.h"
#include "policy/attention/attention_plan.h"
#include "policy/gpu/gpu_kernels.h"

namespace bicrl::bench {
namespace {

constexpr int64_t kShares = 4 * 3072;  // room for them, as an engine of 128 sequences has it
constexpr int kLayers = 6;

void check(cudaError_t error) { BICRL_CHECK(error == cudaSuccess, cudaGetErrorString(error)); }

// Bytes on the device.
class DeviceMemory {
 public:
  explicit DeviceMemory(int64_t bytes) { check(cudaMalloc(&data_, static_cast<size_t>(bytes))); }
  template <class T>
  explicit DeviceMemory(const std::vector<T>& values)
      : DeviceMemory(static_cast<int64_t>(values.size() * sizeof(T))) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ~DeviceMemory() { cudaFree(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

uint16_t bf16_of(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
float float_of(uint16_t bf16) {
  const uint32_t bits = uint32_t{bf16} << 16;
  float x = 0;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

std::vector<uint16_t> random_values(int64_t count, float scale, uint64_t seed) {
  // A table of them, so that gigabytes are drawn at once.
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<uint16_t> table(1 << 16), values(static_cast<size_t>(count));
  for (auto& value : table) value = bf16_of(normal(generator));
  for (size_t i = 0; i < values.size();) {
    const uint64_t bits = generator();
    for (int part = 0; part < 4 && i < values.size(); ++part)
      values[i++] = table[(bits >> (16 * part)) & 0xFFFF];
  }
  return values;
}

PageTable scattered_pages(const DecodeAttention& shape) {
  std::vector<int32_t> all(static_cast<size_t>(shape.pages()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  std::shuffle(all.begin(), all.end(), std::mt19937_64(5));
  const auto prompts = all.begin() + shape.prompts() * shape.pages_of_prompt();
  return {{all.begin(), prompts}, {prompts, all.end()}};
}

// The project's: a plan as AttentionPlanner makes it, its tiles, and the kernel.
class OwnAttention {
 public:
  OwnAttention(const DecodeAttention& shape, const PageTable& table)
      : shape_(shape), tiles_(make_tiles(shape, table)) {
    std::vector<int64_t> limits;
    for (int64_t s = 0; s < shape.sequences; ++s)
      for (int64_t r = 0; r < shape.rows_of_sequence(); ++r)
        limits.push_back(shape.prompt + shape.own + (r / kBlockRows + 1) * kBlockRows);
    memory_.emplace_back(tiles_.tiles);
    memory_.emplace_back(std::vector<int32_t>{static_cast<int32_t>(tiles_.wide),
                                              static_cast<int32_t>(tiles_.tiles.size()),
                                              static_cast<int32_t>(shape.rows())});
    memory_.emplace_back(all_pages_);
    memory_.emplace_back(limits);
    memory_.emplace_back(tiles_.first_share);
    const int64_t shares = tiles_.shares();
    memory_.emplace_back(shares * shape.heads * kHeadDim * 2);
    memory_.emplace_back(shares * shape.heads * 4);
  }

  void run(const void* q, const void* pool, void* out, CUstream_st* stream) const {
    gpu::paged_attention({.rows = shape_.rows(),
                          .heads = shape_.heads,
                          .kv_heads = shape_.kv_heads,
                          .head_dim = kHeadDim,
                          .scale = 1.0f / std::sqrt(static_cast<float>(kHeadDim)),
                          .q = static_cast<const gpu::BFloat16*>(q),
                          .pool = static_cast<const gpu::BFloat16*>(pool),
                          .tiles = memory_[0].as<AttentionTile>(),
                          .counts = memory_[1].as<int32_t>(),
                          .pages = memory_[2].as<int32_t>(),
                          .key_limits = memory_[3].as<int64_t>(),
                          .first_share = memory_[4].as<int32_t>(),
                          .partial_out = memory_[5].as<gpu::BFloat16>(),
                          .partial_log = memory_[6].as<float>(),
                          .out = static_cast<gpu::BFloat16*>(out)},
                         stream);
  }

 private:
  AttentionTiles make_tiles(const DecodeAttention& shape, const PageTable& table) {
    std::vector<int64_t> positions, limits, write_rows(static_cast<size_t>(shape.rows()));
    std::vector<int32_t> first_rows = {0}, first_pages = {0}, pages, prompt_of, first_prompt = {0},
                         prompt_tokens;
    const bool shared = shape.group > 1;
    for (int64_t s = 0; s < shape.sequences; ++s) {
      if (!shared)
        pages.insert(pages.end(), table.prompts.begin() + s * shape.pages_of_prompt(),
                     table.prompts.begin() + (s + 1) * shape.pages_of_prompt());
      pages.insert(pages.end(), table.own.begin() + s * shape.own_pages(),
                   table.own.begin() + (s + 1) * shape.own_pages());
      for (int64_t r = 0; r < shape.rows_of_sequence(); ++r) {
        positions.push_back(shape.prompt + shape.own + r);
        limits.push_back(shape.prompt + shape.own + (r / kBlockRows + 1) * kBlockRows);
      }
      first_rows.push_back(static_cast<int32_t>(positions.size()));
      first_pages.push_back(static_cast<int32_t>(pages.size()));
      prompt_of.push_back(shared ? static_cast<int32_t>(s / shape.group) : -1);
    }
    std::vector<int32_t> prompt_pages;
    for (int64_t p = 0; shared && p < shape.prompts(); ++p) {
      first_prompt.push_back(static_cast<int32_t>((p + 1) * shape.pages_of_prompt()));
      prompt_tokens.push_back(static_cast<int32_t>(shape.prompt));
    }
    if (shared) prompt_pages = table.prompts;
    AttentionTiles tiles;
    tiles.make({.page_tokens = kPageTokens,
                .positions = positions,
                .key_limits = limits,
                .write_rows = write_rows,
                .first_rows = first_rows,
                .first_pages = first_pages,
                .pages = pages,
                .segment_prompt = prompt_of,
                .first_prompt_pages = first_prompt,
                .prompt_pages = prompt_pages,
                .prompt_tokens = prompt_tokens},
               gpu::tile_limits(shape.heads, shape.kv_heads, kShares));
    all_pages_ = pages;
    all_pages_.insert(all_pages_.end(), prompt_pages.begin(), prompt_pages.end());
    return tiles;
  }

  DecodeAttention shape_;
  std::vector<int32_t> all_pages_;
  AttentionTiles tiles_;
  std::vector<DeviceMemory> memory_;
};

// Of one layer, in a graph of kLayers of them: the median of the rounds.
double microseconds(cudaStream_t stream, const std::function<void(int layer)>& attend) {
  attend(0);
  check(cudaStreamSynchronize(stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t recorded = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int layer = 0; layer < kLayers; ++layer) attend(layer);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&recorded, graph, 0));
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int round = 0; round < 25; ++round) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(recorded, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    if (round >= 4) times.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(recorded);
  cudaGraphDestroy(graph);
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2] * 1e3 / kLayers;
}

double copy_bytes_per_us(cudaStream_t stream) {
  const int64_t bytes = int64_t{1} << 30;
  const DeviceMemory from(bytes), to(bytes);
  const double us = microseconds(stream, [&](int) {
    check(cudaMemcpyAsync(to.as<void>(), from.as<void>(), bytes, cudaMemcpyDeviceToDevice, stream));
  });
  return 2.0 * static_cast<double>(bytes) / us;
}

void compare(const DecodeAttention& shape, double bytes_per_us, cudaStream_t stream) {
  const PageTable table = scattered_pages(shape);
  const int64_t outputs = shape.rows() * shape.heads * kHeadDim;
  const DeviceMemory q(random_values(outputs, 1, 1)), out(outputs * 2), peer_out(outputs * 2);
  const std::vector<uint16_t> keys = random_values(shape.pages() * shape.elements_of_page(), 1, 2);
  std::vector<DeviceMemory> pools;
  for (int layer = 0; layer < kLayers; ++layer) pools.emplace_back(keys);
  const OwnAttention own(shape, table);
  PeerAttention peer(shape, table, stream);
  const auto pool = [&](int layer) { return pools[static_cast<size_t>(layer)].as<void>(); };
  const double ours = microseconds(
                   stream, [&](int layer) { own.run(q.as<void>(), pool(layer), out.as<void>(), stream); }),
               theirs = microseconds(stream, [&](int layer) {
                 peer.run(q.as<void>(), pool(layer), peer_out.as<void>(), stream);
               });
  std::vector<uint16_t> a(static_cast<size_t>(outputs)), b(a.size());
  check(cudaMemcpy(a.data(), out.as<void>(), a.size() * 2, cudaMemcpyDeviceToHost));
  check(cudaMemcpy(b.data(), peer_out.as<void>(), b.size() * 2, cudaMemcpyDeviceToHost));
  float gap = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::abs(float_of(a[i]) - float_of(b[i]));
    gap = difference <= gap ? gap : difference;  // NaN is kept
  }
  const double least = static_cast<double>(shape.unique_bytes()) / bytes_per_us;
  printf("| %ld/%ld | %ld | %s | %ld | %ld | %.1f | %.1f | %.1f | %.2f | %.4f |\n", shape.heads,
         shape.kv_heads, shape.sequences, shape.group > 1 ? "groups of 16" : "each its own", shape.own,
         shape.rows_of_sequence(), least, ours, theirs, theirs / ours, static_cast<double>(gap));
  fflush(stdout);
}

DecodeAttention shape_of(int64_t heads, int64_t sequences, int64_t group, int64_t own, int64_t blocks) {
  return {.heads = heads,
          .kv_heads = 8,
          .sequences = sequences,
          .group = group,
          .prompt = 1024,
          .own = own,
          .blocks = blocks};
}

// One shape, or none for all.
void run(const std::vector<int64_t>& only) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  const double bytes_per_us = copy_bytes_per_us(stream);
  printf("prompts of 1,024 keys; a copy moves %.2f TB/s\n\n", bytes_per_us / 1e6);
  printf(
      "| heads | sequences | prompts | own keys | rows of a sequence | at the rate of a copy, us | ours, us "
      "| "
      "FlashInfer, us | FlashInfer / ours | largest gap |\n|---|---|---|---|---|---|---|---|---|---|\n");
  if (!only.empty()) {
    BICRL_CHECK(only.size() == 5, "HEADS SEQUENCES GROUP OWN_KEYS BLOCKS");
    compare(shape_of(only[0], only[1], only[2], only[3], only[4]), bytes_per_us, stream);
    return;
  }
  for (const int64_t heads : {16, 32})
    for (const int64_t sequences : {32, 64, 128, 256})
      for (const int64_t group : {16, 1}) {
        if (sequences != 128 && (heads == 32 || group == 1)) continue;
        for (const int64_t own : {64, 128, 512})
          for (const int64_t blocks : {1, 2})
            if (own == 128 || sequences == 128)
              compare(shape_of(heads, sequences, group, own, blocks), bytes_per_us, stream);
      }
}

}  // namespace
}  // namespace bicrl::bench

int main(int argc, char** argv) {
  try {
    std::vector<int64_t> only;
    for (int i = 1; i < argc; ++i) only.push_back(std::stoll(argv[i]));
    bicrl::bench::run(only);
  } catch (const std::exception& error) {
    fprintf(stderr, "attention_peer: %s\n", error.what());
    return 1;
  }
  return 0;
}
