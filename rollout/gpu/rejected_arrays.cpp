#include "rollout/gpu/rejected_arrays.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

namespace bicrl {
namespace {

constexpr int64_t kWordBits = 32;
int64_t words_of(int64_t vocab) { return (vocab + kWordBits - 1) / kWordBits; }

std::vector<int64_t> marked_ids(std::span<const uint32_t> words) {
  std::vector<int64_t> ids;
  for (size_t w = 0; w < words.size(); ++w)
    for (uint32_t left = words[w]; left != 0; left &= left - 1)
      ids.push_back(static_cast<int64_t>(w) * kWordBits + std::countr_zero(left));
  return ids;
}

}  // namespace

RejectedMass read_rejected(std::span<const gpu::Drawn> drawn, const gpu::Rejected* rejected,
                           const uint32_t* marks, int64_t vocab) {
  RejectedMass out;
  const auto words = static_cast<size_t>(words_of(vocab));
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i].accepted != 0) continue;
    const gpu::Rejected& row = rejected[i];
    std::vector<int64_t>& ids = out.ids.emplace_back();
    if (row.count <= gpu::Rejected::kListed) {
      ids.assign(row.ids, row.ids + row.count);
      std::ranges::sort(ids);
    } else {
      ids = marked_ids({marks + i * words, words});
    }
    out.log_masses.push_back(static_cast<float>(log_complement(row.mass)));
  }
  return out;
}

int64_t RejectedArrays::device_bytes(int64_t max_masked) {
  return max_masked * static_cast<int64_t>(sizeof(gpu::RowScale));
}

RejectedArrays::RejectedArrays(int64_t max_masked, int64_t vocab, at::Device device) : vocab_(vocab) {
  const auto pinned = at::TensorOptions().pinned_memory(true);
  scales_ = at::zeros({device_bytes(max_masked)}, at::TensorOptions().device(device).dtype(at::kByte));
  rejected_ = at::zeros({max_masked * static_cast<int64_t>(sizeof(gpu::Rejected))}, pinned.dtype(at::kByte));
  marks_ = at::zeros({max_masked, words_of(vocab)}, pinned.dtype(at::kInt));
}

gpu::RowScale* RejectedArrays::scales() const {
  return static_cast<gpu::RowScale*>(scales_.mutable_data_ptr());
}
gpu::Rejected* RejectedArrays::rejected() const {
  return static_cast<gpu::Rejected*>(rejected_.mutable_data_ptr());
}
uint32_t* RejectedArrays::marks() const { return static_cast<uint32_t*>(marks_.mutable_data_ptr()); }

RejectedMass RejectedArrays::read(std::span<const gpu::Drawn> drawn) const {
  return read_rejected(drawn, rejected(), marks(), vocab_);
}

}  // namespace bicrl
