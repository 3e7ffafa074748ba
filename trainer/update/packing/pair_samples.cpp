#include "trainer/update/packing/pair_samples.h"

#include <algorithm>
#include <numeric>

#include "common/error.h"
#include "common/rng.h"
#include "tasks/chat_template.h"

namespace bicrl {
namespace {

int64_t end_of(const TrainingPair& pair, const Tokenizer& tokenizer, const PolicyConfig& config) {
  const auto& ids = config.end_token_ids;
  const int64_t closing = pair.ends_turn ? tokenizer.id_of(kTurnClosing) : -1;
  return std::ranges::find(ids, closing) != ids.end() ? closing : config.first_end_token();
}

void append(std::vector<int64_t>& tokens, const std::vector<int64_t>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

SftSample sample_of(const TrainingPair& pair, bool trains_reasoning, const Tokenizer& tokenizer,
                    const PolicyConfig& config) {
  std::vector<int64_t> given = tokenizer.encode(pair.prompt);
  std::vector<int64_t> trained;
  if (trains_reasoning) {
    trained = tokenizer.encode(pair.reasoning + pair.answer);
  } else {
    append(given, tokenizer.encode(pair.reasoning));
    trained = tokenizer.encode(pair.answer);
  }
  trained.push_back(end_of(pair, tokenizer, config));
  return make_sft_sample(std::move(given), trained, config, /*noise_key=*/0);
}

// `number`: of the pair in its file, from 1 on.
SftSample sample_of(const PairSet& set, size_t number, bool trains_reasoning, const Tokenizer& tokenizer,
                    const PolicyConfig& config) try {
  return sample_of(set.pairs[number - 1], trains_reasoning, tokenizer, config);
} catch (const InputError& error) {
  throw InputError(concat(set.file.string(), ", pair ", number, ": ", error.what()));
}

}  // namespace

PairSamples::PairSamples(const std::vector<PairSet>& sets, const PairSettings& settings,
                         const Tokenizer& tokenizer, const PolicyConfig& policy) {
  const int64_t most = settings.max_tokens > 0 ? std::min(settings.max_tokens, policy.max_position)
                                               : int64_t{policy.max_position};
  double total = 0;
  for (const PairSet& set : sets) {
    File& file = files_.emplace_back(File{.path = set.file});
    for (size_t number = 1; number <= set.pairs.size(); ++number) {
      SftSample sample = sample_of(set, number, settings.trains_reasoning, tokenizer, policy);
      if (sample.prompt_tokens + sample.response_tokens <= most &&
          static_cast<int64_t>(sample.tokens.size()) <= policy.max_position)
        file.samples.push_back(std::move(sample));
      else
        ++left_out_;
    }
    if (file.samples.empty())
      throw InputError(concat(set.file.string(), ": all of its pairs have more than ", most, " tokens"));
    file.share = set.weight * static_cast<double>(file.samples.size());
    total += file.share;
  }
  for (File& file : files_) file.share /= total;
}

int64_t PairSamples::size() const {
  int64_t size = 0;
  for (const File& file : files_) size += std::ssize(file.samples);
  return size;
}

std::vector<PairSamples::FileRate> PairSamples::rates() const {
  std::vector<FileRate> rates;
  for (const File& file : files_) {
    const int64_t pairs = std::ssize(file.samples);
    rates.push_back(
        {file.path, pairs, file.share * static_cast<double>(size()) / static_cast<double>(pairs)});
  }
  return rates;
}

void PairSamples::shuffle_by(uint64_t key) {
  key_ = key;
  for (File& file : files_) file.round = -1;
}

size_t PairSamples::next_file() const {
  size_t best = 0;
  double most = -1;
  for (size_t i = 0; i < files_.size(); ++i) {
    const double arrears =
        files_[i].share * static_cast<double>(next_ + 1) - static_cast<double>(files_[i].drawn);
    if (arrears <= most) continue;
    most = arrears;
    best = i;
  }
  return best;
}

SftSample PairSamples::sample(int64_t number) {
  BICRL_CHECK(!empty() && number >= 0);
  if (number < next_) {
    next_ = 0;
    for (File& file : files_) file.drawn = 0;
  }
  for (; next_ < number; ++next_) ++files_[next_file()].drawn;
  const size_t index = next_file();
  File& file = files_[index];
  const int64_t count = std::ssize(file.samples), round = file.drawn / count;
  if (file.round != round) {
    file.order.resize(static_cast<size_t>(count));
    std::iota(file.order.begin(), file.order.end(), 0U);
    RandomStream random(mix_key({key_, index, static_cast<uint64_t>(round)}));
    for (size_t i = file.order.size(); i > 1; --i) std::swap(file.order[i - 1], file.order[random.below(i)]);
    file.round = round;
  }
  SftSample sample = file.samples[file.order[static_cast<size_t>(file.drawn % count)]];
  sample.noise_key = mix_key({key_, static_cast<uint64_t>(number)});
  return sample;
}

}  // namespace bicrl
