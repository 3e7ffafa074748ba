#include "rollout/decoding/decode_engine.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/clock.h"
#include "common/error.h"
#include "policy/distribution.h"
#include "rollout/decoding/decode_work.h"

namespace bicrl {
namespace {

std::string describe(const GenerationRequest& request, int64_t number) {
  return concat("request ", number, " (task ", request.task_id, ", prompt of ", request.prompt_tokens.size(),
                " tokens)");
}

// Empty if all of them are finite.
std::string first_broken_tensor(const ParameterStore& store) {
  for (const auto& [name, value] : store.values()) {
    if (at::isfinite(value).all().item<bool>()) continue;
    return concat(name, at::isnan(value).any().item<bool>() ? " holds NaN" : " holds infinite values");
  }
  return "";
}

int64_t bytes_of(const ParameterStore& store) {
  int64_t bytes = 0;
  for (const auto& [name, value] : store.values()) bytes += static_cast<int64_t>(value.nbytes());
  return bytes;
}

std::string describe_damage(const Transformer& policy) {
  std::string damage = first_broken_tensor(policy.store());
  if (damage.empty() && policy.has_adapters()) damage = first_broken_tensor(policy.trained());
  return damage.empty() ? "its weights are finite, but too large" : damage;
}

}  // namespace

DecodeEngine::DecodeEngine(const Transformer& policy, const Tokenizer& tokenizer, MakeDenoiseStep& make_step,
                           int64_t (*unused_bytes)(at::Device))
    : policy_(policy),
      tokenizer_(tokenizer),
      make_step_(make_step),
      unused_bytes_(unused_bytes),
      allowed_(allowed_ids(policy.config(), tokenizer.size(), policy.device())) {
  const int64_t b = policy_.config().block_size, page = KvCache::kPageTokens;
  // So that no block begins within a page and ends within another.
  if (page % b != 0 && b % page != 0)
    throw InputError(concat("the policy's block_size is ", b, ", which neither divides a page of the cache (",
                            page, " tokens) nor is a multiple of it"));
}

DecodeEngine::~DecodeEngine() {
  if (work_ && work_->begun) memory_->forward->cancel();
}

void DecodeEngine::reserve(const EngineCapacity& capacity) {
  if (memory_ && memory_->asked.holds(capacity)) return;
  // Whole distributions of more sequences than any use of the engine has would take gigabytes.
  const bool is_alike = memory_ && memory_->asked.keeps_distributions == capacity.keeps_distributions;
  const EngineCapacity asked = is_alike ? memory_->asked.joined(capacity) : capacity;
  int64_t pages = asked.pages;
  memory_.reset();
  const PolicyConfig& config = policy_.config();
  if (const int64_t unused = unused_bytes_(policy_.device()); unused > 0) {
    const StepMemory step = denoise_step_memory(config, policy_.device(), policy_.dtype(), asked);
    const int64_t each = KvCache::bytes_per_page(config, policy_.dtype()) + step.bytes_per_page;
    pages = std::min(pages, (unused - step.fixed_bytes) / each);
    if (pages < 1) {
      EngineBudget plan = budget();
      plan.workspace_bytes = step.fixed_bytes;
      plan.limit_bytes = unused + plan.weights_bytes;
      throw InputError(concat("there is no room for a key/value cache, of which a page takes ", each,
                              " bytes\n", plan.table()));
    }
  }
  memory_ = std::make_unique<DecodeMemory>(policy_, allowed_, make_step_, asked, pages);
}

void DecodeEngine::open(const DecodingSettings& settings, int64_t policy_version,
                        const EngineCapacity& capacity) {
  BICRL_CHECK(idle(), "the engine is at work");
  const int64_t b = policy_.config().block_size, page = KvCache::kPageTokens;
  if (settings.denoise_steps > b)
    throw InputError(concat("denoise_steps is ", settings.denoise_steps, ", but a block of the policy has ",
                            b, " positions"));
  BICRL_CHECK(capacity.sequences > 0, "no sequence may be in work");
  if (capacity.pages < 1)
    throw InputError(concat("cache_tokens is ", settings.cache_tokens, ", less than a page of the cache (",
                            page, " tokens)"));
  work_.reset();
  reserve(capacity);
  const SchedulerLimits limits{.max_new_tokens = settings.max_new_tokens,
                               .max_active = capacity.sequences,
                               .pages = std::min(capacity.pages, memory_->capacity.pages),
                               .prefill_tokens = capacity.prefill_tokens};
  work_ =
      std::make_unique<DecodeWork>(policy_.config(), tokenizer_, settings, policy_version, limits, *memory_);
  statistics_ = {};
  statistics_.cache_bytes = limits.pages * KvCache::bytes_per_page(policy_.config(), policy_.dtype());
}

void DecodeEngine::check_fits(const GenerationRequest& request, int64_t number) const {
  const PolicyConfig& config = policy_.config();
  const int64_t prompt = static_cast<int64_t>(request.prompt_tokens.size());
  const int64_t new_tokens = request.new_tokens(work_->limits.max_new_tokens);
  if (prompt == 0)
    throw InputError(
        concat(describe(request, number), ": there is nothing to answer, as its prompt is empty"));
  if (prompt >= config.max_position)
    throw InputError(concat(describe(request, number), " leaves no position for a response; the policy has ",
                            config.max_position));
  if (new_tokens > config.max_position)
    throw InputError(concat(describe(request, number), " asks for ", new_tokens,
                            " new tokens; the policy has ", config.max_position, " positions"));
  const RequestBudget budget = budget_of(prompt, config.block_size, new_tokens);
  if (budget.tokens() > config.max_position)
    throw InputError(concat(describe(request, number), " needs ", budget.tokens(), " positions with ",
                            new_tokens, " new tokens; the policy has ", config.max_position));
  for (size_t i = 0; i < request.prompt_tokens.size(); ++i)
    if (request.prompt_tokens[i] < 0 || request.prompt_tokens[i] >= config.vocab_size)
      throw InputError(concat(describe(request, number), " has token ", request.prompt_tokens[i],
                              " at position ", i, "; the policy's vocabulary has ", config.vocab_size));
  if (budget.pages() > work_->limits.pages)
    throw InputError(concat(
        describe(request, number), " needs ", budget.pages(), " pages of ", KvCache::kPageTokens,
        " tokens of cache with ", new_tokens, " new tokens; it has ", work_->limits.pages,
        work_->settings.cache_tokens > 0 ? concat(" (cache_tokens is ", work_->settings.cache_tokens, ")")
                                         : std::string(),
        "\n", this->budget().table()));
}

void DecodeEngine::submit(GenerationRequest request) {
  BICRL_CHECK(work_ != nullptr, "the engine is not open");
  check_fits(request, work_->submitted);
  work_->scheduler.submit(work_->submitted, std::move(request));
  ++work_->submitted;
}

bool DecodeEngine::idle() const { return !work_ || (!work_->scheduler.waits() && work_->active.empty()); }

void DecodeEngine::begin_forward() {
  DecodeWork& work = *work_;
  // Who is admitted has pages cleared, on a stream that what is expected may have closed.
  BICRL_CHECK(!work.expected || !work.scheduler.waits());
  work.admit();
  statistics_.peak_active = std::max(statistics_.peak_active, work.scheduler.active());
  memory_->state.clear();
  work.prefill_rows = work.add_prefill();
  work.denoised = work.gather();
  work.begun = true;  // if it fails half-way, there is something to cancel
  memory_->forward->begin(memory_->state);
  work.expected = false;
}

std::vector<FinishedRollout> DecodeEngine::step(bool begins_next) {
  BICRL_CHECK(!idle(), "nothing to decode");
  if (!work_->begun) begin_forward();
  work_->begun = false;
  try {
    if (const auto bound = begins_next ? work_->next_at_most() : std::nullopt) {
      work_->expected = true;
      statistics_.queued_ahead += memory_->forward->expect(*bound);
    }
    return finish_forward(begins_next);
  } catch (...) {
    forget_expected();
    throw;
  }
}

void DecodeEngine::forget_expected() {
  if (std::exchange(work_->expected, false)) memory_->forward->cancel();
}

std::vector<FinishedRollout> DecodeEngine::finish_forward(bool begins_next) {
  DecodeWork& work = *work_;
  DecodeMemory& memory = *memory_;
  const StepResult result = memory.forward->finish();
  const Stopwatch between;
  ++statistics_.forwards;
  statistics_.rows += memory.state.tokens.size();
  statistics_.prefill_rows += work.prefill_rows;
  statistics_.generated_tokens += std::count(result.accepted.begin(), result.accepted.end(), 1);
  if (!std::all_of(result.log_probs.begin(), result.log_probs.end(),
                   [](float p) { return std::isfinite(p); })) {
    forget_expected();  // the weights are looked at on the device
    throw Error(
        concat("the policy gives a log-probability that is not finite: its weights, or an update of "
               "them, are broken (",
               describe_damage(policy_), ")."));
  }
  work.apply(result);

  std::vector<FinishedRollout> finished;
  for (auto& s : work.active) {
    if (!s->block_finished() || !s->close_block()) continue;
    work.scheduler.finish(s->slot());
    work.aligner.end_filling();
    finished.push_back({s->number(), s->take_rollout(work.policy_version)});
    s.reset();
  }
  std::erase(work.active, nullptr);
  if (idle()) {
    forget_expected();
    BICRL_CHECK(memory.cache.live_slots() == 0 && memory.cache.free_pages() == memory.cache.total_pages(),
                memory.cache.live_slots(), " slots were not returned");
    return finished;
  }
  if (!begins_next) return finished;
  begin_forward();
  statistics_.between_seconds += between.seconds();
  return finished;
}

void DecodeEngine::abandon() {
  if (!work_) return;
  if (std::exchange(work_->begun, false)) memory_->forward->cancel();
  work_->scheduler.drop_waiting();
  for (const auto& s : work_->active) work_->scheduler.finish(s->slot());
  work_->active.clear();
}

DecodingStatistics DecodeEngine::generate(const DecodingSettings& settings,
                                          const std::vector<GenerationRequest>& requests,
                                          int64_t policy_version, const OnFinished& on_finished,
                                          SharedDevice* device, const GoesOn& goes_on) {
  if (requests.empty()) return {};
  const Stopwatch stopwatch;
  open(settings, policy_version, capacity_for(requests, policy_.config(), settings));
  try {
    for (const GenerationRequest& request : requests) submit(request);
    while (!idle()) {
      const bool lends = device && device->is_wanted();
      for (FinishedRollout& finished : step(!lends))
        on_finished(static_cast<size_t>(finished.number), std::move(finished.rollout));
      if (lends) device->lend();
      if (goes_on && !goes_on(statistics_)) abandon();
    }
  } catch (...) {
    abandon();
    throw;
  }
  statistics_.seconds = stopwatch.seconds();
  return statistics_;
}

void DecodeEngine::release_memory() {
  BICRL_CHECK(idle(), "the engine is at work");
  work_.reset();
  memory_.reset();
}

EngineBudget DecodeEngine::budget() const {
  const PolicyConfig& config = policy_.config();
  EngineBudget budget;
  int64_t held_bytes = 0;  // of the workspace
  budget.weights_bytes = bytes_of(policy_.store());
  if (policy_.has_adapters()) budget.weights_bytes += bytes_of(policy_.trained());
  if (memory_) {
    const EngineCapacity& capacity = memory_->capacity;
    budget.cache_pages = capacity.pages;
    budget.cache_bytes = capacity.pages * KvCache::bytes_per_page(config, policy_.dtype());
    const StepMemory step = denoise_step_memory(config, policy_.device(), policy_.dtype(), capacity);
    budget.workspace_bytes =
        memory_->buffer.bytes() + step.fixed_bytes + capacity.pages * step.bytes_per_page;
    held_bytes = memory_->buffer.bytes() + step.held_bytes;
  }
  const int64_t unused = unused_device_bytes(policy_.device());
  if (unused > 0) budget.limit_bytes = unused + budget.weights_bytes + budget.cache_bytes + held_bytes;
  return budget;
}

}  // namespace bicrl
