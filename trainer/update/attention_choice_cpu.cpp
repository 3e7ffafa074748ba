#include "trainer/update/attention_choice.h"

namespace bicrl {

std::unique_ptr<AttentionBackend> choose_attention(const AttentionShape& shape) {
  return operator_attention(shape);
}

}  // namespace bicrl
