#include "trainer/update/memory/memory_budget.h"

#include <algorithm>
#include <cstdio>

#include "common/error.h"
#include "policy/attention/kv_cache.h"
#include "rollout/decoding/denoise_step.h"
#include "rollout/decoding/scheduler.h"

namespace bicrl {
namespace {

std::string gib(int64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.3f", static_cast<double>(bytes) / (1 << 30));
  return text;
}

}  // namespace

int64_t cache_pages(const PolicyConfig& config, const DecodingSettings& settings,
                    const RequestedResponses& requested) {
  const int64_t active = std::min(requested.prompts * requested.samples, settings.max_active);
  const RequestBudget request =
      budget_of(requested.prompt_tokens, config.block_size, settings.max_new_tokens);
  // As the engine counts them (engine_budget.h).
  const int64_t pages = active * KvCache::pages_for(request.own_tokens) +
                        std::min(requested.prompts, active) * KvCache::pages_for(request.shared_tokens);
  if (settings.cache_tokens == 0) return pages;
  return std::min(pages, settings.cache_tokens / KvCache::kPageTokens);
}

DecodingMemory decoding_memory(const PolicyConfig& config, c10::Device device, c10::ScalarType dtype,
                               const DecodingSettings& settings, const RequestedResponses& requested) {
  const int64_t active = std::min(requested.prompts * requested.samples, settings.max_active);
  const int64_t pages = cache_pages(config, settings, requested);
  DecodingMemory memory;
  memory.cache_bytes = pages * KvCache::bytes_per_page(config, dtype);
  const StepMemory step = denoise_step_memory(config, device, dtype,
                                              {.sequences = active,
                                               .pages = pages,
                                               .prefill_tokens = settings.prefill_tokens,
                                               .keeps_distributions = keeps_distributions(settings)});
  const RequestBudget request =
      budget_of(requested.prompt_tokens, config.block_size, settings.max_new_tokens);
  memory.working_bytes = step.fixed_bytes + active * request.pages() * step.bytes_per_page;
  return memory;
}

int64_t MemoryBudget::peak_bytes() const { return std::max(training_bytes(), generating_bytes()); }

std::string MemoryBudget::table(int64_t limit_bytes) const {
  std::string text = "memory of a rank, GiB";
  const auto line = [&](const std::string& name, int64_t bytes) {
    if (bytes > 0)
      text += concat("\n  ", name, std::string(48 - std::min<size_t>(name.size(), 47), ' '), gib(bytes));
  };
  line("weights", held.weights_bytes);
  line("of these absent while training", held.absent_bytes);
  line("gradients", held.gradients_bytes);
  line("AdamW", held.optimizer_bytes);
  line("exchange between ranks", held.exchange_bytes);
  line("reference policy", reference_bytes);
  line(concat("activations of a pack of ", pack_rows, " rows"), pass.kept_bytes);
  line("on top, one after the other: head and logits", pass.head_bytes);
  line("  a layer's backward pass", pass.layer_bytes);
  line("  or, without those, the embedding's", pass.embedding_bytes);
  line("key/value cache", decoding.cache_bytes);
  line("decoding", decoding.working_bytes);
  line("most at once, training", training_bytes());
  line(decoding.cache_bytes > 0 ? "most at once, generating" : "between updates", generating_bytes());
  if (limit_bytes > 0) line("there is", limit_bytes);
  return text;
}

std::string MemoryBudget::pass_problem(int64_t there_is_bytes) const {
  return concat("a pack of ", pack_rows, " rows does not fit into memory: its pass needs ",
                gib(pass.peak_bytes()), " GiB, and there are ", gib(there_is_bytes), "\n", table(0),
                "\nsmaller packs (tokens_per_pack), shorter responses or trainer.recompute=full need less");
}

std::string MemoryBudget::problem(int ranks, int64_t beside_bytes, int64_t limit_bytes,
                                  const std::string& memory) const {
  const int64_t needed = ranks * peak_bytes() + beside_bytes;
  if (needed <= limit_bytes) return "";
  const bool trains = training_bytes() >= generating_bytes();
  return concat("the run does not fit into memory: ",
                trains                     ? "training"
                : decoding.cache_bytes > 0 ? "generating"
                                           : "what lies there between updates",
                " needs ", gib(needed), " of ", gib(limit_bytes), " GiB of ", memory, " (", ranks,
                ranks == 1 ? " rank" : " ranks", " of ", gib(peak_bytes()), " GiB",
                beside_bytes > 0 ? concat(", ", gib(beside_bytes), " GiB for checkpoints") : "", ")\n",
                table(0), "\n",
                trains ? concat("smaller packs (tokens_per_pack; now ", pack_rows,
                                " rows), trainer.recompute=full, a higher trainer.sharding_stage on more "
                                "ranks, policy.dtype=bfloat16 or policy.lora need less")
                       : "a smaller rollout.max_active, max_new_tokens or cache_tokens, a higher "
                         "trainer.sharding_stage, policy.dtype=bfloat16 or policy.lora need less");
}

}  // namespace bicrl
