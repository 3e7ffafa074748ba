#include "rollout/decode_engine.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/clock.h"
#include "common/error.h"
#include "common/rng.h"
#include "policy/distribution.h"
#include "rollout/block_cadence.h"
#include "rollout/scheduler.h"
#include "rollout/sequence.h"

namespace bicrl {
namespace {

// Counters of the acceptance lots, apart from those of the token draws under the same key.
constexpr uint64_t kLotCounters = uint64_t{1} << 32;

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

// At its addresses for as long as nobody asks for more.
struct DecodeEngine::Memory {
  Memory(const Transformer& policy, const at::Tensor& allowed, MakeDenoiseStep& make_step,
         const EngineCapacity& its_asked, int64_t pages)
      : asked(its_asked),
        capacity{asked.sequences, pages, asked.prefill_tokens},
        cache(policy.config(), capacity.pages, policy.device(), policy.dtype()),
        buffer(policy.device()),
        forward(make_step(policy, allowed, capacity, cache, buffer)),
        state(policy.config().block_size, capacity.max_rows(policy.config().block_size), capacity.sequences,
              buffer) {
    buffer.allocate();
  }

  EngineCapacity asked;     // what it was made for
  EngineCapacity capacity;  // with the pages that there was room for
  KvCache cache;
  StepBuffer buffer;
  std::unique_ptr<DenoiseStep> forward;
  StepState state;
};

// What is decoded since open(). Refers to the engine's memory.
struct DecodeEngine::Work {
  Work(const PolicyConfig& its_config, const Tokenizer& its_tokenizer, const DecodingSettings& its_settings,
       int64_t version, const SchedulerLimits& its_limits, Memory& its_memory)
      : config(its_config),
        tokenizer(its_tokenizer),
        settings(its_settings),
        policy_version(version),
        limits(its_limits),
        memory(its_memory),
        scheduler(config.block_size, limits, memory.cache),
        cadence(settings, config.block_size) {
    memory.forward->open(settings);
  }

  void admit();
  int64_t uncommitted_tokens(const Sequence& s) const {
    return s.block_start() - memory.cache.stored_tokens(s.slot());
  }
  // Prompt computed as far as whole blocks go.
  bool prompt_ready(const Sequence& s) const {
    return memory.cache.stored_tokens(s.slot()) >= memory.cache.prefix_tokens(s.slot());
  }
  int64_t add_prefill();
  void add_commit(const Sequence& s);
  int64_t quota(const Sequence& s) const;
  void add_denoise(const Sequence& s);
  // Who is at work, and who begins now.
  std::vector<Sequence*> in_turn();
  // The rows of all that goes on; returns what is denoised, in the order of the state's blocks.
  std::vector<Sequence*> gather();
  // What the forward behind the one under way brings, unless responses end before their length; nothing if
  // that depends on more than quotas, or on who is admitted.
  std::optional<StepBound> next_at_most() const;
  void apply(const StepResult& result);

