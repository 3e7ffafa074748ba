#include "trainer/ranks/tensor_checksum.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr int64_t kWordsAtOnce = int64_t{1} << 20;
constexpr int kPlaceBits = 40;

// x ^= x >> bits, of unsigned numbers: the shift of signed ones drags the sign along.
void xor_shift(at::Tensor& x, int bits) {
  const int64_t kept = (int64_t{1} << (64 - bits)) - 1;
  x.bitwise_xor_(x.bitwise_right_shift(bits).bitwise_and_(kept));
}

void multiply(at::Tensor& x, uint64_t factor) { x.mul_(static_cast<int64_t>(factor)); }

// Of the places [first, first + count): an int64 multiplication keeps the low 64 bits, as an unsigned one
// does.
at::Tensor keys_of(int64_t first, int64_t count, at::Device device) {
  at::Tensor key = at::arange(first + 1, first + count + 1, at::TensorOptions(device).dtype(at::kLong));
  multiply(key, 0x9E3779B97F4A7C15);
  xor_shift(key, 30);
  multiply(key, 0xBF58476D1CE4E5B9);
  xor_shift(key, 27);
  multiply(key, 0x94D049BB133111EB);
  xor_shift(key, 31);
  return key.bitwise_or_(1);
}

}  // namespace

ChecksumWords checksum_words(const at::Tensor& values, int64_t bucket) {
  BICRL_CHECK(values.is_contiguous() && values.nbytes() % sizeof(int32_t) == 0, values.nbytes(), " bytes");
  const at::Tensor words = values.view({-1}).view(at::kInt);
  BICRL_CHECK(
      words.numel() <= int64_t{1} << kPlaceBits && bucket >= 0 && bucket < int64_t{1} << (63 - kPlaceBits),
      words.numel(), " words of bucket ", bucket);
  return {words, static_cast<uint64_t>(bucket) << kPlaceBits};
}

at::Tensor tensor_checksum(const at::Tensor& values, int64_t bucket) {
  const at::NoGradGuard guard;
  const auto [words, first_key] = checksum_words(values, bucket);
  at::Tensor sum = at::zeros({}, words.options().dtype(at::kLong));
  for (int64_t first = 0; first < words.numel(); first += kWordsAtOnce) {
    const int64_t count = std::min(kWordsAtOnce, words.numel() - first);
    at::Tensor products = words.narrow(0, first, count).to(at::kLong).bitwise_and_(0xFFFFFFFF);
    products.mul_(keys_of(static_cast<int64_t>(first_key) + first, count, words.device()));
    sum.add_(products.sum());
  }
  return sum;
}

}  // namespace bicrl
