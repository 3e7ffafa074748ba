#include "policy/distribution.h"

#include <ATen/ATen.h>

#include <limits>

#include "common/error.h"

namespace bicrl {

at::Tensor allowed_ids(const PolicyConfig& config, int64_t assigned_ids, at::Device device) {
  if (assigned_ids <= 0 || assigned_ids > config.vocab_size)
    throw InputError(
        concat("the tokenizer has ", assigned_ids, " ids, the policy's vocab_size is ", config.vocab_size));
  at::Tensor allowed = at::arange(config.vocab_size, at::TensorOptions().device(device).dtype(at::kLong));
  return allowed.lt(assigned_ids).logical_and_(allowed.ne(config.mask_token_id));
}

at::Tensor policy_log_softmax(const at::Tensor& logits, const at::Tensor& allowed, double temperature) {
  BICRL_CHECK(temperature > 0, "temperature ", temperature);
  BICRL_CHECK(logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kDouble);
  const at::Tensor scaled = temperature == 1.0 ? logits : logits / temperature;
  const double never = -std::numeric_limits<double>::infinity();
  return at::log_softmax(scaled.masked_fill(allowed.logical_not(), never), -1);
}

}  // namespace bicrl
