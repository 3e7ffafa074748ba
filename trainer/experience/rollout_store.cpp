#include "trainer/experience/rollout_store.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/error.h"
#include "common/files/file_operations.h"
#include "common/hash.h"
#include "episode/episode_fields.h"
#include "policy/files/safetensors.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRolloutsFormat = "bicrl rollouts 4";

// The arrays of a rollout, by their names in the file: `visit` gets a name and what finds the array.
template <class Visit>
void for_each_array(const Visit& visit) {
  const auto of_rollout = [&](const char* name, auto member) {
    visit(
        name, [member](auto& rollout) -> auto& { return rollout.*member; });
  };
  const auto of_record = [&](const char* name, auto member) {
    visit(
        name, [member](auto& rollout) -> auto& { return rollout.candidates.*member; });
  };
  of_rollout("tokens", &Rollout::tokens);
  of_rollout("step_map", &Rollout::step_map);
  of_rollout("log_probs", &Rollout::log_probs);
  of_record("candidate_tokens", &CandidateRecord::tokens);
  of_record("candidate_steps", &CandidateRecord::steps);
  of_record("candidate_excluded", &CandidateRecord::excluded);
  of_record("candidate_ids", &CandidateRecord::ids);
  of_record("candidate_log_likelihoods", &CandidateRecord::log_likelihoods);
  of_record("kept_tokens", &CandidateRecord::kept_tokens);
  of_record("kept_steps", &CandidateRecord::kept_steps);
  of_record("kept_counts", &CandidateRecord::kept_counts);
  of_record("kept_ids", &CandidateRecord::kept_ids);
}

// Each as one flat tensor of all turns' values, in order.
NamedTensors flat_arrays(const std::vector<Episode>& episodes) {
  NamedTensors tensors;
  for_each_array([&](const char* name, const auto& array_of) {
    std::remove_cvref_t<decltype(array_of(episodes.front().last().rollout))> all;
    for (const Episode& episode : episodes)
      for (const Turn& turn : episode.turns) {
        const auto& values = array_of(turn.rollout);
        all.insert(all.end(), values.begin(), values.end());
      }
    tensors.emplace_back(name, at::tensor(all));
  });
  return tensors;
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// Hands out a file's arrays part by part.
class ArrayReader {
 public:
  explicit ArrayReader(const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) arrays_[name] = {tensor.contiguous(), 0};
  }

  template <typename T>
  void take(const std::string& name, int64_t count, std::vector<T>& values) {
    auto& [tensor, begin] = arrays_.at(name);
    if (count < 0 || count > tensor.numel() - begin) throw InputError("lengths and values do not agree");
    const T* first = tensor.const_data_ptr<T>() + begin;
    values.assign(first, first + count);
    begin += count;
  }
  bool at_end() const {
    return std::ranges::all_of(arrays_,
                               [](const auto& a) { return a.second.second == a.second.first.numel(); });
  }

 private:
  std::map<std::string, std::pair<at::Tensor, int64_t>> arrays_;  // with what was taken of each
};

nlohmann::json header_of(const Episode& episode) {
  nlohmann::json header = to_json(episode, EpisodeForm::kSaved);
  for (size_t i = 0; i < episode.turns.size(); ++i) {
    const Rollout& rollout = episode.turns[i].rollout;
    const CandidateRecord& candidates = rollout.candidates;
    nlohmann::json& turn = header["turns"][i];
    turn["tokens"] = rollout.tokens.size();
    if (candidates.kind != CandidateTerms::kNone)
      turn["candidates"] = {{"kind", static_cast<int>(candidates.kind)},
                            {"terms", candidates.terms()},
                            {"ids", candidates.ids.size()},
                            {"restricted_draws", candidates.restricted_draws()},
                            {"kept_ids", candidates.kept_ids.size()}};
  }
  return header;
}

// Of the headers and of every array.
std::string hash_of(const NamedTensors& tensors, const std::string& responses) {
  Hasher hasher;
  hasher.update(hash_hex(responses));  // of one length, so that boundaries count
  for (const auto& [name, tensor] : tensors) hasher.update(hash_hex(bytes_of(tensor)));
  return hasher.hex();
}

