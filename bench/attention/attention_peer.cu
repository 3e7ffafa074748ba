// The peer of attention over pages: FlashInfer's kernels, from the headers of its wheel.
#include "bench/attention/attention_peer.h"

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <flashinfer/attention/cascade.cuh>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>
#include <stdexcept>
#include <string>

namespace bicrl::bench {
namespace {

using Element = __nv_bfloat16;
using Params = flashinfer::BatchPrefillPagedParams<Element, Element, Element, int32_t>;
using Variant = flashinfer::DefaultAttention<false, false, false, false>;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) { check(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  T* get() const { return static_cast<T*>(data_); }

 private:
  void* data_ = nullptr;
};

constexpr size_t kFloatBytes = size_t{256} << 20, kIntBytes = size_t{8} << 20;

// One ragged batch: entries of consecutive rows, each with a list of pages, all of whose keys they see.
struct Batch {
  Batch(const DecodeAttention& its_shape, std::vector<int32_t> its_rows, std::vector<int32_t> pages,
        std::vector<int32_t> first_pages, std::vector<int32_t> last_page_keys, cudaStream_t stream)
      : shape(its_shape),
        entries(its_rows.size() - 1),
        first_rows(its_rows),
        pages_of(pages),
        first_pages_of(first_pages),
        last_keys(last_page_keys),
        floats(kFloatBytes),
        ints(kIntBytes) {
    void* pinned = nullptr;
    check(cudaMallocHost(&pinned, kIntBytes));
    check(flashinfer::PrefillPlan<int32_t>(
        floats.get(), kFloatBytes, ints.get(), pinned, kIntBytes, plan, its_rows.data(), first_pages.data(),
        static_cast<uint32_t>(its_rows.back()), static_cast<uint32_t>(entries),
        static_cast<uint32_t>(shape.heads), static_cast<uint32_t>(shape.kv_heads), kHeadDim, kHeadDim,
        kPageTokens, /*enable_cuda_graph=*/false, sizeof(Element), /*window_left=*/-1,
        /*fixed_split_size=*/-1, /*disable_split_kv=*/false, /*num_colocated_ctas=*/0, /*uniform_q_len=*/0,
        stream));
    check(cudaStreamSynchronize(stream));
    check(cudaFreeHost(pinned));
  }

  template <class T>
  T* planned(int64_t offset) const {
    return reinterpret_cast<T*>(ints.get() + offset);
  }

  void run(const void* q, const void* pool, Element* out, float* log, cudaStream_t stream) const {
    const int64_t strides[3] = {shape.elements_of_page(), 2 * shape.kv_heads * kHeadDim, kHeadDim};
    auto* const keys = const_cast<Element*>(static_cast<const Element*>(pool));
    const flashinfer::paged_kv_t<Element, int32_t> paged(
        static_cast<uint32_t>(shape.kv_heads), kPageTokens, kHeadDim, static_cast<uint32_t>(entries),
        flashinfer::QKVLayout::kNHD, keys, keys + shape.kv_heads * kHeadDim, strides, pages_of.get(),
        first_pages_of.get(), last_keys.get());
    Params params(const_cast<Element*>(static_cast<const Element*>(q)), paged, nullptr, first_rows.get(),
                  nullptr, nullptr, out, log, nullptr, static_cast<uint32_t>(shape.heads),
                  static_cast<int32_t>(shape.heads * kHeadDim), kHeadDim, -1, 0.0f,
                  1.0f / std::sqrt(static_cast<float>(kHeadDim)), 1.0f, 1e4f);
    params.request_indices = planned<int32_t>(plan.request_indices_offset);
    params.qo_tile_indices = planned<int32_t>(plan.qo_tile_indices_offset);
    params.kv_tile_indices = planned<int32_t>(plan.kv_tile_indices_offset);
    params.o_indptr = planned<int32_t>(plan.o_indptr_offset);
    params.kv_chunk_size_ptr = planned<int32_t>(plan.kv_chunk_size_ptr_offset);
    params.max_total_num_rows = static_cast<uint32_t>(plan.total_num_rows);
    params.padded_batch_size = static_cast<uint32_t>(plan.padded_batch_size);
    Element* parts = nullptr;
    float* weights = nullptr;
    if (plan.split_kv) {
      params.merge_indptr = planned<int32_t>(plan.merge_indptr_offset);
      params.partition_kv = true;
      parts = reinterpret_cast<Element*>(floats.get() + plan.v_offset);
      weights = reinterpret_cast<float*>(floats.get() + plan.s_offset);
    }
    const auto with_tile = [&](auto rows) {
      check(flashinfer::BatchPrefillWithPagedKVCacheDispatched<
            true, decltype(rows)::value, kHeadDim, kHeadDim, flashinfer::PosEncodingMode::kNone, false,
            flashinfer::MaskMode::kNone, Variant, Params>(params, parts, weights, false, stream));
    };
    switch (plan.cta_tile_q) {
      case 16:
        return with_tile(std::integral_constant<uint32_t, 16>());
      case 64:
        return with_tile(std::integral_constant<uint32_t, 64>());
      case 128:
        return with_tile(std::integral_constant<uint32_t, 128>());
      default:
        throw std::runtime_error("tiles of " + std::to_string(plan.cta_tile_q) + " rows");
    }
  }

  DecodeAttention shape;
  size_t entries;
  flashinfer::PrefillPlanInfo plan;
  DeviceArray<int32_t> first_rows, pages_of, first_pages_of, last_keys;
  DeviceArray<char> floats, ints;
};

// Prompts, with the rows of all sequences that share one.
std::unique_ptr<Batch> batch_of_prompts(const DecodeAttention& shape, const PageTable& pages,
                                        cudaStream_t stream) {
  std::vector<int32_t> rows = {0}, first = {0}, last;
  for (int64_t p = 0; p < shape.prompts(); ++p) {
    rows.push_back(
        static_cast<int32_t>(std::min((p + 1) * shape.group, shape.sequences) * shape.rows_of_sequence()));
    first.push_back(static_cast<int32_t>((p + 1) * shape.pages_of_prompt()));
    last.push_back(kPageTokens);
  }
  return std::make_unique<Batch>(shape, rows, pages.prompts, first, last, stream);
}

// An entry for each block of rows: all rows of a block see the same keys. Without a level of prompts these
// are among them.
std::unique_ptr<Batch> batch_of_blocks(const DecodeAttention& shape, const PageTable& pages, bool with_prompt,
                                       cudaStream_t stream) {
  std::vector<int32_t> rows = {0}, first = {0}, last, all;
  for (int64_t s = 0; s < shape.sequences; ++s) {
    for (int64_t block = 0; block < shape.blocks; ++block) {
      if (with_prompt) {
        const auto prompt = pages.prompts.begin() + s / shape.group * shape.pages_of_prompt();
        all.insert(all.end(), prompt, prompt + shape.pages_of_prompt());
      }
      const int64_t keys = shape.own + (block + 1) * kBlockRows,
                    own_pages = (keys + kPageTokens - 1) / kPageTokens;
      const auto own = pages.own.begin() + s * shape.own_pages();
      all.insert(all.end(), own, own + own_pages);
      rows.push_back(rows.back() + static_cast<int32_t>(kBlockRows));
      first.push_back(static_cast<int32_t>(all.size()));
      last.push_back(static_cast<int32_t>((keys - 1) % kPageTokens + 1));
    }
  }
  return std::make_unique<Batch>(shape, rows, all, first, last, stream);
}

}  // namespace

struct PeerAttention::State {
  State(const DecodeAttention& its_shape, const PageTable& pages, cudaStream_t stream)
      : shape(its_shape),
        prompts(shape.group > 1 ? batch_of_prompts(shape, pages, stream) : nullptr),
        blocks(batch_of_blocks(shape, pages, shape.group == 1, stream)),
        outs(static_cast<size_t>(shape.group > 1 ? 2 * shape.rows() * shape.heads * kHeadDim : 1)),
        logs(static_cast<size_t>(2 * shape.rows() * shape.heads)),
        merged_logs(static_cast<size_t>(shape.rows() * shape.heads)) {}