  const PolicyConfig config;
  const Tokenizer& tokenizer;
  const DecodingSettings settings;
  const int64_t policy_version;
  const SchedulerLimits limits;
  Memory& memory;
  Scheduler scheduler;
  BlockCadence cadence;
  std::vector<std::unique_ptr<Sequence>> active;
  int64_t submitted = 0;
  // The forward under way.
  bool begun = false;
  bool expected = false;            // the one behind it was announced
  std::vector<Sequence*> denoised;  // in it
  int64_t prefill_rows = 0;         // in it
};

void DecodeEngine::Work::admit() {
  while (auto admission = scheduler.admit())
    active.push_back(std::make_unique<Sequence>(std::move(admission->request), admission->number,
                                                admission->slot, config, tokenizer,
                                                admission->max_new_tokens));
}

int64_t DecodeEngine::Work::add_prefill() {
  int64_t rows = 0;
  for (const auto& chunk : scheduler.prefill()) {
    memory.state.add_segment(chunk.segment, chunk.tokens);
    rows += chunk.segment.rows;
  }
  return rows;
}

void DecodeEngine::Work::add_commit(const Sequence& s) {
  const int64_t stored = memory.cache.stored_tokens(s.slot()), pending = uncommitted_tokens(s);
  memory.state.add_segment({s.slot(), stored, pending, pending}, s.tokens().data() + stored);
}

int64_t DecodeEngine::Work::quota(const Sequence& s) const {
  const int64_t b = config.block_size;
  return acceptance_quota(b, settings.denoise_steps == 0 ? b : settings.denoise_steps, s.step_in_block());
}

// The block, and before it a finished one that is not in the cache yet.
void DecodeEngine::Work::add_denoise(const Sequence& s) {
  const int64_t stored = memory.cache.stored_tokens(s.slot()), pending = uncommitted_tokens(s),
                b = config.block_size;
  memory.state.add_segment({s.slot(), stored, pending + b, pending}, s.tokens().data() + stored);
  memory.state.begin_block(quota(s));
  for (int64_t offset = 0; offset < b; ++offset) {
    if (!s.masked(offset)) continue;
    const uint64_t position_key = mix_key({s.request().key, static_cast<uint64_t>(s.block_start() + offset)});
    const auto step = static_cast<uint64_t>(s.next_step());
    memory.state.add_masked(offset, uniform_at(position_key, step),
                            uniform_at(position_key, step | kLotCounters));
  }
}

std::vector<Sequence*> DecodeEngine::Work::in_turn() {
  std::vector<Sequence*> ready;
  for (const auto& s : active)
    if (prompt_ready(*s)) ready.push_back(s.get());
  if (!ready.empty() && std::ranges::none_of(ready, &Sequence::has_begun))
    cadence.restart((*std::ranges::max_element(ready, {}, &Sequence::masked_left))->masked_left());
  std::erase_if(ready,
                [&](const Sequence* s) { return !s->has_begun() && !cadence.may_begin(s->masked_left()); });
  cadence.advance();
  return ready;
}

std::vector<Sequence*> DecodeEngine::Work::gather() {
  std::vector<Sequence*> fused, plain;
  for (Sequence* s : in_turn()) {
    if (uncommitted_tokens(*s) == 0) {
      plain.push_back(s);
    } else if (settings.fused_commit) {
      fused.push_back(s);
    } else {
      add_commit(*s);
    }
  }
  // Segments of equal length side by side run as one attention batch.
  std::vector<Sequence*> denoised = std::move(fused);
  denoised.insert(denoised.end(), plain.begin(), plain.end());
  for (const Sequence* s : denoised) add_denoise(*s);
  return denoised;
}

std::optional<StepBound> DecodeEngine::Work::next_at_most() const {
  if (!accepts_by_quota(settings.acceptance.strategy) || scheduler.waits() ||
      denoised.size() != active.size())
    return std::nullopt;
  const int64_t b = config.block_size;
  StepBound bound;
  for (const Sequence* s : denoised) {
    if (const int64_t left = s->masked_left() - quota(*s); left > 0) {
      bound.rows += b;
      bound.masked += left;
    } else if (!s->in_last_block()) {
      bound.rows += settings.fused_commit ? 2 * b : b;
      bound.masked += settings.fused_commit ? b : 0;
    }
  }
  return bound.rows > 0 ? std::optional(bound) : std::nullopt;
}

void DecodeEngine::Work::apply(const StepResult& result) {
  size_t next = 0;
  for (Sequence* s : denoised) {
    for (int64_t offset = 0; offset < config.block_size; ++offset) {
      if (!s->masked(offset)) continue;
      const size_t i = next++;
      if (result.accepted[i]) s->accept(offset, result.tokens[i], result.log_probs[i]);
    }
    s->end_step();
  }
  BICRL_CHECK(next == result.tokens.size());
}

DecodeEngine::DecodeEngine(const Transformer& policy, const Tokenizer& tokenizer, MakeDenoiseStep& make_step)
    : policy_(policy),
      tokenizer_(tokenizer),
      make_step_(make_step),
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
  const EngineCapacity asked = memory_ ? memory_->asked.joined(capacity) : capacity;
  int64_t pages = asked.pages;
  memory_.reset();
  const PolicyConfig& config = policy_.config();
  if (const int64_t unused = unused_device_bytes(policy_.device()); unused > 0) {
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
  memory_ = std::make_unique<Memory>(policy_, allowed_, make_step_, asked, pages);
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
  work_ = std::make_unique<Work>(policy_.config(), tokenizer_, settings, policy_version, limits, *memory_);
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
  Work& work = *work_;
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
  Work& work = *work_;
  Memory& memory = *memory_;
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
                                          SharedDevice* device) {
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