// header: of a turn.
void read_arrays(const nlohmann::json& header, ArrayReader& arrays, Rollout& r) {
  if (r.prompt_tokens < 0) throw InputError("a value is out of range");
  const auto tokens = header.at("tokens").get<int64_t>();
  int64_t terms = 0, ids = 0, restricted_draws = 0, kept_ids = 0;
  if (const auto found = header.find("candidates"); found != header.end()) {
    r.candidates.kind = candidate_terms_of(found->at("kind").get<int64_t>());
    terms = found->at("terms").get<int64_t>();
    ids = found->at("ids").get<int64_t>();
    restricted_draws = found->at("restricted_draws").get<int64_t>();
    kept_ids = found->at("kept_ids").get<int64_t>();
  }
  const std::map<std::string, int64_t> lengths = {{"tokens", tokens},
                                                  {"step_map", tokens - r.prompt_tokens},
                                                  {"log_probs", tokens - r.prompt_tokens},
                                                  {"candidate_ids", ids},
                                                  {"kept_tokens", restricted_draws},
                                                  {"kept_steps", restricted_draws},
                                                  {"kept_counts", restricted_draws},
                                                  {"kept_ids", kept_ids}};
  for_each_array([&](const char* name, const auto& array_of) {
    const auto length = lengths.find(name);
    arrays.take(name, length == lengths.end() ? terms : length->second, array_of(r));
  });
}

std::vector<Episode> episodes_of(const SafetensorsFile& file) {
  const std::string& responses = file.metadata().at("responses");
  NamedTensors tensors;
  for_each_array([&](const char* name, const auto&) { tensors.emplace_back(name, file.load(name)); });
  if (hash_of(tensors, responses) != file.metadata().at("hash")) throw InputError("it is damaged");
  const nlohmann::json headers = nlohmann::json::parse(responses);
  ArrayReader arrays(tensors);
  std::vector<Episode> episodes;
  for (const auto& header : headers) {
    Episode& episode = episodes.emplace_back(episode_from_json(header, EpisodeForm::kSaved));
    if (episode.key.group < 0 || episode.key.sample < 0) throw InputError("a value is out of range");
    for (size_t i = 0; i < episode.turns.size(); ++i)
      read_arrays(header.at("turns").at(i), arrays, episode.turns[i].rollout);
  }
  if (!arrays.at_end()) throw InputError("lengths and values do not agree");
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
  // Checkpoints within a stage rely on them, so they must outlast a power failure as those do.
  make_folders(folder, system_files());
  sync_path(folder.parent_path(), system_files());
  sync_path(folder_.parent_path(), system_files());
  nlohmann::json headers = nlohmann::json::array();
  for (const Episode& episode : episodes) headers.push_back(header_of(episode));
  const NamedTensors tensors = flat_arrays(episodes);
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

std::set<int64_t> RolloutStore::steps(const std::string& phase) const {
  std::set<int64_t> steps;
  if (!fs::is_directory(folder_)) return steps;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(phase + "-")) continue;
    const std::string number = name.substr(phase.size() + 1);
    if (!number.empty() && number.find_first_not_of("0123456789") == number.npos)
      steps.insert(std::stoll(number));
  }
  return steps;
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

std::vector<Episode> RolloutStore::read(const std::string& phase, int64_t step,
                                        const Expected& expected) const {
  std::vector<Episode> episodes = read(phase, step);
  std::set<int64_t> groups;
  for (const Episode& episode : episodes) {
    groups.insert(episode.key.group);
    for (const int64_t token : episode.last().rollout.tokens)
      if (token < 0 || token >= expected.vocabulary)
        throw InputError(concat("saved rollouts: token ", token, " is not in the policy's vocabulary"));
  }
  const auto number = static_cast<int64_t>(groups.size());
  const std::string found = concat("saved rollouts: ", phase, " step ", step, " has ", number, " groups, ");
  if (expected.most_groups > 0 && number > expected.most_groups)
    throw InputError(concat(found, "curation.refill.at_most is ", expected.most_groups));
  if (expected.most_groups == 0 && number != expected.tasks_per_step)
    throw InputError(concat(found, "tasks_per_step is ", expected.tasks_per_step));
  return episodes;
}

fs::path RolloutStore::keep_file(const std::string& phase, int64_t step) const {
  return step_folder(phase, step) += ".keep";
}

void RolloutStore::keep(const std::string& phase, int64_t step) const {
  if (!std::ofstream(keep_file(phase, step), std::ios::app))
    throw Error(concat("cannot write ", keep_file(phase, step).string()));
}

bool RolloutStore::is_kept(const std::string& phase, int64_t step) const {
  return fs::exists(keep_file(phase, step));
}

void RolloutStore::remove(const std::string& phase, int64_t step) const {
  std::error_code failure;
  fs::remove_all(step_folder(phase, step), failure);
  if (failure)
    throw Error(concat("cannot remove ", step_folder(phase, step).string(), ": ", failure.message()));
}

}  // namespace bicrl
