#include "rollout/decoding/engine_budget.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <set>

#include "common/error.h"
#include "policy/attention/kv_cache.h"
#include "policy/parameters/parameter_layout.h"
#include "rollout/decoding/operator_step.h"
#include "rollout/decoding/scheduler.h"
#include "rollout/record/rejected_mass.h"

namespace bicrl {
namespace {

// What a driver and its libraries take once kernels run, beside tensors: modules, handles, recorded graphs.
// 0.3 GiB on an H100; without room for it a matrix library cannot start.
constexpr int64_t kDriverBytes = int64_t{512} << 20;

// Of the largest `count` values.
int64_t sum_of_largest(std::vector<int64_t> values, int64_t count) {
  std::sort(values.begin(), values.end(), std::greater<>());
  if (static_cast<int64_t>(values.size()) > count) values.resize(static_cast<size_t>(count));
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

}  // namespace

EngineCapacity EngineCapacity::joined(const EngineCapacity& other) const {
  return {std::max(sequences, other.sequences), std::max(pages, other.pages),
          std::max(prefill_tokens, other.prefill_tokens), keeps_distributions || other.keeps_distributions};
}

bool keeps_distributions(const DecodingSettings& settings) {
  if (settings.recorded == CandidateTerms::kNone) return false;
  return settings.sampling.is_restricted() || (settings.recorded == CandidateTerms::kRejected &&
                                               accepts_by_confidence(settings.acceptance.strategy));
}

EngineCapacity capacity_for(const std::vector<GenerationRequest>& requests, const PolicyConfig& config,
                            const DecodingSettings& settings) {
  std::vector<int64_t> shared, own;
  std::set<int64_t> groups;
  int64_t prompts = 0;
  for (const GenerationRequest& request : requests) {
    const int64_t new_tokens = request.new_tokens(settings.max_new_tokens);
    if (new_tokens > config.max_position) continue;
    const RequestBudget budget =
        budget_of(static_cast<int64_t>(request.prompt_tokens.size()), config.block_size, new_tokens);
    if (budget.tokens() > config.max_position) continue;
    own.push_back(KvCache::pages_for(budget.own_tokens));
    if (request.group >= 0 && !groups.insert(request.group).second) continue;
    shared.push_back(KvCache::pages_for(budget.shared_tokens));
    prompts += budget.shared_tokens;
  }
  EngineCapacity capacity;
  capacity.sequences = std::min(settings.max_active, static_cast<int64_t>(requests.size()));
  capacity.pages = std::max<int64_t>(
      sum_of_largest(shared, capacity.sequences) + sum_of_largest(own, capacity.sequences), 1);
  if (settings.cache_tokens > 0)
    capacity.pages = std::min(capacity.pages, settings.cache_tokens / KvCache::kPageTokens);
  capacity.prefill_tokens = std::min(std::max(settings.prefill_tokens, config.block_size), prompts);
  capacity.keeps_distributions = keeps_distributions(settings);
  return capacity;
}

int64_t decoding_workspace_bytes(const PolicyConfig& config, c10::ScalarType dtype, int64_t sequences,
                                 int64_t keys) {
  const auto element = static_cast<int64_t>(c10::elementSize(dtype));
  // Logits, their logarithms, weights, and the cumulative weights in fp64 (rollout/decoding/sampling.cpp).
  const int64_t logits =
      std::min(OperatorStep::kLogitsAtOnce, sequences * config.block_size * config.vocab_size);
  const int64_t mask = keys * 2 * config.block_size * config.heads / config.kv_heads;
  const int64_t gathered = keys * 2 * config.kv_heads * config.head_dim;
  return 5 * logits * static_cast<int64_t>(sizeof(float)) + (mask + gathered) * element;
}

std::string EngineBudget::table() const {
  std::string text = "memory of the decode engine, GiB";
  const auto line = [&](const std::string& name, int64_t bytes) {
    char gib[32];
    snprintf(gib, sizeof gib, "%.3f", static_cast<double>(bytes) / (1 << 30));
    text += concat("\n  ", name, std::string(48 - std::min<size_t>(name.size(), 47), ' '), gib);
  };
  line("weights", weights_bytes);
  line(concat("key/value cache, ", cache_pages, " pages of ", KvCache::kPageTokens, " tokens"), cache_bytes);
  line("workspace of a forward", workspace_bytes);
  if (limit_bytes > 0) line("free", free_bytes());
  return text;
}

int64_t unused_device_bytes(at::Device device) {
  if (device.is_cpu()) return 0;
  at::globalContext().lazyInitDevice(device.type());  // the allocator knows no device before the first tensor
  auto* const allocator = c10::getDeviceAllocator(device.type());
  const auto [free, total] = allocator->getMemoryInfo(device.index());
  const auto stats = allocator->getDeviceStats(device.index());
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t for_tensors = static_cast<int64_t>(free) + stats.reserved_bytes[kAll].current -
                              stats.allocated_bytes[kAll].current - kDriverBytes;
  return std::max<int64_t>(for_tensors, 1);
}

void check_weights_fit(const PolicyConfig& config, c10::ScalarType dtype, int64_t unused_bytes) {
  EngineBudget budget;
  const ParameterLayout layout(config);
  for (const ParameterGroup& group : layout.groups())
    budget.weights_bytes += group.size * static_cast<int64_t>(c10::elementSize(dtype));
  if (unused_bytes == 0 || budget.weights_bytes <= unused_bytes) return;
  budget.limit_bytes = unused_bytes;
  throw InputError(concat("the policy's weights do not fit into the device\n", budget.table()));
}

}  // namespace bicrl
