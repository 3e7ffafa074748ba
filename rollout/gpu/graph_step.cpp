#include "rollout/gpu/graph_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "common/error.h"

namespace bicrl {
namespace {

// Masked positions whose logits are made at once: enough to multiply by the head at the speed of the matrix
// units.
constexpr int64_t kMaxPiece = 512;
constexpr int64_t kMaxLogits = int64_t{1} << 27;
// Recorded by themselves: a graph's launch takes the host longer the more kernels it has, and while the
// device is busy with the first layers the others are launched.
constexpr int64_t kFirstLayers = 4;
// What the matrix library takes for the streams of a step, and recorded graphs for themselves.
constexpr int64_t kLibraryBytes = int64_t{192} << 20;

int64_t piece_rows(int64_t max_masked, int64_t vocab) {
  return std::min({max_masked, kMaxPiece, std::max(kMaxLogits / vocab, int64_t{1})});
}

// What is rejected is known when all candidates are drawn; it is then looked for in logits that are still
// there.
int64_t logits_rows(const PolicyConfig& config, const EngineCapacity& capacity) {
  const int64_t masked = capacity.sequences * config.block_size;
  return capacity.keeps_distributions ? masked : piece_rows(masked, config.vocab_size);
}

gpu::Score score_of(AcceptanceStrategy strategy) {
  switch (strategy) {
    case AcceptanceStrategy::kEntropyBounded:
      return gpu::Score::kMinusEntropy;
    case AcceptanceStrategy::kRandom:
      return gpu::Score::kLot;
    default:
      return gpu::Score::kConfidence;
  }
}

gpu::Acceptance rule_of(AcceptanceStrategy strategy) {
  switch (strategy) {
    case AcceptanceStrategy::kLowConfidenceDynamic:
      return gpu::Acceptance::kAboveThreshold;
    case AcceptanceStrategy::kSequential:
      return gpu::Acceptance::kLeftmost;
    case AcceptanceStrategy::kEntropyBounded:
      return gpu::Acceptance::kEntropyBounded;
    default:
      return gpu::Acceptance::kBest;
  }
}

// Tools and settings that let the host wait for each kernel would wait for the gate for ever.
bool may_queue_ahead() {
  const auto value = [](const char* name) {
    const char* found = std::getenv(name);
    return std::string_view(found ? found : "");
  };
  const std::string_view blocking = value("CUDA_LAUNCH_BLOCKING");
  return (blocking.empty() || blocking == "0") && value("BICRL_QUEUE_AHEAD") != "0";
}

std::vector<const void*> addresses_of(const Transformer& policy) {
  std::vector<const void*> addresses;
  const auto add = [&](const ParameterStore& store) {
    for (const auto& [name, value] : store.values()) addresses.push_back(value.const_data_ptr());
  };
  add(policy.store());
  if (policy.has_adapters()) add(policy.trained());
  return addresses;
}

}  // namespace

int64_t GraphStep::bucket(int64_t rows, int64_t limit) {
  const int64_t step = rows <= 256 ? 32 : rows <= 1024 ? 64 : 128;
  return std::min((rows + step - 1) / step * step, limit);
}

StepMemory GraphStep::memory(const PolicyConfig& config, const EngineCapacity& capacity) {
  const int64_t masked = capacity.sequences * config.block_size;
  const int64_t logits = logits_rows(config, capacity) * config.vocab_size;
  const int64_t recorded = capacity.keeps_distributions ? RejectedArrays::device_bytes(masked) : 0;
  const int64_t held = gpu::PagedForward::workspace_bytes(config, capacity.max_rows(config.block_size)) +
                       logits * static_cast<int64_t>(sizeof(float)) + recorded +
                       masked * (config.hidden_size * static_cast<int64_t>(sizeof(gpu::BFloat16)) +
                                 static_cast<int64_t>(sizeof(gpu::Drawn)));
  return {.fixed_bytes = kLibraryBytes + held, .bytes_per_page = 0, .held_bytes = held};
}

GraphStep::GraphStep(const Transformer& policy, const at::Tensor& allowed, const EngineCapacity& capacity,
                     KvCache& cache, StepBuffer& buffer)
    : policy_(policy),
      allowed_(allowed),
      buffer_(buffer),
      forward_(policy, capacity.max_rows(policy.config().block_size), cache, buffer),
      masked_(buffer, 1),
      decoding_rows_(capacity.sequences * 2 * policy.config().block_size),
      max_masked_(capacity.sequences * policy.config().block_size),
      piece_rows_(piece_rows(max_masked_, policy.config().vocab_size)),
      recorder_(policy.device()),
      queues_ahead_(may_queue_ahead()) {
  const PolicyConfig& config = policy.config();
  const auto options = at::TensorOptions().device(policy.device()).dtype(policy.dtype());
  selected_ = at::zeros({max_masked_, config.hidden_size}, options);
  logits_ = at::zeros({logits_rows(config, capacity), config.vocab_size}, options.dtype(at::kFloat));
  if (capacity.keeps_distributions) rejected_.emplace(max_masked_, config.vocab_size, policy.device());
  const int64_t drawn_bytes = max_masked_ * static_cast<int64_t>(sizeof(gpu::Drawn));
  drawn_ = at::zeros({drawn_bytes}, options.dtype(at::kByte));
  drawn_on_host_ = at::zeros({drawn_bytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
}

void GraphStep::require_recordable(const DecodingSettings& settings) {
  if (settings.recorded != CandidateTerms::kNone && settings.sampling.is_restricted())
    throw InputError(
        "'objective: draws' and 'objective: exact' with 'top_k' or 'top_p' need the ids that were drawn "
        "among, which the GPU's decoding kernels do not record: use a policy that torch's operators decode "
        "('dtype: float32')");
}

bool GraphStep::records_rejected() const {
  return settings_.recorded == CandidateTerms::kRejected &&
         accepts_by_confidence(settings_.acceptance.strategy);
}

void GraphStep::open(const DecodingSettings& settings) {
  require_recordable(settings);
  for (int64_t group = 0; group < policy_.store().layout().group_count(); ++group)
    BICRL_CHECK(policy_.store().resident(group), "parameters of ", policy_.store().layout().group(group).name,
                " are not in memory");
  std::vector<const void*> parameters = addresses_of(policy_);
  if (parameters != parameters_) {
    first_layers_.clear();
    other_layers_.clear();
  }
  if (parameters != parameters_ || settings.sampling != settings_.sampling ||
      settings.acceptance != settings_.acceptance || settings.recorded != settings_.recorded)
    draws_.clear();
  const auto recorded = [](const auto& launches) { return launches.second.recorded(); };
  if (std::ranges::none_of(first_layers_, recorded) && std::ranges::none_of(draws_, recorded))
    recorder_.pool = at::cuda::graph_pool_handle();
  parameters_ = std::move(parameters);
  settings_ = settings;
  BICRL_CHECK(!records_rejected() || (rejected_ && !settings.sampling.reference_confidence),
              "what is rejected is asked for without room for it, or by confidences after a restriction");
  // So that they are made by now.
  const c10::cuda::CUDAGuard device(policy_.device());
  for (auto& done : done_) done.record();
}

void GraphStep::draw(const StepState& state, int64_t masked) {
  const int32_t* const count = masked_.on_device();
  forward_.select(state.head_rows.on_device(), count, selected_.narrow(0, 0, masked));
  const gpu::Stream stream = c10::cuda::getCurrentCUDAStream().stream();
  auto* const drawn = static_cast<gpu::Drawn*>(drawn_.mutable_data_ptr());
  for (int64_t first = 0; first < masked; first += piece_rows_) {
    at::Tensor logits = logits_.narrow(0, rejected_ ? first : 0, std::min(piece_rows_, masked - first));
    at::mm_out(logits, selected_.narrow(0, first, logits.size(0)), policy_.head().t(), at::kFloat);
    gpu::sample_rows({.rows = logits.size(0),
                      .vocab = logits.size(1),
                      .logits = logits.const_data_ptr<float>(),
                      .allowed = static_cast<const uint8_t*>(allowed_.const_data_ptr()),
                      .uniforms = state.uniforms.on_device() + first,
                      .lots = state.lots.on_device() + first,
                      .count = count,
                      .first = first,
                      .temperature = static_cast<float>(settings_.sampling.temperature),
                      .top_k = settings_.sampling.top_k,
                      .top_p = settings_.sampling.top_p,
                      .reference_confidence = settings_.sampling.reference_confidence,
                      .score = score_of(settings_.acceptance.strategy),
                      .drawn = drawn + first,
                      .scales = records_rejected() ? rejected_->scales() + first : nullptr},
                     stream);
  }
}

void GraphStep::accept(const StepState& state, int64_t masked) {
  gpu::accept_drawn({.rows = masked,
                     .block_size = policy_.config().block_size,
                     .count = masked_.on_device(),
                     .cells = state.cells.on_device(),
                     .quotas = state.quotas.on_device(),
                     .rule = rule_of(settings_.acceptance.strategy),
                     .threshold = static_cast<float>(settings_.acceptance.threshold),
                     .entropy_bound = static_cast<float>(settings_.acceptance.entropy_bound),
                     .drawn = static_cast<gpu::Drawn*>(drawn_.mutable_data_ptr())},
                    c10::cuda::getCurrentCUDAStream().stream());
}

void GraphStep::find_rejected(const StepState& state, int64_t masked) {
  gpu::rejected_rows({.rows = masked,
                      .vocab = logits_.size(1),
                      .block_size = policy_.config().block_size,
                      .logits = logits_.const_data_ptr<float>(),
                      .allowed = static_cast<const uint8_t*>(allowed_.const_data_ptr()),
                      .scales = rejected_->scales(),
                      .drawn = static_cast<const gpu::Drawn*>(drawn_.const_data_ptr()),
                      .count = masked_.on_device(),
                      .cells = state.cells.on_device(),
                      .temperature = static_cast<float>(settings_.sampling.temperature),
                      .rule = rule_of(settings_.acceptance.strategy),
                      .threshold = static_cast<float>(settings_.acceptance.threshold),
                      .rejected = rejected_->rejected(),
                      .marks = rejected_->marks()},
                     c10::cuda::getCurrentCUDAStream().stream());
}

void GraphStep::queue(const StepState& state, int64_t rows, int64_t masked) {
  buffer_.upload_behind();
  const int64_t layers = policy_.config().layers, begun = std::min(kFirstLayers, layers);
  const auto run = [&](int64_t first, int64_t end) {
    forward_.run(state.tokens.on_device(), rows, first, end);
  };
  if (rows > decoding_rows_) {
    run(0, layers);
  } else {
    first_layers_[rows].run(recorder_, [&] { run(0, begun); });
    if (begun < layers) other_layers_[rows].run(recorder_, [&] { run(begun, layers); });
  }
  if (masked > 0) {
    draws_[masked].run(recorder_, [&] {
      draw(state, masked);
      accept(state, masked);
      if (records_rejected()) find_rejected(state, masked);
    });
    const int64_t bytes = masked * static_cast<int64_t>(sizeof(gpu::Drawn));
    drawn_on_host_.narrow(0, 0, bytes).copy_(drawn_.narrow(0, 0, bytes), /*non_blocking=*/true);
  }
}

void GraphStep::begin(const StepState& state) {
  const at::NoGradGuard no_grad;
  const c10::cuda::CUDAGuard device(policy_.device());
  begun_ = &state;
  begun_masked_ = state.masked();
  forward_.plan(state.segments());
  const int64_t rows = forward_.planned_rows();
  masked_.clear();
  masked_.push_back(static_cast<int32_t>(begun_masked_));
  if (expected_) {
    BICRL_CHECK(rows <= expected_->rows && begun_masked_ <= expected_->masked, rows, " rows and ",
                begun_masked_, " masked positions, expected were ", expected_->rows, " and ",
                expected_->masked);
    gate_->open();
    expected_.reset();
    std::swap(done_[0], done_[1]);
  } else {
    queue(state, rows > decoding_rows_ ? rows : bucket(rows, decoding_rows_),
          begun_masked_ > 0 ? bucket(begun_masked_, max_masked_) : 0);
    done_[0].record();
  }
  forward_.commit();
}

bool GraphStep::expect(const StepBound& bound) {
  const StepBound rounded{bucket(bound.rows, decoding_rows_), bucket(bound.masked, max_masked_)};
  // What is launched for the first time may wait for the whole device.
  const auto is_recorded = [](const auto& launches, int64_t of) {
    const auto found = launches.find(of);
    return found != launches.end() && found->second.recorded();
  };
  if (!queues_ahead_ || bound.rows > decoding_rows_ || bound.masked == 0 ||
      !is_recorded(first_layers_, rounded.rows) ||
      (policy_.config().layers > kFirstLayers && !is_recorded(other_layers_, rounded.rows)) ||
      !is_recorded(draws_, rounded.masked))
    return false;
  const at::NoGradGuard no_grad;
  const c10::cuda::CUDAGuard device(policy_.device());
  if (!gate_) gate_.emplace();
  expected_ = rounded;
  gate_->close(c10::cuda::getCurrentCUDAStream().stream());
  queue(*begun_, rounded.rows, rounded.masked);
  done_[1].record();
  return true;
}

StepResult GraphStep::finish() {
  const c10::cuda::CUDAGuard device(policy_.device());
  // The arrays of the step are free again then, too.
  done_[0].synchronize();
  StepResult result;
  const auto* const drawn = static_cast<const gpu::Drawn*>(drawn_on_host_.const_data_ptr());
  for (int64_t i = 0; i < begun_masked_; ++i) {
    result.tokens.push_back(drawn[i].token);
    result.log_probs.push_back(drawn[i].log_prob);
    result.accepted.push_back(drawn[i].accepted != 0);
  }
  if (records_rejected()) result.rejected = rejected_->read({drawn, static_cast<size_t>(begun_masked_)});
  return result;
}

void GraphStep::cancel() {
  const c10::cuda::CUDAGuard device(policy_.device());
  if (expected_) {  // what is queued finds nothing to do
    forward_.plan_nothing();
    masked_.clear();
    masked_.push_back(0);
    gate_->open();
    expected_.reset();
  }
  c10::cuda::stream_synchronize(c10::cuda::getCurrentCUDAStream().stream());
}

}  // namespace bicrl
