#include "trainer/experience/surplus.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace bicrl {
namespace {

// The first `groups` of ascending group numbers.
std::set<int64_t> first_groups(const std::set<int64_t>& numbers, int64_t groups) {
  return {numbers.begin(), std::next(numbers.begin(), groups)};
}

}  // namespace

int64_t Surplus::groups() const { return static_cast<int64_t>(numbers().size()); }

std::set<int64_t> Surplus::numbers() const {
  std::set<int64_t> numbers;
  for (const Member& member : waiting_.members) numbers.insert(member.key.group);
  return numbers;
}

void Surplus::settle(const RefillSettings& settings, CollectedStep& collected, int64_t step,
                     int64_t policy_version, bool is_last) {
  const auto own = static_cast<int64_t>(collected.informative.size());
  RefillChoice choice = choose_groups(settings, groups(), own);
  if (!waiting_.experiences) load();
  Waiting next = left_over(choice.used, collected);
  take(choice.taken, collected);
  if (is_last) {
    choice.dropped += std::exchange(choice.kept, 0);
    next = {};
  }
  waiting_ = std::move(next);
  taken_from_ = choice.taken > 0 ? step_ : 0;
  step_ = step;
  policy_version_ = policy_version;
  StepSums& sums = collected.figures.sums;
  sums[Sum::kSurplusTaken] = static_cast<double>(choice.taken);
  sums[Sum::kSurplusKept] = static_cast<double>(choice.kept);
  sums[Sum::kSurplusDropped] = static_cast<double>(choice.dropped);
  if (!waiting_.members.empty()) on_all_ranks(control_, [&] { save(collected.generated); });
}

Surplus::Waiting Surplus::left_over(int64_t groups, CollectedStep& collected) {
  const std::set<int64_t> used = first_groups(collected.informative, groups);
  const auto waits = [&](int64_t group) {
    return collected.informative.contains(group) && !used.contains(group);
  };
  std::map<std::pair<int64_t, int64_t>, const Episode*> logged;
  for (const Episode& episode : collected.log) logged[{episode.key.group, episode.key.sample}] = &episode;
  Waiting waiting;
  for (auto& rank : collected.shares) {
    for (const ExperienceKey& key : rank) {
      if (!waits(key.group)) continue;
      const Episode& episode = *logged.at({key.group, key.sample});
      waiting.members.push_back({key, episode.reward.value, episode.advantage});
    }
    std::erase_if(rank, [&](const ExperienceKey& key) { return waits(key.group); });
  }
  std::ranges::sort(waiting.members, {},
                    [](const Member& m) { return std::tuple(m.key.group, m.key.sample, m.key.turn); });
  for (Experience& experience : collected.experiences)
    if (waits(experience.group)) waiting.experiences->push_back(std::move(experience));
  std::erase_if(collected.experiences, [&](const Experience& e) { return waits(e.group); });
  collected.informative = used;
  return waiting;
}

void Surplus::take(int64_t groups, CollectedStep& collected) const {
  const std::set<int64_t> taken = first_groups(numbers(), groups);
  StepKeys shares(collected.shares.size());
  for (const Member& member : waiting_.members) {
    const int64_t group = member.key.group;
    if (taken.contains(group))
      shares[static_cast<size_t>(placement_.trainer_of(group))].push_back(member.key);
  }
  for (size_t rank = 0; rank < shares.size(); ++rank)
    collected.shares[rank].insert(collected.shares[rank].begin(), shares[rank].begin(), shares[rank].end());
  std::vector<Experience> older;
  std::ranges::copy_if(*waiting_.experiences, std::back_inserter(older),
                       [&](const Experience& e) { return taken.contains(e.group); });
  collected.experiences.insert(collected.experiences.begin(), std::make_move_iterator(older.begin()),
                               std::make_move_iterator(older.end()));
}

void Surplus::save(const std::vector<Episode>& generated) const {
  std::set<std::pair<int64_t, int64_t>> kept;
  for (const Member& member : waiting_.members) kept.emplace(member.key.group, member.key.sample);
  std::vector<Episode> episodes;
  std::ranges::copy_if(generated, std::back_inserter(episodes), [&](const Episode& episode) {
    return kept.contains({episode.key.group, episode.key.sample});
  });
  store_.write(name_, step_, control_.rank(), control_.size(), episodes);
}

void Surplus::load() {
  waiting_.experiences.emplace();
  on_all_ranks(control_, [&] {
    std::map<std::pair<int64_t, int64_t>, Episode> saved;
    for (Episode& episode : store_.read(name_, step_))
      saved.emplace(std::pair(episode.key.group, episode.key.sample), std::move(episode));
    for (const Member& member : waiting_.members) {
      const auto found = saved.find({member.key.group, member.key.sample});
      if (found == saved.end())
        throw InputError(concat("the saved surplus of step ", step_, " has no response of group ",
                                member.key.group, ", sample ", member.key.sample));
      if (placement_.trainer_of(member.key.group) != control_.rank()) continue;
      std::vector<Turn>& turns = found->second.turns;
      if (member.key.turn < 0 || member.key.turn >= static_cast<int64_t>(turns.size()))
        throw InputError(concat("the saved surplus of step ", step_, " has no turn ", member.key.turn,
                                " of group ", member.key.group, ", sample ", member.key.sample));
      waiting_.experiences->push_back(
          {.group = member.key.group,
           .sample = member.key.sample,
           .turn = member.key.turn,
           .rollout = std::move(turns[static_cast<size_t>(member.key.turn)].rollout),
           .reward = member.reward,
           .advantage = member.advantage});
    }
  });
}

nlohmann::json Surplus::state() const {
  if (waiting_.members.empty()) return nullptr;
  nlohmann::json members = nlohmann::json::array();
  for (const Member& m : waiting_.members)
    members.push_back({m.key.group, m.key.sample, m.key.scored_tokens, m.reward, m.advantage, m.key.turn,
                       m.key.prompt_tokens, m.key.scored_rounds});
  return {{"step", step_}, {"policy_version", policy_version_}, {"members", members}};
}

void Surplus::restore(const nlohmann::json& state) {
  step_ = state.at("step");
  policy_version_ = state.at("policy_version");
  waiting_.members.clear();
  for (const auto& m : state.at("members"))
    waiting_.members.push_back({{.group = m.at(0),
                                 .sample = m.at(1),
                                 .scored_tokens = m.at(2),
                                 .turn = m.size() > 5 ? m[5].get<int64_t>() : 0,  // older runs have one turn
                                 .prompt_tokens = m.size() > 7 ? m[6].get<int64_t>() : 0,
                                 .scored_rounds = m.size() > 7 ? m[7].get<int64_t>() : 0},
                                m.at(3),
                                m.at(4)});
  waiting_.experiences.reset();
}

int64_t Surplus::keep_taken() const {
  if (taken_from_ > 0) store_.keep(name_, taken_from_);
  return taken_from_;
}

void Surplus::keep_for_checkpoints(const std::set<int64_t>& steps) const {
  for (const int64_t step : store_.steps(name_))
    if (!steps.contains(step) && !store_.is_kept(name_, step) && (step != step_ || waiting_.members.empty()))
      store_.remove(name_, step);
}

}  // namespace bicrl
