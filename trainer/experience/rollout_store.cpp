#include "trainer/experience/rollout_store.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/hash.h"
#include "episode/episode_fields.h"
#include "policy/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRolloutsFormat = "bicrl rollouts 2";

// One flat tensor of all turns' values, in order.
template <typename T>
at::Tensor flat(const std::vector<Episode>& episodes, at::ScalarType type, std::vector<T> Rollout::*values) {
  std::vector<T> all;
  for (const Episode& episode : episodes)
    for (const Turn& turn : episode.turns)
      all.insert(all.end(), (turn.rollout.*values).begin(), (turn.rollout.*values).end());
  return at::tensor(all, at::TensorOptions().dtype(type));
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

template <typename T>
class Cursor {
 public:
  explicit Cursor(at::Tensor tensor) : tensor_(tensor.contiguous()) {}
  std::vector<T> take(int64_t count) {
    if (count < 0 || count > tensor_.numel() - at_) throw InputError("lengths and values do not agree");
    const T* begin = tensor_.const_data_ptr<T>() + at_;
    at_ += count;
    return {begin, begin + count};
  }
  bool at_end() const { return at_ == tensor_.numel(); }

 private:
  at::Tensor tensor_;
  int64_t at_ = 0;
};

nlohmann::json header_of(const Episode& episode) {
  nlohmann::json header = to_json(episode, EpisodeForm::kSaved);
  for (size_t i = 0; i < episode.turns.size(); ++i)
    header["turns"][i]["tokens"] = episode.turns[i].rollout.tokens.size();
  return header;
}

// Of tokens [all tokens], step_map and log_probs [all tokens after the prompts].
std::string hash_of(const NamedTensors& tensors, const std::string& responses) {
  return hash_hex(
      {responses, bytes_of(tensors[0].second), bytes_of(tensors[1].second), bytes_of(tensors[2].second)});
}

std::vector<Episode> episodes_of(const SafetensorsFile& file) {
  const std::string& responses = file.metadata().at("responses");
  const NamedTensors tensors = {{"tokens", file.load("tokens", at::kCPU, at::kLong)},
                                {"step_map", file.load("step_map", at::kCPU, at::kInt)},
                                {"log_probs", file.load("log_probs", at::kCPU, at::kFloat)}};
  if (hash_of(tensors, responses) != file.metadata().at("hash")) throw InputError("it is damaged");
  const nlohmann::json headers = nlohmann::json::parse(responses);
  Cursor<int64_t> tokens(tensors[0].second);
  Cursor<int32_t> step_map(tensors[1].second);
  Cursor<float> log_probs(tensors[2].second);
  std::vector<Episode> episodes;
  for (const auto& header : headers) {
    Episode& episode = episodes.emplace_back(episode_from_json(header, EpisodeForm::kSaved));
    if (episode.key.group < 0 || episode.key.sample < 0) throw InputError("a value is out of range");
    for (size_t i = 0; i < episode.turns.size(); ++i) {
      Rollout& r = episode.turns[i].rollout;
      if (r.prompt_tokens < 0) throw InputError("a value is out of range");
      r.tokens = tokens.take(header.at("turns").at(i).at("tokens").get<int64_t>());
      r.step_map = step_map.take(r.response_tokens());
      r.log_probs = log_probs.take(r.response_tokens());
    }
  }
  if (!tokens.at_end() || !step_map.at_end() || !log_probs.at_end())
    throw InputError("lengths and values do not agree");
  return episodes;
}

std::string file_name(int rank) { return concat("rank-", rank, ".safetensors"); }

}  // namespace

fs::path RolloutStore::step_folder(const std::string& phase, int64_t step) const {
  char number[32];
  snprintf(number, sizeof number, "-%06lld", static_cast<long long>(step));
  return folder_ / (phase + number);
}

void RolloutStore::write(const std::string& phase, int64_t step, int rank, int ranks,
                         const std::vector<Episode>& episodes) const {
  const fs::path folder = step_folder(phase, step);
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw Error(concat("cannot make ", folder.string(), ": ", failure.message()));
  nlohmann::json headers = nlohmann::json::array();
  for (const Episode& episode : episodes) headers.push_back(header_of(episode));
  const NamedTensors tensors = {{"tokens", flat(episodes, at::kLong, &Rollout::tokens)},
                                {"step_map", flat(episodes, at::kInt, &Rollout::step_map)},
                                {"log_probs", flat(episodes, at::kFloat, &Rollout::log_probs)}};
  const std::string responses = headers.dump();
  write_safetensors(folder / file_name(rank), tensors,
                    {{"format", kRolloutsFormat},
                     {"ranks", std::to_string(ranks)},
                     {"responses", responses},
                     {"hash", hash_of(tensors, responses)}});
}

bool RolloutStore::has(const std::string& phase, int64_t step) const {
  return fs::exists(step_folder(phase, step) / file_name(0));
}

std::vector<Episode> RolloutStore::read(const std::string& phase, int64_t step) const {
  const fs::path folder = step_folder(phase, step);
  std::vector<Episode> all;
  int ranks = 1;
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path path = folder / file_name(rank);
    if (!fs::exists(path))
      throw InputError(concat("no saved rollouts: ", path.string(),
                              " does not exist (run.save_rollouts, or replay.only=rollouts, saves them)"));
    try {
      const SafetensorsFile file(path);
      const auto& metadata = file.metadata();
      if (!metadata.contains("format") || metadata.at("format") != kRolloutsFormat)
        throw InputError("it holds no rollouts, or another version's");
      const int ranks_here = std::stoi(metadata.at("ranks"));
      if (rank > 0 && ranks_here != ranks)
        throw InputError("it is from a run with another number of ranks than rank 0's file");
      ranks = ranks_here;
      auto episodes = episodes_of(file);
      all.insert(all.end(), std::make_move_iterator(episodes.begin()),
                 std::make_move_iterator(episodes.end()));
    } catch (const std::exception& error) {
      throw InputError(concat("saved rollouts ", path.string(), ": ", error.what()));
    }
  }
  std::ranges::sort(all, {}, &Episode::key);
  return all;
}

void RolloutStore::remove(const std::string& phase, int64_t step) const {
  std::error_code failure;
  fs::remove_all(step_folder(phase, step), failure);
  if (failure)
    throw Error(concat("cannot remove ", step_folder(phase, step).string(), ": ", failure.message()));
}

}  // namespace bicrl