  DecodeAttention shape;
  std::unique_ptr<Batch> prompts, blocks;
  DeviceArray<Element> outs;  // of prompts, of blocks
  DeviceArray<float> logs, merged_logs;
};

PeerAttention::PeerAttention(const DecodeAttention& shape, const PageTable& pages, CUstream_st* stream)
    : state_(std::make_unique<State>(shape, pages, stream)) {}
PeerAttention::~PeerAttention() = default;

void PeerAttention::run(const void* q, const void* pool, void* out, CUstream_st* stream) {
  const State& s = *state_;
  auto* const joined = static_cast<Element*>(out);
  if (!s.prompts) {
    s.blocks->run(q, pool, joined, s.logs.get(), stream);
    return;
  }
  const int64_t outputs = s.shape.rows() * s.shape.heads;
  Element *first = s.outs.get(), *second = first + outputs * kHeadDim;
  float *first_log = s.logs.get(), *second_log = first_log + outputs;
  s.prompts->run(q, pool, first, first_log, stream);
  s.blocks->run(q, pool, second, second_log, stream);
  check(flashinfer::MergeState(first, first_log, second, second_log, joined, s.merged_logs.get(),
                               static_cast<uint32_t>(s.shape.rows()), static_cast<uint32_t>(s.shape.heads),
                               kHeadDim, stream));
}

}  // namespace bicrl::bench
